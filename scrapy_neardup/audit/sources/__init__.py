"""The sources of an audit: feeds, tables, archives, caches, folders, all as one stream of pages."""

from __future__ import annotations

from .opening import Source, find_sources, open_sources, read_source
from .records import (
    BrokenRecord,
    CrawledPage,
    Indexing,
    Omission,
    Options,
    Origin,
    Record,
    Revisit,
    Skipped,
    SourceUnavailable,
)

__all__ = [
    "BrokenRecord",
    "CrawledPage",
    "Indexing",
    "Omission",
    "Options",
    "Origin",
    "Record",
    "Revisit",
    "Skipped",
    "Source",
    "SourceUnavailable",
    "find_sources",
    "open_sources",
    "read_source",
]

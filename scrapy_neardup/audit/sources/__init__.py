"""The sources of an audit: feeds, tables, archives, caches, folders, all as one stream of pages."""

from __future__ import annotations

from .opening import Source, find_sources, open_sources, read_source
from .values import Omission, Options, Origin, Page, Problem, Record, Revisit, Skipped, SourceUnavailable

__all__ = [
    "Omission",
    "Options",
    "Origin",
    "Page",
    "Problem",
    "Record",
    "Revisit",
    "Skipped",
    "Source",
    "SourceUnavailable",
    "find_sources",
    "open_sources",
    "read_source",
]

"""Where documents are filed: sorted tables of their keys, their records and their URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.late import importing_late

if TYPE_CHECKING:
    from .fingerprints import FingerprintIndex
    from .header import Header
    from .lmdb.index import LmdbIndex
    from .matches import Matches
    from .memory import MemoryIndex
    from .protocol import Documents, Index, Stored
    from .stores import open_index

__all__ = [
    "Documents",
    "FingerprintIndex",
    "Header",
    "Index",
    "LmdbIndex",
    "Matches",
    "MemoryIndex",
    "Stored",
    "open_index",
]

# Processes that extract need `tables` and nothing else.
__getattr__ = importing_late(
    __name__,
    {
        "FingerprintIndex": ".fingerprints",
        "Header": ".header",
        "LmdbIndex": ".lmdb.index",
        "Matches": ".matches",
        "MemoryIndex": ".memory",
        "open_index": ".stores",
        **dict.fromkeys(("Documents", "Index", "Stored"), ".protocol"),
    },
)

"""Where documents are filed: sorted tables of their keys, their records and their URLs."""

from __future__ import annotations

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

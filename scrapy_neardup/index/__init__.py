"""Where documents are filed: sorted tables of their keys, their records and their URLs."""

from __future__ import annotations

from .base import Documents, Index, Matches, Stored
from .fingerprints import FingerprintIndex
from .header import Header
from .lmdb import LmdbIndex
from .memory import MemoryIndex
from .registry import open_index

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

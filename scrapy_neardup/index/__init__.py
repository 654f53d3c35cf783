"""Where documents are filed: sorted tables of their keys, their records and their URLs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

#: Names that are imported when they are first used: processes that extract need `tables` and nothing else.
_IMPORTED_LATE = {
    "FingerprintIndex": ".fingerprints",
    "Header": ".header",
    "LmdbIndex": ".lmdb.index",
    "Matches": ".matches",
    "MemoryIndex": ".memory",
    "open_index": ".stores",
    **dict.fromkeys(("Documents", "Index", "Stored"), ".protocol"),
}


def __getattr__(name: str) -> Any:
    if name in _IMPORTED_LATE:
        value = getattr(import_module(_IMPORTED_LATE[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

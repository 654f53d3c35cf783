"""Where documents are filed: sorted tables of their keys, their records and their URLs.

Read `protocol` first: what an index does. `pending` has documents that are not stored yet, `tables` says how
keys are filed, `search` how they are found. `lmdb` and `redis` are the back-ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.dependencies import importing_late

if TYPE_CHECKING:
    from .header import Header
    from .lmdb.index import LmdbIndex
    from .protocol import Documents, Index, Stored
    from .search import Matches
    from .stores import FingerprintIndex, open_index

__all__ = [
    "Documents",
    "FingerprintIndex",
    "Header",
    "Index",
    "LmdbIndex",
    "Matches",
    "Stored",
    "open_index",
]

# Processes that extract need `tables` and nothing else.
__getattr__ = importing_late(
    __name__,
    {
        "Header": ".header",
        "LmdbIndex": ".lmdb.index",
        "Matches": ".search",
        **dict.fromkeys(("FingerprintIndex", "open_index"), ".stores"),
        **dict.fromkeys(("Documents", "Index", "Stored"), ".protocol"),
    },
)

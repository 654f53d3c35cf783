"""What every index has to do, as tests: a back-end subclasses `IndexConformance` in a test module of its own.

    class TestMemory(IndexConformance):
        def open(self) -> Index:
            return MemoryIndex(HEADER)

pytest finds the methods. They use no more than the protocol, and compare with plain Python. An index that
outlives its process overrides ``reopen``, too. A store that several processes share subclasses
`SharedIndexConformance`.
"""

from __future__ import annotations

from .leases import LeasesConformance
from .suite import (
    FINGERPRINT,
    FURTHER,
    HEADER,
    LOOKUPS,
    URL,
    BoundsConformance,
    ReservingConformance,
    StoringConformance,
    documents,
    reserve,
    urls_of,
)

__all__ = [
    "FINGERPRINT",
    "FURTHER",
    "HEADER",
    "LOOKUPS",
    "URL",
    "IndexConformance",
    "SharedIndexConformance",
    "documents",
    "reserve",
    "urls_of",
]


class IndexConformance(StoringConformance, ReservingConformance, BoundsConformance):
    """Tests of any index."""


class SharedIndexConformance(IndexConformance, LeasesConformance):
    """Tests of an index that several processes have open, and whose pending documents all of them see."""

"""A checksum of the entries of a table that does not depend on their order.

Two tables of one family are permuted in different ways, but must file the same documents under the same keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(slots=True)
class Sums:
    """Sums over entries. Those of different entries differ, but for one case in 2**64."""

    count: int = 0
    #: The sum of a hash of the document and the key of each entry, modulo 2**64.
    entries: int = 0

    def add(self, documents: NDArray[np.uint32], keys: NDArray[np.uint64]) -> None:
        """Add entries: *documents* uint32[n], *keys* uint64[n]."""
        self.count += len(keys)
        hashed = _mix(_mix(documents.astype(np.uint64)) ^ keys)
        self.entries = (self.entries + int(hashed.sum())) % (1 << 64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each value (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))

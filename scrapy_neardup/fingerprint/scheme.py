"""What a scheme is: under which keys it files a text, and which of the texts met there are candidates.

In every scheme a key is 64 bits in a sorted table, and a lookup finds a range of the table. Candidates are
verified in the same way for all schemes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from scrapy_neardup.arguments import require_number, require_whole
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import DISTANCE, EQUAL, LAYOUTS, TABLES, Family

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .terms import Terms


class Pairs(NamedTuple):
    """n pairs of documents that have a key in common."""

    #: Bits in which their fingerprints differ: uint8[n].
    distance: NDArray[np.uint8]
    #: How many further keys they share: int[n].
    shared: NDArray[np.integer]
    #: Their records, with the scheme's own fields: [n], or [] for one document in all pairs.
    a: NDArray[Any]
    b: NDArray[Any]


@dataclass(frozen=True)
class Scheme(ABC):
    """What all schemes have in common. A scheme ignores the options that it has no use for.

    *tables* is the number of permuted tables of the fingerprint: 4, or 10 or 20 for 10⁸ documents and more.
    *distance* says in how many bits the fingerprints of candidates may differ, *threshold* how similar
    candidates are at least. Raises `ConfigurationError` for options that cannot work.
    """

    tables: int = TABLES
    distance: int = DISTANCE
    threshold: float = 0.5

    name: ClassVar[str]
    #: A key that more documents share than this is no evidence (0: any is).
    most: ClassVar[int] = 0
    #: The fields that are kept of a document beside those that all schemes keep: a NumPy type.
    record: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        for name in ("tables", "distance"):
            require_whole(name, getattr(self, name))
        require_number("threshold", self.threshold)
        if self.tables not in LAYOUTS:
            raise ConfigurationError(
                f"There is no layout of {self.tables} tables: use one of {sorted(LAYOUTS)}."
            )
        most = LAYOUTS[self.tables].max_distance
        if not 0 <= self.distance <= most:
            raise ConfigurationError(
                f"{self.tables} tables find fingerprints within 0 to {most} bits, not {self.distance}: "
                "use a distance in that range."
            )
        if not 0 < self.threshold < 1:
            raise ConfigurationError(
                f"A threshold of {self.threshold} cannot work: use a similarity between 0 and 1."
            )

    @property
    def simhash(self) -> tuple[Family, ...]:
        """The tables of the fingerprint, if it is filed: one family or none."""
        return ()

    @property
    def keys(self) -> int:
        """How many further keys a document has. Lookups find documents with an equal one."""
        return 0

    @property
    def families(self) -> tuple[Family, ...]:
        """The tables of the scheme: those of the fingerprint, then those of further keys."""
        return (*self.simhash, *((Family(EQUAL, self.keys),) if self.keys else ()))

    @property
    def parameters(self) -> dict[str, str]:
        """What the header of an index says of the scheme."""
        return {"scheme": self.name}

    def sign(self, terms: Terms, shingles: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.uint64], bytes]:
        """Return the further keys of a text, uint64[keys], and what is kept of it, of type `record`.

        *shingles* are those of which the sketch is made.
        """
        return np.empty(0, np.uint64), b""

    @abstractmethod
    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Tell which pairs are candidates; bool[n]."""

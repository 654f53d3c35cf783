"""Schemes: under which keys a text is filed, and which met there are candidates. See docs/schemes.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.arguments import require_number, require_type, require_whole
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import DISTANCE, EQUAL, LAYOUTS, NO_KEY, TABLES, Family

from .hashing import Hashes, Terms, by_text, constant
from .minhash import EMPTY, SUPER_SHINGLES, Bands, bottom_k, bottom_k_jaccard, choose_bands, min_hashes

#: The length of an anchor: in words, and in characters of a script without spaces, see `Terms.shingles`.
ANCHOR = (8, 12)
ANCHORS = 8  # of a text
#: How many components a MinHash or bottom-k signature has.
COMPONENTS = 128
#: What a missed copy weighs when bands are chosen; a candidate too many weighs the rest of 1.
MISS_WEIGHT = 0.9
#: The bits of an anchor from this one on say in which part it is.
_PART = constant(40)


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
    """What all schemes have in common, options too. Raises `ConfigurationError` if they cannot work."""

    #: Permuted tables of the fingerprint: 4, or 10 or 20 for 10⁸ documents and more.
    tables: int = TABLES
    #: In how many bits the fingerprints of candidates may differ, and how similar candidates are at least.
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
            raise ConfigurationError(f"tables is {self.tables}: use one of {sorted(LAYOUTS)}.")
        most = LAYOUTS[self.tables].max_distance
        if not 0 <= self.distance <= most:
            raise ConfigurationError(
                f"distance is {self.distance}: use 0 to {most}, as {self.tables} tables find these."
            )
        if not 0 < self.threshold < 1:
            raise ConfigurationError(f"threshold is {self.threshold}: use a similarity between 0 and 1.")

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

    def sign(self, terms: Terms, shingles: Hashes, seed: int) -> tuple[NDArray[np.uint64], list[bytes]]:
        """Return the further keys of several texts, uint64[texts, keys], and what is kept of each.

        *shingles* are those of which sketches are made. What is kept is of type `record`.
        """
        texts = len(shingles.bounds) - 1
        return np.empty((texts, 0), np.uint64), [b""] * texts

    @abstractmethod
    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Tell which pairs are candidates; bool[n]."""


def anchors(shingles: Hashes, count: int = ANCHORS) -> NDArray[np.uint64]:
    """Return the anchors of several texts, a few long shingles, the same in every copy; uint64[texts, count].

    *shingles* are divided into *count* parts (a power of two) by some bits of their hashes, and the least of
    each part is taken (Broder 1997), or NO_KEY if there is none.
    """
    values, bounds = shingles
    least = NO_KEY.repeat((len(bounds) - 1) * count)
    parts = (values >> _PART & constant(count - 1)).view(np.int64)
    np.minimum.at(least, by_text(parts, bounds, count), values)
    return least.reshape(-1, count)


class SimHash(Scheme):
    """Texts whose fingerprints lie within *distance* bits (Manku, Jain and Das Sarma, WWW 2007)."""

    name = "simhash"

    @property
    def simhash(self) -> tuple[Family, ...]:
        return (Family(LAYOUTS[self.tables]),)

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return pairs.distance <= self.distance


class Anchored(SimHash):
    """Texts whose fingerprints are near, or that have an anchor in common, as copies amid boilerplate do."""

    name = "simhash+anchors"
    most = 64

    @property
    def keys(self) -> int:
        return ANCHORS

    def sign(self, terms: Terms, shingles: Hashes, seed: int) -> tuple[NDArray[np.uint64], list[bytes]]:
        return anchors(terms.shingles(*ANCHOR)), [b""] * (len(terms.bounds) - 1)

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return super().agrees(pairs) | (pairs.shared > 0)


class Banded(Scheme):
    """Texts whose signatures of min-hashes have enough bands in common."""

    components: ClassVar[int] = COMPONENTS
    #: Whether the signature is made of the least shingles alone, and these are kept.
    bottom: ClassVar[bool] = False

    @cached_property
    def bands(self) -> Bands:
        """How the signature of `components` is cut."""
        return choose_bands(self.threshold, COMPONENTS, MISS_WEIGHT)

    @property
    def keys(self) -> int:
        return self.bands.bands

    @property
    def parameters(self) -> dict[str, str]:
        return {**super().parameters, "bands": f"{self.bands.bands} x {self.bands.rows}"}

    def sign(self, terms: Terms, shingles: Hashes, seed: int) -> tuple[NDArray[np.uint64], list[bytes]]:
        texts = shingles.each()
        samples = [bottom_k(each, COMPONENTS) for each in texts] if self.bottom else texts
        rows = np.array([min_hashes(each[each != EMPTY], self.components, seed) for each in samples])
        rows &= np.uint64(2**32 - 1)  # two lower halves agree by chance once in 2³²
        kept = [each.astype("<u8") for each in samples] if self.bottom else rows.astype("<u4")
        return self.bands.keys(rows).T, [each.tobytes() if self.record else b"" for each in kept]

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return pairs.shared >= self.bands.agree


class SuperShingles(Banded):
    """84 min-hashes in 6 groups of 14, two of which are equal (Broder, CPM 2000)."""

    name = "supershingles"
    components = SUPER_SHINGLES.bands * SUPER_SHINGLES.rows

    @cached_property
    def bands(self) -> Bands:
        return SUPER_SHINGLES


class MinHashBands(Banded):
    """Texts that share a band of a MinHash of 128 functions, and of whose components *threshold* agree."""

    name = "minhash"
    record = (("components", f"({COMPONENTS},)<u4"),)

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        share: NDArray[np.float64] = np.mean(pairs.a["components"] == pairs.b["components"], axis=-1)
        return super().agrees(pairs) & (share >= self.threshold)


class BottomK(Banded):
    """Texts whose bottom-k samples are similar, and share a band of a MinHash of the sample."""

    name = "bottomk"
    record = (("components", f"({COMPONENTS},)<u8"),)
    bottom = True

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        share = bottom_k_jaccard(pairs.a["components"], np.atleast_2d(pairs.b["components"]))
        return super().agrees(pairs) & (share >= self.threshold)


SCHEMES: dict[str, type[Scheme]] = {
    scheme.name: scheme for scheme in (Anchored, SimHash, MinHashBands, BottomK, SuperShingles)
}


def load_scheme(name: str, **options: Any) -> Scheme:
    """Return the scheme called *name*, with *options* as of `Scheme`; may raise `ConfigurationError`."""
    require_type("A scheme", name, str, "a name, a str")
    if name not in SCHEMES:
        raise ConfigurationError(f"There is no scheme {name!r}: use one of {', '.join(SCHEMES)}.")
    return SCHEMES[name](**options)

"""The schemes that there are, by name. docs/schemes.md says what each is for."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_type
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import LAYOUTS, Family

from .anchors import anchors
from .bands import SUPER_SHINGLES, Bands, choose_bands
from .bottomk import bottom_k
from .bottomk import jaccard as bottom_k_jaccard
from .minhash import EMPTY, MinHash
from .scheme import Scheme

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .scheme import Pairs
    from .terms import Terms

#: The length of an anchor: in words, and in characters of a script without spaces, see `Terms.shingles`.
ANCHOR = (8, 12)
#: How many anchors a text has.
ANCHORS = 8
#: How many components a MinHash or bottom-k signature has.
COMPONENTS = 128
#: What a missed copy weighs when bands are chosen. A candidate too many weighs the rest of 1: it is still to
#: be verified.
MISS_WEIGHT = 0.9


class SimHash(Scheme):
    """Texts whose fingerprints lie within *distance* bits (Manku, Jain and Das Sarma, WWW 2007)."""

    name = "simhash"

    @property
    def simhash(self) -> tuple[Family, ...]:
        return (Family(LAYOUTS[self.tables]),)

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return pairs.distance <= self.distance


class Anchored(SimHash):
    """Texts whose fingerprints are near, and texts that have an anchor in common.

    The anchors find copies that bring much boilerplate along.
    """

    name = "simhash+anchors"
    most = 64

    @property
    def keys(self) -> int:
        return ANCHORS

    def sign(self, terms: Terms, shingles: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.uint64], bytes]:
        return anchors(terms.shingles(*ANCHOR), self.keys), b""

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return super().agrees(pairs) | (pairs.shared > 0)


class Banded(Scheme):
    """Texts of which enough bands of a MinHash signature are equal."""

    @property
    @abstractmethod
    def bands(self) -> Bands:
        """How the signature is cut."""

    @property
    def keys(self) -> int:
        return self.bands.bands

    @property
    def parameters(self) -> dict[str, str]:
        return {**super().parameters, "bands": f"{self.bands.bands} x {self.bands.rows}"}

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        return pairs.shared >= self.bands.agree


class SuperShingles(Banded):
    """84 min-hashes in 6 groups of 14, two of which are equal (Broder, CPM 2000)."""

    name = "supershingles"
    bands = SUPER_SHINGLES

    def sign(self, terms: Terms, shingles: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.uint64], bytes]:
        components = _min_hash(self.bands.bands * self.bands.rows, seed).signature(shingles)
        return self.bands.keys(components[np.newaxis])[:, 0], b""


class MinHashBands(Banded):
    """Texts that share a band of a MinHash of 128 functions, and of whose components *threshold* agree."""

    name = "minhash"
    record = (("components", f"({COMPONENTS},)<u4"),)

    @cached_property
    def bands(self) -> Bands:
        return choose_bands(self.threshold, COMPONENTS, MISS_WEIGHT)

    def sign(self, terms: Terms, shingles: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.uint64], bytes]:
        # The lower halves are kept: two of them agree by chance once in 2³².
        components = _min_hash(COMPONENTS, seed).signature(shingles) & np.uint64(2**32 - 1)
        return self.bands.keys(components[np.newaxis])[:, 0], components.astype("<u4").tobytes()

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        equal = np.count_nonzero(pairs.a["components"] == pairs.b["components"], axis=-1)
        similar: NDArray[np.bool_] = equal >= self.threshold * COMPONENTS
        return super().agrees(pairs) & similar


class BottomK(MinHashBands):
    """Texts that share a band, and whose bottom-k samples of 128 shingles are similar.

    The values of such a sample have no fixed places that could be cut into bands, so bands of a MinHash of
    the sample are filed.
    """

    name = "bottomk"
    record = (("components", f"({COMPONENTS},)<u8"),)

    def sign(self, terms: Terms, shingles: NDArray[np.uint64], seed: int) -> tuple[NDArray[np.uint64], bytes]:
        least = bottom_k(shingles, COMPONENTS)
        keys, _ = super().sign(terms, least[least != EMPTY], seed)
        return keys, least.astype("<u8").tobytes()

    def agrees(self, pairs: Pairs) -> NDArray[np.bool_]:
        b = np.atleast_2d(pairs.b["components"])
        similar = bottom_k_jaccard(pairs.a["components"], b) >= self.threshold
        return (pairs.shared >= self.bands.agree) & similar


SCHEMES: dict[str, type[Scheme]] = {
    scheme.name: scheme for scheme in (Anchored, SimHash, MinHashBands, BottomK, SuperShingles)
}


def load_scheme(
    name: str,
    *,
    tables: int = Scheme.tables,
    distance: int = Scheme.distance,
    threshold: float = Scheme.threshold,
) -> Scheme:
    """Return the scheme called *name*.

    Raises `ConfigurationError` for an unknown name and for options that cannot work.
    """
    require_type("A scheme", name, str, "a name, a str")
    if name not in SCHEMES:
        near = difflib.get_close_matches(name, SCHEMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(SCHEMES)}."
        raise ConfigurationError(f"There is no scheme {name!r}: {hint}")
    return SCHEMES[name](tables=tables, distance=distance, threshold=threshold)


@lru_cache(maxsize=8)
def _min_hash(count: int, seed: int) -> MinHash:
    return MinHash(count, seed)

"""Text in, signature out."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .features import Features
from .hashing import TokenHashes, shingle
from .normalise import normalise
from .paragraphs import long_paragraphs
from .signature import Signature
from .simhash import fingerprint
from .sketch import sketch
from .tokens import tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEEDS = 1 << 32
_DEFAULT = Features()


class Fingerprinter:
    """Makes the signatures of an index: the same *features* and *seed* make comparable ones.

    The seed (0 to 2³² - 1) is the index's own, so that a page cannot be crafted to look like another one.
    Thread-safe; pickles without what it remembers of tokens.
    """

    def __init__(self, features: Features = _DEFAULT, seed: int = 0) -> None:
        if not 0 <= seed < _SEEDS:
            raise ConfigurationError(f"A seed is a number from 0 to 2**32 - 1, not {seed}.")
        self.features = features
        self.seed = seed
        self._hashes = TokenHashes(seed)

    def __reduce__(self) -> tuple[type[Fingerprinter], tuple[Features, int]]:
        return type(self), (self.features, self.seed)

    def signature(self, text: str) -> Signature:
        """Fingerprint any text; never raises. The digest is of all of it, the rest of its long paragraphs."""
        text = normalise(text)
        tokens, unspaced = tokenise(long_paragraphs(text, self.features.min_paragraph))
        hashes = self._hashes.many(tokens)
        minima, shingles = sketch(shingle(hashes, self.features.sketch_shingle))
        return Signature(
            fingerprint=fingerprint(_features(hashes, unspaced, self.features.shingle), self.features.weight),
            digest=self._digest(text),
            tokens=len(tokens) - int(np.count_nonzero(unspaced)) // 2,
            shingles=shingles,
            sketch=minima,
        )

    def _digest(self, text: str) -> bytes:
        # Nothing verifies an exact match, so this one hash has to withstand crafted collisions.
        data = text.replace("\n", " ").encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=16, key=self.seed.to_bytes(4, "little")).digest()


def _features(hashes: NDArray[np.uint64], unspaced: NDArray[np.bool_], size: int) -> NDArray[np.uint64]:
    """SimHash features: shingles; of single tokens, but of two where a token is a character, not a word."""
    if size > 1 or not unspaced.any():
        return shingle(hashes, size)
    pairs = unspaced[:-1] & unspaced[1:]
    paired = np.zeros(len(hashes), np.bool_)
    paired[:-1] |= pairs
    paired[1:] |= pairs
    return np.concatenate((hashes[~paired], shingle(hashes, 2)[pairs]))


@lru_cache(maxsize=8)
def _fingerprinter(features: Features, seed: int) -> Fingerprinter:
    return Fingerprinter(features, seed)


def simhash(text: str, features: Features = _DEFAULT, seed: int = 0) -> int:
    """64-bit fingerprint of a text; near-duplicates get fingerprints that differ in few bits (see `hamming`)."""
    return _fingerprinter(features, seed).signature(text).fingerprint

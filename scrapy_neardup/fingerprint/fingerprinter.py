"""Text in, signature out."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .features import Features
from .hashing import TokenHashes, mix, shingle
from .normalise import normalise
from .paragraphs import long_paragraphs
from .signature import Signature
from .simhash import fingerprint
from .sketch import sketch
from .tokens import tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tokens import Tokens

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
        tokens = tokenise(long_paragraphs(text, self.features.min_paragraph))
        hashes = self._hashes.many(tokens.words)
        minima, shingles = sketch(_sketched(hashes, tokens, self.features))
        return Signature(
            fingerprint=fingerprint(_voting(hashes, tokens, self.features.shingle), self.features.weight),
            digest=self._digest(text),
            tokens=len(tokens.words) - int(np.count_nonzero(tokens.unspaced)) // 2,
            shingles=shingles,
            sketch=minima,
        )

    def _digest(self, text: str) -> bytes:
        # Nothing verifies an exact match, so this one hash has to withstand crafted collisions.
        data = text.replace("\n", " ").encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=16, key=self.seed.to_bytes(4, "little")).digest()


def _voting(hashes: NDArray[np.uint64], tokens: Tokens, size: int) -> NDArray[np.uint64]:
    """SimHash features: shingles; of single tokens, but of two where a token is a syllable or letter, not a word."""
    if size > 1 or not tokens.syllables.any():
        return shingle(hashes, size)
    pairs = tokens.syllables[:-1] & tokens.syllables[1:]
    paired = np.zeros(len(hashes), np.bool_)
    paired[:-1] |= pairs
    paired[1:] |= pairs
    return np.concatenate((hashes[~paired], shingle(hashes, 2)[pairs]))


def _sketched(hashes: NDArray[np.uint64], tokens: Tokens, features: Features) -> NDArray[np.uint64]:
    """Sketch features: shingles, and variants of those that have a number, to count them more than once."""
    shingles = shingle(hashes, features.sketch_shingle)
    if features.number_weight == 1 or not tokens.numbers.any():
        return shingles
    numbers_before = np.concatenate(([0], np.cumsum(tokens.numbers)))
    size = len(hashes) - len(shingles) + 1
    numbered = shingles[numbers_before[size:] > numbers_before[:-size]]
    variants = np.arange(1, features.number_weight, dtype=np.uint64)[:, None]
    return np.concatenate((shingles, mix(numbered + variants).ravel()))


@lru_cache(maxsize=8)
def _fingerprinter(features: Features, seed: int) -> Fingerprinter:
    return Fingerprinter(features, seed)


def simhash(text: str, features: Features = _DEFAULT, seed: int = 0) -> int:
    """64-bit fingerprint of a text; near-duplicates get fingerprints that differ in few bits (see `hamming`)."""
    return _fingerprinter(features, seed).signature(text).fingerprint

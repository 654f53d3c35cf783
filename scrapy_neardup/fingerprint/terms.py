"""The tokens of a text as hashes: what SimHash votes on, and the shingles that all else is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .hashing import roll

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tokens import Tokens


class Terms:
    """The *tokens* of a text, hashed (uint64[n])."""

    def __init__(self, tokens: Tokens, hashes: NDArray[np.uint64]) -> None:
        self.tokens = tokens
        self.hashes = hashes
        unspaced = int(np.count_nonzero(tokens.unspaced))
        #: How many there are; two characters of a script without spaces count as one.
        self.count = len(hashes) - unspaced // 2
        #: Whether most are characters rather than words.
        self.unspaced = 2 * unspaced > len(hashes)
        self._rolled = {1: hashes}

    def shingles(self, words: int, characters: int | None = None) -> NDArray[np.uint64]:
        """Hash each run of *words* neighbours, in scripts without spaces of *characters*; uint64[n - size + 1].

        Fewer tokens than that make one shingle of them all, none make none.
        """
        size = min(characters if self.unspaced and characters else words, max(1, len(self.hashes)))
        if size not in self._rolled:
            start = max(known for known in self._rolled if known < size)
            self._rolled[size] = roll(self._rolled[start], self.hashes, start, size)
        return self._rolled[size]

    def votes(self, size: int) -> NDArray[np.uint64]:
        """SimHash features: shingles; of single tokens, but of two where a token is a syllable or letter."""
        if size > 1 or not self.tokens.syllables.any():
            return self.shingles(size)
        pairs = self.tokens.syllables[:-1] & self.tokens.syllables[1:]
        paired = np.zeros(len(self.hashes), np.bool_)
        paired[:-1] |= pairs
        paired[1:] |= pairs
        return np.concatenate((self.hashes[~paired], self.shingles(2)[pairs]))

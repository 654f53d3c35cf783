"""The tokens of a text as hashes: what SimHash votes on, and what shingles are made of."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.arguments import require_whole

from .hashing import roll
from .murmur import hash_slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .tokens import Tokens


def hash_tokens(tokens: Tokens, seed: int = 0) -> NDArray[np.uint64]:
    """Hash each of *tokens*; uint64[n]."""
    return hash_slices(tokens.data, tokens.starts, tokens.ends, seed)


def in_characters(words: int) -> int:
    """Return how many Han or Kana characters are about as long as so many *words*: nine as five."""
    return words * 9 // 5


class Shingles:
    """The shingles of any size of hashed tokens (uint64[n]). Each size is made from the one before."""

    def __init__(self, hashes: NDArray[np.uint64]) -> None:
        self._rolled = [hashes]

    def __getitem__(self, size: int) -> NDArray[np.uint64]:
        """Return the hash of each run of *size* tokens; uint64[n - size + 1].

        Raises `ConfigurationError` for a size below 1.
        """
        if size not in range(1, len(self._rolled) + 1):  # others need no check
            require_whole("The size of a shingle", size, 1)
        for known in range(len(self._rolled), size):
            self._rolled.append(roll(self._rolled[-1], self._rolled[0], known, known + 1))
        return self._rolled[size - 1]


class Votes(NamedTuple):
    """What votes for the fingerprint of a text, with repetitions."""

    #: uint64[n].
    hashes: NDArray[np.uint64]
    #: How long each is, in bytes of UTF-8; 0 for two characters of a script without spaces. intp[n].
    lengths: NDArray[np.intp]


class Terms:
    """The *tokens* of one text, hashed.

    *shingles* may be those of several texts together; those of this one are from *start* on.
    """

    def __init__(self, tokens: Tokens, shingles: Shingles, start: int = 0) -> None:
        self.tokens = tokens
        #: uint64[n].
        self.hashes = shingles[1][start : start + len(tokens)]
        self._letters = int(np.count_nonzero(tokens.letters))
        self._characters = int(np.count_nonzero(tokens.unspaced)) - self._letters
        halves, quarters = (self._characters + 1) // 2, (self._letters + 3) // 4
        words = len(self.hashes) - self._characters - self._letters
        #: How many tokens there are; of a script without spaces two characters count as one, or four letters.
        self.count = words + halves + quarters
        #: How many characters count as one token in most of the text: 1 where words are tokens, else 2 or 4.
        self.characters = 1 if words >= halves + quarters else 2 if halves >= quarters else 4
        self._shingles, self._start = shingles, start

    def shingles(self, words: int, characters: int | None = None) -> NDArray[np.uint64]:
        """Hash each run of *words* tokens, in their order; uint64[m].

        Runs that begin with a character of a script without spaces have *characters* tokens, which are at
        least as many, and those that begin with a letter of one have twice as many. So no run depends on what
        else is in the text. If there are fewer tokens, all of them make one run.
        """
        short = self._runs(words)
        if characters is None or not self._characters + self._letters:
            return short
        hashes, keep = short.copy(), ~self.tokens.unspaced[: len(short)]
        longer = (
            (self._characters, self.tokens.unspaced & ~self.tokens.letters, characters),
            (self._letters, self.tokens.letters, 2 * characters),
        )
        for count, begins, size in longer:
            if not count:
                continue  # longer runs are made from all shorter ones, of all texts of the group
            long = self._runs(size)
            here = begins[: len(long)]
            hashes[: len(long)][here] = long[here]
            keep[: len(long)] |= here
        return hashes[keep]

    def _runs(self, size: int) -> NDArray[np.uint64]:
        """Hash each run of *size* tokens, or all of them if there are fewer; uint64[n - size + 1]."""
        size = min(size, max(1, len(self.hashes)))
        return self._shingles[size][self._start : self._start + max(0, len(self.hashes) - size + 1)]

    @classmethod
    def of_each(cls, texts: Sequence[Tokens], seed: int) -> list[Terms]:
        """Hash the tokens of several texts. Those that share their data are hashed together."""
        if len(texts) == 1:
            return [cls(texts[0], Shingles(hash_tokens(texts[0], seed)))]
        groups: dict[int, list[int]] = {}
        for number, tokens in enumerate(texts):
            groups.setdefault(id(tokens.data), []).append(number)
        terms: dict[int, Terms] = {}
        for numbers in groups.values():
            together = [texts[number] for number in numbers]
            begins = np.concatenate([tokens.starts for tokens in together])
            ends = np.concatenate([tokens.ends for tokens in together])
            shingles = Shingles(hash_slices(together[0].data, begins, ends, seed))
            starts = accumulate(map(len, together), initial=0)
            for number, tokens, start in zip(numbers, together, starts, strict=False):
                terms[number] = cls(tokens, shingles, start)
        return [terms[number] for number in range(len(texts))]

    def votes(self, size: int, alone: NDArray[np.bool_]) -> Votes:
        """Return what votes for the fingerprint: shingles of *size* tokens.

        *alone* (bool[n]) are tokens that say little alone, such as syllables. If *size* is 1, each two
        neighbours among them make one shingle.
        """
        starts, ends = self.tokens.starts, self.tokens.ends
        if size > 1 or not np.count_nonzero(alone):
            hashes = self.shingles(size)
            return Votes(hashes, ends[len(ends) - len(hashes) :] - starts[: len(hashes)])
        pairs = alone[:-1] & alone[1:]
        single = np.ones(len(self.hashes), np.bool_)
        single[:-1] &= ~pairs
        single[1:] &= ~pairs
        paired = self.shingles(2)[pairs]
        lengths = np.concatenate(((ends - starts)[single], np.zeros(len(paired), np.intp)))
        return Votes(np.concatenate((self.hashes[single], paired)), lengths)

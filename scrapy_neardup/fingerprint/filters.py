"""Which numbers or words a text has, in a few bytes. Pages of one template share their sentences, not these.

Bloom filters ("Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970). Unlike a MinHash they
never miss a value that both texts have, and for few values, the usual case, they are nearly exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .hashing import unique
from .murmur import mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Filter:
    """A kind of Bloom filter, of *bits* (a power of two, 64 or more). A value sets *hashes* bits.

    Of a text with more than *most* distinct values only those of least hash are entered: a filter of all
    would seem to hold any value.
    """

    bits: int
    most: int
    hashes: int = 1

    @property
    def size(self) -> int:
        """Bytes of a filter."""
        return self.bits // 8

    def make(self, values: NDArray[np.uint64]) -> bytes:
        """Make the filter of the hashes of a text's values (uint64[n]); `size` bytes."""
        return self.make_each([values])[0]

    def make_each(self, texts: Sequence[NDArray[np.uint64]]) -> list[bytes]:
        """Make the filters of several texts together, each as `make` does."""
        return make_all([(self, texts)])[0]

    def least(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the *most* distinct values whose mixed hashes are least."""
        values = unique(hashes)
        return values[np.argsort(mix(values))[: self.most]]

    def substituted(
        self, filters: NDArray[np.uint8], others: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compare texts pair by pair: how many values were substituted, and how many there could be.

        Filters are uint8[n, size], or uint8[size] for a single text on either side; both answers are
        float64[n]. The first is the smaller of |A∖B| and |B∖A|, the second the smaller of |A| and |B|. A copy
        that is cut, or that brings boilerplate along, lacks values or has more, hardly both. A template
        filled with other values does both.
        """
        missing, fewer, *_ = substituted_each([self], filters, others)[0]
        return missing, fewer


def substituted_each(
    kinds: Sequence[Filter], filters: NDArray[np.uint8], others: NDArray[np.uint8]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Return what `Filter.substituted` does for each of several *kinds*, whose filters lie side by side.

    A third answer is how many values *filters* have that *others* lack, |A∖B|, and a fourth is |B∖A|.
    """
    layout = _layout(tuple(kinds))
    one, other = (
        np.ascontiguousarray(filters).view(np.uint64),
        np.ascontiguousarray(others).view(np.uint64),
    )
    # A product of matrices is the quickest way to add up the words of each filter, and exact.
    sizes = [np.bitwise_count(part).astype(np.float64) @ layout.words for part in (one, other, one & other)]
    fewer, more, both = np.minimum(*sizes[:2]), np.maximum(*sizes[:2]), sizes[2]
    # Some values that the other lacks seem to be there, because their bits are set by chance.
    missing = np.minimum((fewer - both) / np.maximum(1 - more / layout.bits, 1 / layout.bits), fewer)
    added, left_out = (
        np.minimum((size - both) / np.maximum(1 - other_size / layout.bits, 1 / layout.bits), size)
        for size, other_size in (sizes[:2], sizes[1::-1])
    )
    answers = [part / layout.hashes for part in (missing, fewer, added, left_out)]
    return [
        (
            answers[0][..., place],
            answers[1][..., place],
            answers[2][..., place],
            answers[3][..., place],
        )
        for place in range(len(kinds))
    ]


class _Layout(NamedTuple):
    """Kinds of filters side by side."""

    #: Which of their words of 64 bits belong to which of them: float64[words, kinds], 0 or 1.
    words: NDArray[np.float64]
    #: The bits and hashes of each: float64[kinds].
    bits: NDArray[np.float64]
    hashes: NDArray[np.float64]


@cache
def _layout(kinds: tuple[Filter, ...]) -> _Layout:
    bits = np.array([kind.bits for kind in kinds], np.float64)
    words = np.eye(len(kinds)).repeat([kind.bits // 64 for kind in kinds], axis=0)
    return _Layout(words, bits, np.array([kind.hashes for kind in kinds], np.float64))


def make_all(kinds: Sequence[tuple[Filter, Sequence[NDArray[np.uint64]]]]) -> list[list[bytes]]:
    """Make filters of several kinds, each of several texts as `Filter.make_each` does, all together."""
    entered: list[NDArray[np.uint64]] = []
    rows: list[tuple[int, int, int, int]] = []  # values; which of their bits count, from which on; the filter
    end = 0
    for kind, texts in kinds:
        width = kind.bits.bit_length() - 1
        for values in texts:
            few = values if len(values) <= kind.most else kind.least(values)
            if len(few):
                entered += [few] * kind.hashes
                rows += [(len(few), kind.bits - 1, part * width, end) for part in range(kind.hashes)]
            end += kind.bits
    bits = np.zeros(end, np.bool_)
    if rows:
        sizes, masks, shifts, starts = np.array(rows, np.uint64).T
        masks, shifts, starts = np.repeat((masks, shifts, starts), sizes.view(np.int64), axis=1)
        places = mix(np.concatenate(entered))
        places >>= shifts
        places &= masks
        places += starts
        bits[places] = True
    packed = np.packbits(bits).tobytes()  # the first of eight is the highest
    end = 0
    made: list[list[bytes]] = []
    for kind, texts in kinds:
        starts_ = range(end, end := end + len(texts) * kind.size, kind.size)
        made.append([packed[start : start + kind.size] for start in starts_])
    return made


#: For the numbers in the main text. 300 of them set 69 % of the bits.
NUMBERS = Filter(256, 300)
#: For the words of a title. Of ten words no substituted one goes unseen, of 30 words one of eight.
TITLE = Filter(128, 30, hashes=3)
#: For the figures and the words of short lines, see details.py.
FIGURES = Filter(128, 120)
WORDS = Filter(256, 300)

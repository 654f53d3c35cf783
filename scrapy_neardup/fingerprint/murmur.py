"""MurmurHash3 of many short strings at once, with the results of the library mmh3.

Appleby, MurmurHash3_x64_128 (2011, public domain). A call of mmh3 costs little, but it needs an object for
each token, and making the objects takes longer than all else that is done with tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mmh3
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Strings of more bytes are hashed one by one, by mmh3.
LONGEST = 128
#: Strings of a block or more are hashed one by one, too, if there are at most so many.
FEW = 16
_BLOCK_BITS = 4
_BLOCK = 1 << _BLOCK_BITS


def constant(value: int) -> NDArray[np.uint64]:
    """Return *value* as uint64[]: NumPy takes half as long for it as for a scalar or an int."""
    return np.array(value, np.uint64)


_MIX_1, _MIX_2 = constant(0xFF51AFD7ED558CCD), constant(0xC4CEB9FE1A85EC53)
_MIX_SHIFT = constant(33)
_WORD_BITS = constant(64)


def _column(first: int, second: int) -> NDArray[np.uint64]:
    return np.array([[first], [second]], np.uint64)


# A block and the state have two halves, which are two rows of an array. Both take the same steps, with
# constants of their own.
_BEFORE = _column(0x87C37B91114253D5, 0x4CF5AD432745937F)
_AFTER = _BEFORE[::-1].copy()
_BLOCK_TURN = _column(31, 33)
_TURNS, _ADD, _FIVE = (constant(27), constant(31)), (constant(0x52DCE729), constant(0x38495AB5)), constant(5)
# At n + 8: a mask of the first n bytes of a word, for n from -8 to 15.
_FIRST_BYTES = np.array([(1 << 8 * min(max(size, 0), 8)) - 1 for size in range(-8, _BLOCK)], np.uint64)
_HALVES = np.array([[8], [0]])
_THREE_WORDS = np.array([[0], [1], [2]])


def hash_slices(
    data: bytes, starts: NDArray[np.intp], ends: NDArray[np.intp], seed: int, few: int = FEW
) -> NDArray[np.uint64]:
    """Return the first 64 bits of the hash of each slice of *data*; uint64[n].

    *starts* and *ends* are intp[n]; no end is before its start. The seed has 32 bits. Strings of a block or
    more are hashed one by one if there are at most *few*.
    """
    sizes = ends - starts
    words = np.frombuffer(data + bytes(5 * 8 - len(data) % 8), "<u8")
    state = constant(seed)
    left, tails = sizes, starts
    alone = (sizes >= _BLOCK).nonzero()[0]
    if len(alone):
        blocks = sizes >> _BLOCK_BITS  # dividing takes several times as long
        left, tails = sizes & (_BLOCK - 1), starts + (blocks << _BLOCK_BITS)
        if len(alone) > few:
            alone = np.flatnonzero(sizes > LONGEST)
            state = _bodies(words, starts, np.where(sizes > LONGEST, 0, blocks), seed)
    halves = _load(words, tails)
    halves &= _FIRST_BYTES.take(left + _HALVES)
    halves = _scramble(halves)
    halves ^= state
    halves ^= sizes.view(np.uint64)
    halves[0] += halves[1]
    halves[1] += halves[0]
    halves = mix(halves)
    hashes: NDArray[np.uint64] = halves[0] + halves[1]
    for number in alone.tolist():
        digest = mmh3.mmh3_x64_128_digest(data[starts[number] : ends[number]], seed)
        hashes[number] = int.from_bytes(digest[:8], "little")
    return hashes


def mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every input bit over all 64 output bits: the finaliser of MurmurHash3, a bijection."""
    mixed = hashes >> _MIX_SHIFT
    mixed ^= hashes
    mixed *= _MIX_1
    mixed ^= mixed >> _MIX_SHIFT
    mixed *= _MIX_2
    mixed ^= mixed >> _MIX_SHIFT
    return mixed


def _bodies(
    words: NDArray[np.uint64], starts: NDArray[np.intp], blocks: NDArray[np.intp], seed: int
) -> NDArray[np.uint64]:
    """Return the state after so many whole *blocks* of each string; uint64[2, n]."""
    state = np.full((2, len(starts)), seed, np.uint64)
    for number in range(blocks.max()):
        longer = np.flatnonzero(blocks > number)
        halves = _scramble(_load(words, starts[longer] + number * _BLOCK))
        halves ^= state[:, longer]
        other = state[1, longer]
        for half, turn, add in zip((0, 1), _TURNS, _ADD, strict=True):
            other = (_rotate(halves[half], turn) + other) * _FIVE + add
            state[half, longer] = other
    return state


def _load(words: NDArray[np.uint64], at: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Read two words of eight bytes that begin at any byte; uint64[2, n].

    They are put together from three words that begin at multiples of eight.
    """
    offset = ((at & 7) << 3).view(np.uint64)
    three = words.take((at >> 3) + _THREE_WORDS)
    two: NDArray[np.uint64] = three[:2] >> offset
    two |= three[1:] << (_WORD_BITS - offset)  # a shift by all 64 bits gives 0 in NumPy
    return two


def _scramble(halves: NDArray[np.uint64]) -> NDArray[np.uint64]:
    scrambled = _rotate(halves * _BEFORE, _BLOCK_TURN)
    scrambled *= _AFTER
    return scrambled


def _rotate(values: NDArray[np.uint64], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    rotated = values << bits
    rotated |= values >> (_WORD_BITS - bits)
    return rotated

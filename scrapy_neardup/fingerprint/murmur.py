"""MurmurHash3 of many short strings at once, equal to what the library mmh3 gives for each.

Appleby, MurmurHash3_x64_128 (2011, public domain). Calling mmh3 costs little, but the object that each token must be
made for that costs more than all else that is done with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mmh3
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Longer strings, in bytes, are hashed one by one.
LONGEST = 128
_BLOCK = 16
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_ADD_1, _ADD_2 = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_FIVE = np.uint64(5)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_MIX_SHIFT = np.uint64(33)
_WORD_BITS = np.uint64(64)
# Which bits of a word are among the first n bytes, at n + 8.
_FIRST_BYTES = np.array([(1 << 8 * min(max(size, 0), 8)) - 1 for size in range(-8, _BLOCK)], np.uint64)


def hash_slices(
    data: bytes, starts: NDArray[np.intp], ends: NDArray[np.intp], seed: int = 0
) -> NDArray[np.uint64]:
    """Return the first 64 bits of the hash of each slice of *data* (intp[n] each, no end before its start); uint64[n].

    The seed has 32 bits.
    """
    sizes = ends - starts
    words = np.frombuffer(data + bytes(5 * 8 - len(data) % 8), "<u8")
    h1: NDArray[np.uint64] | np.uint64 = np.uint64(seed)
    h2 = h1
    left, tails = sizes, starts
    blocks = sizes // _BLOCK
    if blocks.any():
        h1, h2 = _bodies(words, starts, np.where(sizes > LONGEST, 0, blocks), seed)
        left, tails = sizes % _BLOCK, starts + blocks * _BLOCK
    low, high = _load(words, tails)
    low &= _FIRST_BYTES.take(left + 8)
    high &= _FIRST_BYTES.take(left)
    length = sizes.view(np.uint64)
    h1 = _scramble(low, _C1, 31, _C2) ^ h1 ^ length
    h2 = _scramble(high, _C2, 33, _C1) ^ h2 ^ length
    h1 += h2
    h2 += h1
    hashes = mix(h1) + mix(h2)
    for number in np.flatnonzero(sizes > LONGEST).tolist():
        digest = mmh3.mmh3_x64_128_digest(data[starts[number] : ends[number]], seed)
        hashes[number] = int.from_bytes(digest[:8], "little")
    return hashes


def mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every input bit over all 64 output bits: the finaliser of MurmurHash3, a bijection."""
    mixed = hashes ^ (hashes >> _MIX_SHIFT)
    mixed *= _MIX_1
    mixed ^= mixed >> _MIX_SHIFT
    mixed *= _MIX_2
    mixed ^= mixed >> _MIX_SHIFT
    return mixed


def _bodies(
    words: NDArray[np.uint64], starts: NDArray[np.intp], blocks: NDArray[np.intp], seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return both halves of the state after so many whole *blocks* of each string; uint64[n] each."""
    h1, h2 = np.full((2, len(starts)), seed, np.uint64)
    for number in range(blocks.max()):
        longer = np.flatnonzero(blocks > number)
        low, high = _load(words, starts[longer] + number * _BLOCK)
        one, other = h1[longer], h2[longer]
        one = _rotate(one ^ _scramble(low, _C1, 31, _C2), 27) + other
        one = one * _FIVE + _ADD_1
        other = _rotate(other ^ _scramble(high, _C2, 33, _C1), 31) + one
        h1[longer], h2[longer] = one, other * _FIVE + _ADD_2
    return h1, h2


def _load(words: NDArray[np.uint64], at: NDArray[np.intp]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Read two words of eight bytes that begin at any byte: each is made of two of three that do not."""
    word, offset = at >> 3, ((at & 7) << 3).view(np.uint64)
    rest = _WORD_BITS - offset  # shifted by all its 64 bits a word is 0
    middle = words.take(word + 1)
    low = words.take(word) >> offset
    low |= middle << rest
    high = middle >> offset
    high |= words.take(word + 2) << rest
    return low, high


def _scramble(
    values: NDArray[np.uint64], before: np.uint64, bits: int, after: np.uint64
) -> NDArray[np.uint64]:
    scrambled = _rotate(values * before, bits)
    scrambled *= after
    return scrambled


def _rotate(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    rotated = values << np.uint64(bits)
    rotated |= values >> np.uint64(64 - bits)
    return rotated

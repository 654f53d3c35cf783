"""Exact Jaccard similarity of sets of shingles, the truth that sketches estimate (Broder 1997).

A set is an array of 64-bit hashes, in any order, with repetitions. An empty one is similar to nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_neardup.arguments import whole_numbers

from .hashing import hash_tokens, mix, shingle
from .normalise import normalise
from .tokens import tokenise


def character_shingles(text: str, size: int, seed: int = 0) -> NDArray[np.uint64]:
    """Hash each run of *size* characters of any text, also spaces and signs; uint64[n], in order."""
    flat = normalise(text).replace("\n", " ").encode("utf-32-le")
    points = np.frombuffer(flat, "<u4").astype(np.uint64)
    return shingle(mix(points + (np.uint64(seed) << np.uint64(32))), size)


def jaccard(a: ArrayLike, b: ArrayLike) -> float:
    """Return the share of all the elements of two sets (uint64[m], uint64[n]) that are in both.

    Raises `ConfigurationError` for what are no hashes of 64 bits.
    """
    one, other = (whole_numbers("Hashes", each, np.uint64) for each in (a, b))
    return len(np.intersect1d(one, other)) / max(len(np.union1d(one, other)), 1)


def text_jaccard(a: str, b: str, *, words: int = 3) -> float:
    """Jaccard similarity of two texts by their shingles of *words* tokens."""
    return jaccard(*(shingle(hash_tokens(tokenise(normalise(text))), words) for text in (a, b)))


def character_jaccard(a: str, b: str, *, characters: int = 5) -> float:
    """Jaccard similarity of two texts by their shingles of that many *characters*."""
    return jaccard(character_shingles(a, characters), character_shingles(b, characters))

"""Long paragraphs that a site has under many titles, such as a disclaimer: no page is about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mmh3
import numpy as np

from scrapy_neardup.fingerprint.main_text import length

from .arrays import begins
from .names import TITLES

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

#: A paragraph is long if it has so many words, or letters (see `length`) if it has some beyond ASCII.
WORDS, LETTERS = 20, 120


def paragraph_keys(text: str) -> list[int]:
    """Return the key of each long paragraph of *text*: a 64-bit hash of its words, whatever their case."""
    keys: list[int] = []
    for line in text.split("\n"):
        if len(line) < LETTERS // 3:  # no character counts for more than three letters
            continue
        words = line.casefold().strip()
        if "  " in words or not words.isprintable():  # as is all white space but the blank
            words = " ".join(words.split())
        if words.count(" ") >= WORDS - 1 or (not line.isascii() and length(line) >= LETTERS):
            keys.append(mmh3.hash64(words.encode("utf-8", "surrogatepass"), signed=False)[0])
    return keys


def without_paragraphs(text: str, keys: Collection[int]) -> str:
    """Return *text* without the long paragraphs that have *keys*."""
    lines = (line for line in text.split("\n") if not any(key in keys for key in paragraph_keys(line)))
    return "\n".join(lines)


def widespread(
    sites: NDArray[np.integer], keys: NDArray[np.uint64], titles: NDArray[np.integer], least: int = TITLES
) -> NDArray[np.bool_]:
    """Tell which of n paragraphs stand on pages of *least* different titles of their site; bool[n].

    *sites* and *titles* have numbers of its site and of its page's title. This takes 40 bytes a paragraph.
    """
    found = np.zeros(len(keys), bool)
    # Most paragraphs stand on few pages at all, and sorting by one column is quick.
    values, counts = np.unique(keys, return_counts=True)
    often = np.flatnonzero(np.isin(keys, values[counts >= least]))
    order = often[np.lexsort((titles[often], keys[often], sites[often]))]
    site, key, title = sites[order], keys[order], titles[order]
    new = begins(site) | begins(key)  # where the next paragraph or site begins
    other = new | begins(title)
    group = np.cumsum(new) - 1
    found[order] = (np.bincount(group, weights=other) >= least)[group]
    return found

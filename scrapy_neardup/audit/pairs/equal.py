"""Pairs of documents with keys in common: what anchors, bands and super-shingles make candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.arrays import begins, ranges
from scrapy_neardup.index.tables import NO_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]
    Numbers = NDArray[np.int64]

#: Pairs that are yielded at a time, and that are made at a time, about.
_CHUNK, _MADE = 1 << 20, 1 << 17


def equal_keys(
    keys: Keys, documents: NDArray[np.integer], most: int = 64
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the pairs of *documents* that have *keys* in common, and how many keys.

    They come in chunks of int64[m, 2] and int64[m]. ``keys[i]`` (uint64) is a key of ``documents[i]``: an
    anchor, band or super-shingle; `NO_KEY` is none, and a key that a document has twice counts once. A pair
    has the lower number first and comes once; its count is exact. A key that more than *most* documents share
    (a stock phrase, or many copies of one page) pairs only the least of them with each other one: it costs as
    many pairs as it has documents, not their square, yet a thousand copies stay connected. Memory: pairs of
    about a million, though all those of one document come together.
    """
    table = _Groups(np.asarray(keys, np.uint64), np.asarray(documents), most)
    del keys, documents  # they are large, and perhaps nobody else has them
    by_document = np.argsort(table.documents, kind="stable")
    ordered, partners = table.documents[by_document], table.partners[by_document]
    for part in _chunks(ordered, partners, _CHUNK):
        entries = by_document[part]
        found = [table.pairs(entries[some]) for some in _chunks(ordered[part], partners[part], _MADE)]
        pairs, shared = (np.concatenate(each) for each in zip(*found, strict=True))
        del found
        if len(pairs):
            yield pairs, shared


class _Groups:
    """Documents by their keys: one entry for each key of each document, sorted by key, then by document.

    The entries of one key are a group. It is large if more than *most* documents have the key. Keys that
    stand alone, as most do, pair nothing and are left out.
    """

    def __init__(self, keys: Keys, documents: NDArray[np.integer], most: int) -> None:
        order = np.argsort(keys)
        keys = keys[order]
        again = keys[1:] == keys[:-1]
        common = (np.append(again, False) | np.append(False, again))[: len(keys)] & (keys != NO_KEY)
        keys, numbers = keys[common], documents[order[common]].astype(np.int64)
        del common, again
        order = np.lexsort((numbers, keys))
        keys, numbers = keys[order], numbers[order]
        first = begins(keys)
        once = first | begins(numbers)
        first = first[once]
        #: The document of each of e entries; int64[e].
        self.documents = numbers[once]
        starts = np.flatnonzero(first)
        sizes = np.diff(starts, append=len(first))
        #: The number of each entry's group; int32[e].
        self._group = np.repeat(np.arange(len(starts)), sizes).astype(np.int32)
        #: Whether that group is large; bool[e].
        self.large = (sizes > most)[self._group]
        behind = np.repeat(starts + sizes, sizes) - np.arange(len(first)) - 1
        #: With how many of the entries behind it each is paired: all of its group, but in a large one only by
        #: the first; int32[e].
        self.partners = np.where(self.large & ~first, 0, behind).astype(np.int32)
        #: More than any document's number: ``a * span + b`` stands for a and b.
        self.span = int(self.documents.max(initial=0)) + 1
        # The documents of large groups, as ``group * span + document``; ascending.
        self._in_large = self._group[self.large].astype(np.int64) * self.span + self.documents[self.large]

    def pairs(self, entries: Numbers) -> tuple[Numbers, Numbers]:
        """Return the pairs of some documents with later ones. *entries* are all entries of these documents.

        They are int64[m, 2], sorted, and how many keys each has in common is int64[m].
        """
        partners = self.partners[entries]
        a = np.repeat(self.documents[entries], partners)
        b = self.documents[ranges(entries + 1, partners)]
        counted = np.repeat(~self.large[entries], partners)
        codes, which = np.unique(a * self.span + b, return_inverse=True)
        shared = np.bincount(which, counted, len(codes)).astype(np.int64)
        a, b = np.divmod(codes, self.span)
        return np.stack((a, b), axis=1), shared + self._shared_in_large(a, b, entries)

    def _shared_in_large(self, a: Numbers, b: Numbers, entries: Numbers) -> Numbers:
        """Count the large groups with both documents of each pair of *a* and *b* (int64[m] each); int64[m].

        The pairs of a large group do not show them, for there only the first document is paired. So every
        large group of *a* is looked for among those of *b*. *entries* are all entries of the documents in
        *a*, document by document.
        """
        entries = entries[self.large[entries]]
        owners, starts = np.unique(self.documents[entries], return_index=True)
        if not len(owners):
            return np.zeros(len(a), np.int64)
        sizes = np.diff(starts, append=len(entries))
        owner = np.minimum(np.searchsorted(owners, a), len(owners) - 1)
        groups = np.where(owners[owner] == a, sizes[owner], 0)  # large ones of each a
        wanted = self._group[entries[ranges(starts[owner], groups)]].astype(np.int64)
        wanted = wanted * self.span + np.repeat(b, groups)
        place = np.minimum(np.searchsorted(self._in_large, wanted), len(self._in_large) - 1)
        found = self._in_large[place] == wanted
        return np.bincount(np.repeat(np.arange(len(a)), groups), found, len(a)).astype(np.int64)


def _chunks(documents: Numbers, pairs: NDArray[np.int32], size: int) -> Iterator[slice]:
    """Cut ascending *documents* where they change, so that the *pairs* of a part are about *size*."""
    starts = np.flatnonzero(begins(documents))
    total = np.append(0, np.cumsum(pairs))
    low = 0
    while low < len(documents):
        cut = np.searchsorted(total[starts], total[low] + size, side="right")
        high = int(starts[cut]) if cut < len(starts) else len(documents)
        if high <= low:
            following = np.searchsorted(starts, low, side="right")
            high = int(starts[following]) if following < len(starts) else len(documents)
        yield slice(low, high)
        low = high

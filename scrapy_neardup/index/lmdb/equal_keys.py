"""Searching the runs for keys that have to be equal, by bisection key by key."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import PIECE
from scrapy_neardup.index.sorted_arrays import is_member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .layout import Run
    from .snapshot import Snapshot


def search_equal(reader: Snapshot, family: int, keys: list[int], most: int, first: int) -> Iterator[Matches]:
    """Yield the documents that have one of *keys*. For *most* and *first* see `search_runs`."""
    limit = most + 1 if most else first
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    query: list[int] = []
    found: list[NDArray[np.uint32]] = []
    size = 0
    for position, key in enumerate(keys):
        of_key = _documents_with(reader, table, cuts, key)
        if not of_key:
            continue
        if limit and sum(map(len, of_key)) >= limit:
            of_key = [_alive(of_key, reader.dead, limit)]
        for documents in of_key:
            query.append(position)
            found.append(documents)
            size += len(documents)
        if size > reader.tuning.candidates_at_once:
            yield _equal_matches(query, found)
            query, found, size = [], [], 0
    if found:
        yield _equal_matches(query, found)


def is_known(reader: Snapshot, family: int, keys: list[int]) -> bool:
    """Whether any document, perhaps a removed one, has one of *keys*."""
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    return any(_documents_with(reader, table, cuts, key) for key in keys)


def _documents_with(
    reader: Snapshot, table: int, cuts: list[tuple[Run, int]], key: int
) -> list[NDArray[np.uint32]]:
    """Return the documents that have *key* in a *table*, one array for each run that has any.

    *cuts* are the runs, each with the bits by which it cuts the table.
    """
    parts: list[NDArray[np.uint32]] = []
    for run, cut in cuts:
        entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
        place = (key >> shift) & mask
        end = starts[place + 1]
        start = bisect_left(values, key, starts[place], end)
        if start < end and values[start] == key:
            parts.append(entries.documents[start : bisect_right(values, key, start, end)])
    return parts


def _equal_matches(query: list[int], documents: list[NDArray[np.uint32]]) -> Matches:
    """Return matches of distance 0: each position of *query* with each of its *documents*."""
    sizes = [len(each) for each in documents]
    found = np.concatenate(documents).astype(np.int64)
    return Matches(np.array(query).repeat(sizes), found, np.zeros(len(found), np.uint8))


def _alive(parts: list[NDArray[np.uint32]], dead: NDArray[np.int64], count: int) -> NDArray[np.uint32]:
    """Return the first *count* different documents of *parts* that are not *dead*, or all if there are fewer.

    The documents of one key ascend within a run, and from run to run.
    """
    found: set[int] = set()
    for part in parts:
        for start in range(0, len(part), PIECE):
            piece = part[start : start + PIECE]
            found.update(piece[~is_member(piece, dead)].tolist())
            if len(found) >= count:
                return np.array(sorted(found)[:count], np.uint32)
    return np.array(sorted(found), np.uint32)

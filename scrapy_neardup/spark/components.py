"""Connected components of a graph of pairs that no machine holds, in few rounds.

After Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond"
(SoCC 2014): every round hangs the larger neighbours of each page, then the smaller ones, on the least of
them. A graph of n pages becomes stars in O(log² n) rounds; of real crawls, whose components are small, in a
few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.pairs.components import components

from .frames import mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from .frames import Workspace

    Rows = NDArray[np.int64]

EDGE = "a long, b long"
#: Up to so many edges are solved by one task, in some 100 MB.
ALONE = 1 << 20


def connected(edges: DataFrame, space: Workspace, alone: int = ALONE) -> DataFrame:
    """Keep the least page that each page with *edges* is connected with: ``row`` and ``component``.

    *edges* have the columns ``a`` and ``b``, in any order. Up to *alone* of them are left to one task.
    """
    count = edges.count()
    if count <= alone:
        single = mapped(edges.select("a", "b").coalesce(1), solve, "row long, component long")
        return space.keep(single, "work/components")
    stars = edges.select("a", "b")
    before: tuple[int, int] = (-1, -1)
    number = 0
    while True:
        large = mapped(_around(stars, space), larger, EDGE).distinct()
        small = mapped(_smaller(large, space), smaller, EDGE).distinct()
        number += 1
        stars = space.keep(small, f"work/stars{number}")
        space.remove(f"work/stars{number - 1}")
        now = stars.selectExpr("count(*)", "coalesce(sum(cast(xxhash64(a, b) as decimal(38))), 0)").collect()[
            0
        ]
        if (state := (int(now[0]), int(now[1]))) == before:
            break
        before = state
    leaves = stars.selectExpr("a row", "b component")
    centres = stars.selectExpr("b row", "b component").distinct()
    found = space.keep(leaves.unionByName(centres), "work/components")
    space.remove(f"work/stars{number}")
    return found


def _around(edges: DataFrame, space: Workspace) -> DataFrame:
    """Return all neighbours of each page, the least first."""
    both = edges.unionByName(edges.selectExpr("b a", "a b"))
    return space.grouped(both, ["a"], ["b"])


def _smaller(edges: DataFrame, space: Workspace) -> DataFrame:
    """Return the smaller neighbours of each page, the least first."""
    return space.grouped(edges.selectExpr("greatest(a, b) a", "least(a, b) b"), ["a"], ["b"])


def larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hang the larger neighbours of each page on the least of its neighbours and itself."""
    for a, b, least in _with_least(batches):
        wanted = b > a
        yield _edges(b[wanted], np.minimum(least, a)[wanted])


def smaller(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hang each page and its smaller neighbours on the least of these."""
    for a, b, least in _with_least(batches):
        other = b != least
        yield _edges(np.concatenate((a, b[other])), np.concatenate((least, least[other])))


def solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the component of each page of all edges."""
    import pyarrow as pa

    parts = [_arrays(batch) for batch in batches]
    if not parts:
        return
    pages, places = np.unique(np.concatenate([np.stack(part) for part in parts], axis=1), return_inverse=True)
    found = components(len(pages), places.reshape(2, -1).T)
    yield pa.RecordBatch.from_pydict({"row": pa.array(pages), "component": pa.array(pages[found])})


def _with_least(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Yield edges that come by page, with the least neighbour of each page; a page may have any number."""
    page = least = -1
    for batch in batches:
        if not batch.num_rows:
            continue
        a, b = _arrays(batch)
        starts = np.flatnonzero(np.append(True, a[1:] != a[:-1]))
        firsts = b[starts]
        if a[0] == page:
            firsts[0] = least
        page, least = int(a[-1]), int(firsts[-1])
        yield a, b, np.repeat(firsts, np.diff(starts, append=len(a)))


def _arrays(batch: pa.RecordBatch) -> tuple[Rows, Rows]:
    a, b = (batch.column(name).to_numpy(zero_copy_only=False).copy() for name in ("a", "b"))
    return a, b


def _edges(a: Rows, b: Rows) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"a": pa.array(a), "b": pa.array(b)})

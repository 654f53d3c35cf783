"""Going through the documents of an index, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Stored

    from .snapshot import Snapshot


def live_documents(
    reader: Snapshot, progress: Callable[[int, int], None]
) -> Iterator[tuple[NDArray[np.int64], Stored]]:
    """Yield the numbers (int64[n]) and contents of all documents that were not removed, block by block.

    Blocks also hold removed documents: runs and tombstones say which those are. *progress* is called with the
    documents gone through so far, and how many there are.
    """
    state = reader.state
    ranges = [(run.start, run.stop, run) for run in state.runs]
    oldest = state.runs[0].start if state.runs else state.flushed
    for start, stop, run in (*ranges, (state.flushed, state.next, None)):
        alive = np.ones(stop - start, bool) if run is None else reader.held(run).copy()
        alive[reader.dead[(reader.dead >= start) & (reader.dead < stop)] - start] = False
        for first, documents in reader.blocks(start, stop):
            rows = np.flatnonzero(alive[first - start : first - start + len(documents.urls)])
            yield rows + first, documents.take(rows)
            progress(first + len(documents.urls) - oldest, state.next - oldest)


def count_documents(reader: Snapshot) -> int:
    """Return how many documents are stored and not removed."""
    state = reader.state
    return sum(run.documents for run in state.runs) + state.next - state.flushed - len(reader.dead)

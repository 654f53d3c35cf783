"""A full check of an index on disk, written against its documented layout and not against its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index import LmdbIndex
    from scrapy_neardup.index.snapshot import Snapshot
    from scrapy_neardup.index.storage import Run


def check(index: LmdbIndex) -> None:
    """Log without gaps and with right checksums; every table of every run agrees with it."""
    with index.reading() as reader:
        numbers, keys = _log(reader)
        state, dead = reader.state, set(reader.dead.tolist())
        assert [run.start for run in state.runs[1:]] == [run.stop for run in state.runs[:-1]]
        assert not state.runs or state.runs[-1].stop == state.folded
        assert state.folded <= state.next
        assert len({run.id for run in state.runs} | {state.next_run}) == len(state.runs) + 1
        known = set(range(state.folded, state.next))
        for run in state.runs:
            known |= _check_run(reader, run, numbers, keys)
        assert dead <= known, "removed documents are remembered as long as they have entries, no longer"


def _log(reader: Snapshot) -> tuple[dict[int, int], NDArray[np.uint64]]:
    """Row of each document in the log, and the keys of all."""
    numbers, keys = [], []
    for first, documents in reader.blocks(0, 1 << 32, check=True):
        assert len(documents.urls)
        assert not numbers or first == numbers[-1] + 1, "gap in the log"
        numbers.extend(range(first, first + len(documents.urls)))
        keys.append(documents.keys)
    assert (numbers[-1] + 1 if numbers else 0) == reader.state.next
    families = len(reader.header.families)
    return (
        {number: row for row, number in enumerate(numbers)},
        np.concatenate(keys, axis=1) if keys else np.empty((families, 0), np.uint64),
    )


def _check_run(reader: Snapshot, run: Run, rows: dict[int, int], keys: NDArray[np.uint64]) -> set[int]:
    """Return the documents that have entries in the run."""
    filed: set[int] | None = None
    place = 0
    for family, base in zip(reader.header.families, keys, strict=True):
        for table in range(len(family)):
            parts = [reader.partition(run, place, part) for part in range(1 << run.bits)]
            for number, part in enumerate(parts):
                if run.bits:
                    assert set((part.keys >> np.uint64(64 - run.bits)).tolist()) <= {number}
            entries = np.concatenate([part.keys for part in parts])
            documents = np.concatenate([part.documents for part in parts])
            assert (entries[1:] >= entries[:-1]).all(), "not sorted"
            found = set(documents.tolist())
            assert len(found) == len(documents) == run.documents, "entries twice, or miscounted"
            assert filed is None or found == filed, "tables of one run hold different documents"
            filed = found
            stored = base[[rows[document] for document in documents.tolist()]]
            assert np.array_equal(family.restore(table, entries), stored), "table and log differ"
            place += 1
    assert filed is not None
    assert filed <= set(range(run.start, run.stop))
    return filed

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
    return (
        {number: row for row, number in enumerate(numbers)},
        np.concatenate(keys, axis=1) if keys else np.empty((reader.header.keys, 0), np.uint64),
    )


def _check_run(reader: Snapshot, run: Run, rows: dict[int, int], keys: NDArray[np.uint64]) -> set[int]:
    """Return the documents that have entries in the run."""
    held = set((np.flatnonzero(reader.held(run)) + run.start).tolist())
    assert len(held) == run.documents, "miscounted"
    where = [rows[document] for document in sorted(held)]
    place = first = 0
    for family in reader.header.families:
        expected = sorted(
            (key, document)
            for row in keys[first : first + family.keys]
            for key, document in zip(row[where].tolist(), sorted(held), strict=True)
            if family.tables.blocks > 1 or key != 2**64 - 1
        )
        first += family.keys
        for table in range(len(family.tables)):
            cut = run.cut(family)
            parts = [reader.partition(run, place, part)[0] for part in range(1 << cut)]
            for number, part in enumerate(parts):
                if cut:
                    assert set((part.keys >> np.uint64(64 - cut)).tolist()) <= {number}
            entries = np.concatenate([part.keys for part in parts])
            documents = np.concatenate([part.documents for part in parts])
            assert (entries[1:] >= entries[:-1]).all(), "not sorted"
            stored = family.tables.restore(table, entries).tolist()
            assert sorted(zip(stored, documents.tolist(), strict=True)) == expected, "table and log differ"
            place += 1
    return held

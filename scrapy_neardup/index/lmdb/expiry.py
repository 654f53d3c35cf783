"""Runs whose documents are all too old are dropped as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .layout import Run, read_state, write_state
from .ledger import count_removed, write_ledger
from .sweeping import sweep
from .tombstones import drop_removed, read_removed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import lmdb

    from .environment import Environment
    from .snapshot import Snapshot


def expire(environment: Environment, reader: Snapshot, expires: int) -> Iterator[None]:
    """Drop the oldest runs as long as all their documents are older than *expires*, and their blocks."""
    if "time" not in (reader.header.dtype.names or ()):
        return
    for run in reader.state.runs:
        if not (yield from _is_older(reader, run, expires)):
            break

        def work(transaction: lmdb.Transaction, run: Run = run) -> None:
            state = read_state(environment, transaction)
            left = tuple(other for other in state.runs if other.id != run.id)
            state = replace(state, runs=left, removals=state.removals + 1)
            write_state(environment, transaction, state)
            dead = read_removed(transaction, environment.databases["dead"])
            gone = dead[(dead >= run.start) & (dead < run.stop)]
            drop_removed(transaction, environment.databases["dead"], gone)
            write_ledger(environment, transaction, state, count_removed(environment, transaction, state))

        environment.write(work)
        yield
    reader.refresh()
    yield from sweep(environment, reader)


def _is_older(reader: Snapshot, run: Run, expires: int) -> Generator[None, None, bool]:
    """Tell whether all documents of *run* are older than *expires*; yields now and then while it reads."""
    # Documents mostly come in the order of time, so the last one mostly answers for all.
    if reader.fetch(np.array([run.stop - 1])).records["time"][0] >= expires:
        return False
    step = reader.tuning.block_documents
    for start in range(run.start, run.stop, step):
        some = reader.blocks(start, min(start + step, run.stop))
        if any(stored.records["time"].max() >= expires for _, stored in some):
            return False
        yield
    return True

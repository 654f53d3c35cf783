"""Calls of the system that fail: each one of a workload in turn, with each error that it may have."""

from __future__ import annotations

import errno
import logging
import shutil
import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check
from tests.index.small import HEADER, documents
from torture import shim
from torture.children import isolated
from torture.exercise import Exercise, Round
from torture.workloads import BEFORE, HASTY, WORKLOADS, Trial

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHANGES = shim.WRITE | shim.SYNC | shim.TRUNCATE | shim.OPEN | shim.NAME
#: A fault so many times in a row is there for good.
FOR_GOOD = 1 << 30


class Fault(NamedTuple):
    """What goes wrong, and how often in a row, with calls of which kinds."""

    name: str
    error: int
    times: int
    kinds: int


FAULTS = [
    Fault("no space left, once", errno.ENOSPC, 1, shim.WRITE | shim.TRUNCATE | shim.OPEN | shim.NAME),
    Fault("no space left", errno.ENOSPC, FOR_GOOD, shim.WRITE | shim.TRUNCATE),
    Fault("input/output error, once", errno.EIO, 1, CHANGES | shim.READ),
    Fault("input/output error", errno.EIO, FOR_GOOD, CHANGES | shim.READ),
    Fault("interrupted, once", errno.EINTR, 1, CHANGES | shim.READ),
    Fault("interrupted, five times", errno.EINTR, 5, CHANGES | shim.READ),
    Fault("half of it written, once", shim.SHORT, 1, shim.WRITE),
    Fault("half of it written", shim.SHORT, FOR_GOOD, shim.WRITE),
]


def run(seed: int, folder: Path) -> Round:
    remark = shim.without()
    if remark is not None:
        return remark
    logging.disable()
    workload, fault = WORKLOADS[seed % len(WORKLOADS)], FAULTS[seed // len(WORKLOADS) % len(FAULTS)]
    outcome = Round()
    made = isolated(lambda: make(folder / "made"))
    if made.died:
        return Round(violations=[f"no index could be made: {made.died}"])
    number = calls = 0
    deadline = time.monotonic() + EXERCISE.seconds * 2.5
    while number <= calls:
        path = folder / "index"
        shutil.copytree(folder / "made", path)
        where = f"{workload.__name__}, {fault.name}, call {number}"
        tried = isolated(partial(suffer, workload, fault, number, path))
        if tried.died:
            outcome.violations.append(f"{where}: {tried.died}")
            calls = max(calls, number + 1)
        else:
            trial: Trial = tried.result
            calls = trial.calls
            outcome.violations += [f"{where}: {raw}" for raw in trial.raw]
            seen = isolated(partial(examine, trial))
            outcome.violations += [f"{where}: {what}" for what in seen.wrong]
        shutil.rmtree(path)
        outcome.counts["faults"] += 1
        number += 1
        if time.monotonic() > deadline or len(outcome.violations) > 20:
            outcome.remarks.append(
                f"{workload.__name__}, {fault.name}: ended after {number} of {calls} calls"
            )
            return outcome
    outcome.counts["sweeps of all calls"] += 1
    return outcome


def make(path: Path) -> None:
    """Make the index that most workloads start with: two runs and a log."""
    with closing(LmdbIndex(path, HEADER, tuning=HASTY)) as index:
        for start, stop in ((0, 30), (30, 50), (50, BEFORE)):
            index.add(documents([*range(start, stop)], [f"u{number}" for number in range(start, stop)]))


def suffer(workload: Callable[[Trial], None], fault: Fault, number: int, path: Path) -> Trial:
    """Do *workload* while call *number* fails, and those after it as often as *fault* says."""
    trial = Trial(path)
    threading.excepthook = lambda arguments: trial.raw.append(f"in a thread: {arguments.exc_value!r}")
    shim.arm(path.parent, at=number, times=fault.times, error=fault.error, kinds=fault.kinds)
    workload(trial)
    trial.calls = shim.disarm()
    return trial


def examine(trial: Trial) -> list[str]:
    """Return what is wrong with the index after *trial*, now that nothing fails any more."""
    with closing(LmdbIndex(trial.path, HEADER, tuning=HASTY)) as index:
        wrong = [f"check: {problem.where}: {problem.what}" for problem in check(index)]
        for numbers, there in ((trial.kept, True), (trial.gone, False)):
            keys = np.array(sorted(numbers), np.uint64)
            found = set(keys[index.search(1, keys).query].tolist())
            other = numbers - found if there else numbers & found
            if other:
                what = "acknowledged documents are lost" if there else "removed documents are back"
                wrong.append(f"{len(other)} {what}, the first {min(other)}")
        index.add(documents([1], ["u99999"]))
    return wrong


EXERCISE = Exercise(
    name="faults",
    promise="A call of the system that fails loses nothing that was acknowledged, damages no index, and "
    "shows as an error of the package.",
    how="Each of the calls by which a workload opens, reads, writes, syncs, cuts or renames a file fails in "
    "turn: no space, input/output error, interrupted, half of it written; once or from then on.",
    run=run,
    seconds=60,
)

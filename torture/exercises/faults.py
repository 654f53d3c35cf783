"""Calls of the system that fail: each one of a workload in turn, with each error that it may have."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import shutil
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from scrapy_neardup.cli import main
from scrapy_neardup.errors import NearDupError
from scrapy_neardup.index import LmdbIndex
from tests.index.small import HEADER, SMALL, documents, numbered
from torture import shim
from torture.children import isolated
from torture.exercise import Exercise, Round
from torture.kills.index import problems, remove, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HASTY = replace(
    SMALL, group_seconds=60.0, commit_retry_seconds=0.01, upkeep_retry_seconds=0.01, disk_wait_seconds=2.0
)
#: So many documents are in the index before most workloads.
BEFORE = 60


@dataclass
class Trial:
    """What a workload was told: which documents it may rely on, and errors that it should not see."""

    path: Path
    kept: set[int] = field(default_factory=lambda: set(range(BEFORE)))
    gone: set[int] = field(default_factory=set)
    raw: list[str] = field(default_factory=list)
    calls: int = 0

    def attempt(self, call: Callable[..., Any], *arguments: Any) -> bool:
        """Make a *call*; returns whether it succeeded. Errors of the package are as promised."""
        try:
            call(*arguments)
        except (NearDupError, click.ClickException):
            return False
        except BaseException as error:  # noqa: BLE001
            self.raw.append(repr(error))
            return False
        return True

    def command(self, name: str, *options: str) -> bool:
        """Run a command of `scrapy-neardup index`; a line and an exit status are as promised."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            line = ["index", name, str(self.path), *options]
            return self.attempt(lambda: main(line, standalone_mode=False))

    def index(self, **options: Any) -> LmdbIndex | None:
        made: list[LmdbIndex] = []
        options = {"tuning": HASTY, **options}
        self.attempt(lambda: made.append(LmdbIndex(self.path, HEADER, **options)))
        return made[0] if made else None


def use(trial: Trial) -> None:
    """File, remove and look up, a little at a time."""
    index = trial.index()
    if index is None:
        return
    waiting: set[int] = set()
    for number in range(1000, 1024):
        if trial.attempt(store, index, number, number * 7):
            waiting.add(number)
        if number % 3 == 0 and trial.attempt(index.flush):
            trial.kept |= waiting
            waiting.clear()
        if number % 8 == 0:
            gone = number - 1000 + number % 3
            trial.kept.discard(gone)
            if trial.attempt(remove, index, [gone]) and trial.attempt(index.flush):
                trial.gone.add(gone)
        trial.attempt(lambda: index.search(0, np.arange(20, dtype=np.uint64), 3))
    if trial.attempt(index.flush):
        trial.kept |= waiting
    if trial.attempt(index.close):
        trial.kept |= waiting


def load(trial: Trial) -> None:
    """File many at once, and have runs merged."""
    index = trial.index()
    if index is None:
        return
    for start in (2000, 2050, 2200):
        numbers = range(start, start + (45 if start < 2200 else 5))
        if trial.attempt(index.add, numbered(numbers)):
            trial.kept |= {*numbers}
    trial.attempt(index.compact)
    trial.attempt(index.close)


def begin(trial: Trial) -> None:
    """Make a new index where there is none."""
    trial.path /= "new"
    trial.kept = set()
    for _ in range(2):  # what a first try has left behind is no obstacle
        index = trial.index()
        if index is not None:
            if trial.attempt(index.add, documents([5], ["u5"])):
                trial.kept.add(5)
            trial.attempt(index.close)


def anew(trial: Trial) -> None:
    """Empty an index."""
    trial.kept = set()
    index = trial.index(reset=True)
    if index is not None:
        trial.attempt(index.close)


def shrink(trial: Trial) -> None:
    trial.command("compact")


def expire(trial: Trial) -> None:
    """Forget what is old, which is all."""
    trial.kept = set()
    trial.command("prune", "--older-than", "1")


def look(trial: Trial) -> None:
    """Verify and describe."""
    trial.command("check")
    trial.command("info")


WORKLOADS = (use, load, begin, anew, shrink, expire, look)


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
    if remark := shim.without():
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
        return problems(index, trial.kept, trial.gone)


EXERCISE = Exercise(
    name="faults",
    promise="A call of the system that fails loses nothing that was acknowledged, damages no index, and "
    "shows as an error of the package.",
    how="Each of the calls by which a workload opens, reads, writes, syncs, cuts or renames a file fails in "
    "turn: no space, input/output error, interrupted, half of it written; once or from then on.",
    run=run,
    seconds=60,
)

"""What is done to an index while calls of the system fail, and what each workload was told."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from scrapy_neardup.cli import main
from scrapy_neardup.errors import NearDupError
from scrapy_neardup.index import LmdbIndex
from tests.index.conformance import reserve
from tests.index.small import HEADER, SMALL, documents

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

    def attempt(self, call: Callable[[], Any]) -> bool:
        """Make a *call*; returns whether it succeeded. Errors of the package are as promised."""
        try:
            call()
        except (NearDupError, click.ClickException):
            return False
        except BaseException as error:  # noqa: BLE001
            self.raw.append(repr(error))
            return False
        return True

    def command(self, name: str, *options: str) -> bool:
        """Run a command of `scrapy-neardup index`; a line and an exit status are as promised."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return self.attempt(
                lambda: main(["index", name, str(self.path), *options], standalone_mode=False)
            )

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
        new = documents([number * 7], [f"u{number}"])
        if trial.attempt(lambda new=new: reserve(index, new).confirm()):  # type: ignore[misc]
            waiting.add(number)
        if number % 3 == 0 and trial.attempt(index.flush):
            trial.kept |= waiting
            waiting.clear()
        if number % 8 == 0:
            gone = number - 1000 + number % 3
            trial.kept.discard(gone)
            if trial.attempt(
                lambda gone=gone: index.discard(
                    index.search(1, np.array([gone], np.uint64)).document.tolist()
                )  # type: ignore[misc]
            ) and trial.attempt(index.flush):
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
        urls = [f"u{number}" for number in numbers]
        if trial.attempt(lambda numbers=numbers, urls=urls: index.add(documents([*numbers], urls))):  # type: ignore[misc]
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
            if trial.attempt(lambda index=index: index.add(documents([5], ["u5"]))):  # type: ignore[misc]
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

"""What an exercise is: a promise, and rounds that try to break it, each repeatable by its seed."""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Item = TypeVar("Item")


@dataclass
class Round:
    """What one round has done.

    *counts* says how often each of the things that the exercise counts was done. A violation is a sentence
    that says what was promised and what was seen.
    """

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    #: Anything worth a line that is no violation, such as what an environment does not allow.
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Exercise:
    """One promise and how it is attacked.

    *run* does the round of a seed in an empty folder, and returns within *seconds*: a round that takes three
    times as long (more where others are at work, see `busy`), or whose process dies, is a violation. The same
    seed does the same again. The state that is expected is kept outside the process under test: in the round
    itself or in files, never in the index.
    """

    name: str
    #: What is promised, and how it is tested: a sentence or two each, for docs/reliability.md.
    promise: str
    how: str
    run: Callable[[int, Path], Round]
    #: About how long a round takes on two processors.
    seconds: float
    #: How much of the time this exercise gets, compared with others.
    share: float = 1.0


def busy() -> float:
    """Return how many times longer things may take here now: the processes at work for each processor.

    It is 1 at least.
    """
    return max(1.0, max(os.getloadavg()[:2]) / (os.cpu_count() or 1))


def in_time(items: Iterable[Item], seconds: float) -> Iterator[Item]:
    """Return *items* for so many *seconds*: on a busy machine a round does less, and is no hang."""
    deadline = time.monotonic() + seconds
    return takewhile(lambda _: time.monotonic() <= deadline, items)


def exercises() -> dict[str, Exercise]:
    """Return all exercises: the `EXERCISE` of each module of `torture.exercises`, by name."""
    package = importlib.import_module("torture.exercises")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    found = [importlib.import_module(f"torture.exercises.{name}").EXERCISE for name in names]
    return {each.name: each for each in found}

"""What a measurement is, when it may be quoted, and whether it meets its goal."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, TypeVar

T = TypeVar("T")
#: Interquartile range over median beyond which a figure is not quoted.
SPREAD = 0.25
#: A spread takes that many repeats.
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Form:
    """How much is measured, and with what."""

    name: Literal["quick", "full"]
    #: Fingerprints in an index, ascending.
    sizes: tuple[int, ...]
    #: Documents with all that a crawl stores of them in an index, ascending.
    stored: tuple[int, ...]
    repeats: int
    #: Pages of each crawl whose speed is measured.
    pages: int
    #: Folder of the labelled sets, if there is one.
    data: Path | None
    #: Folder for indexes, which the runner removes.
    folder: Path

    @property
    def quick(self) -> bool:
        return self.name == "quick"

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "data": self.data and str(self.data), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Form:
        values = json.loads(text)
        values |= {name: tuple(values[name]) for name in ("sizes", "stored")}
        return cls(
            **values | {"data": values["data"] and Path(values["data"]), "folder": Path(values["folder"])}
        )


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound for our figure, or for how many times better it is than the peer's (*ratio*)."""

    bound: float
    ratio: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure, ours and perhaps a peer's on the same input: a value for each repeat, in the same order."""

    work: str
    #: How many documents it was measured with, or were stored; 0 if that has no influence.
    size: int
    #: Of time or space, less is better; of rates (``…/s``), more.
    unit: str
    ours: tuple[float, ...]
    peer: str = ""
    theirs: tuple[float, ...] = ()
    goal: Goal | None = None
    note: str = ""

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s") or self.unit == "×"

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times better we are, repeat by repeat."""
        pairs = zip(self.ours, self.theirs, strict=False)
        return tuple(a / b if self.more_is_better else b / a for a, b in pairs)

    @property
    def outcome(self) -> Literal["", "met", "missed", "unclear"]:
        """Whether both quartiles are on the right side of the goal, or none."""
        if self.goal is None:
            return ""
        values = self.ratios if self.goal.ratio else self.ours
        if not values:
            return "unclear"
        low, _, high = quartiles(values)
        if self.goal.ratio or self.more_is_better:
            passed = [low >= self.goal.bound, high >= self.goal.bound]
        else:
            passed = [low <= self.goal.bound, high <= self.goal.bound]
        return "met" if all(passed) else "unclear" if any(passed) else "missed"

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> Finding:
        known = {field.name: values[field.name] for field in fields(cls)}
        goal = known["goal"]
        known["goal"] = Goal(**goal) if isinstance(goal, dict) else None
        known |= {name: tuple(known[name]) for name in ("ours", "theirs")}  # type: ignore[arg-type]
        return cls(**known)  # type: ignore[arg-type]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def spread(values: Sequence[float]) -> float:
    """Return interquartile range over median."""
    low, middle, high = quartiles(values)
    return abs((high - low) / middle) if middle else 0.0


def interleave(repeats: int, tasks: dict[str, Callable[[], T]]) -> dict[str, tuple[T, ...]]:
    """Run all *tasks* in turn, *repeats* times, forwards and backwards; returns what each returned."""
    values: dict[str, list[T]] = {name: [] for name in tasks}
    for repeat in range(repeats):
        for name in list(tasks) if repeat % 2 == 0 else reversed(tasks):
            gc.collect()
            values[name].append(tasks[name]())
    return {name: tuple(found) for name, found in values.items()}


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that *work* takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

"""The ledger: a JSON line for every round that was done, so that a run can go on where it stopped."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Entry:
    """One round. *date* is a day as YYYY-MM-DD; *commit* ends in ``+`` if files differed from it."""

    exercise: str
    seed: int
    counts: dict[str, int]
    violations: list[str]
    remarks: list[str]
    seconds: float
    date: str
    commit: str
    machine: str


class Ledger:
    """The rounds in the file *path*, which need not exist. A last line that is cut off counts as not there.

    A round that was done again stands for the one before it. New rounds have seeds from *first* on.
    """

    def __init__(self, path: Path, first: int = 1) -> None:
        self._path = path
        self._first = first
        self.entries = list(_read(path))

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        with self._path.open("a+b") as file:
            # The rest of a line that was cut off would spoil this one.
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.write(json.dumps(asdict(entry)).encode() + b"\n")

    def of(self, exercise: str) -> list[Entry]:
        """Return the rounds of *exercise*, each as it was done last."""
        return list({entry.seed: entry for entry in self.entries if entry.exercise == exercise}.values())

    def mended(self, exercise: str) -> list[Entry]:
        """Return the rounds in which a promise was broken, and which were done again since without that."""
        sound = {entry.seed for entry in self.of(exercise) if not entry.violations}
        return [
            entry
            for entry in self.entries
            if entry.exercise == exercise and entry.violations and entry.seed in sound
        ]

    def counts(self, exercise: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for entry in self.of(exercise):
            total.update(entry.counts)
        return total

    def next_seed(self, exercise: str) -> int:
        return max((entry.seed + 1 for entry in self.of(exercise)), default=self._first)

    def broken_seed(self, exercise: str, now: str) -> int | None:
        """Return the seed of a round that broke a promise at another commit than *now*; None if none did."""
        return next((each.seed for each in self.of(exercise) if each.violations and each.commit != now), None)


def _read(path: Path) -> Iterator[Entry]:
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        if line.endswith(b"\n"):
            yield Entry(**json.loads(line))


def commit() -> str:
    """Return the commit of the working tree, with a ``+`` if files differ from it; "unknown" without git."""
    command = ["git", "describe", "--always", "--abbrev=7", "--dirty=+"]
    try:
        found = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=Path(__file__).parent
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"

"""The ledger: a JSON line for every round that was done, so that a run can go on where it stopped."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
    """The rounds in the file *path*, which need not exist. A last line that is cut off is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.entries = list(_read(path))

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")

    def of(self, exercise: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.exercise == exercise]

    def counts(self, exercise: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for entry in self.of(exercise):
            total.update(entry.counts)
        return total

    def next_seed(self, exercise: str) -> int:
        return max((entry.seed for entry in self.of(exercise)), default=0) + 1


def _read(path: Path) -> Iterator[Entry]:
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        if line.endswith(b"\n"):
            yield Entry(**json.loads(line))


def commit() -> str:
    """Return the commit of the working tree, with a ``+`` if files differ from it; "unknown" without git."""
    command = ["git", "describe", "--always", "--dirty=+"]
    try:
        found = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"

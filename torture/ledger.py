"""The ledger: a JSON line for every round that was done here, so that a run can go on where it stopped."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .exercise import Entry
from .sums import Sum

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ledger:
    """The rounds in the file *path*, which need not exist, added to *sums*, those that were done before.

    A last line that is cut off counts as not there. New rounds have seeds from *first* on.
    """

    def __init__(self, path: Path, sums: defaultdict[str, Sum] | None = None, first: int = 1) -> None:
        self._path = path
        self._first = first
        self.sums = defaultdict(Sum) if sums is None else sums
        for entry in _read(path):
            self.of(entry.exercise).add(entry)

    def append(self, entry: Entry) -> None:
        self.of(entry.exercise).add(entry)
        with self._path.open("a+b") as file:
            # The rest of a line that was cut off would spoil this one.
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.write(json.dumps(asdict(entry)).encode() + b"\n")

    def of(self, exercise: str) -> Sum:
        """Return what the rounds of *exercise* came to."""
        return self.sums[exercise]

    def next_seed(self, exercise: str) -> int:
        return max(self._first, self.of(exercise).next_seed())

    def broken_seed(self, exercise: str, now: str) -> int | None:
        """Return the seed of a round that broke a promise at another commit than *now*; None if none did."""
        return next((each.seed for each in self.of(exercise).still_broken() if each.commit != now), None)


def _read(path: Path) -> Iterator[Entry]:
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        if line.endswith(b"\n"):
            yield Entry(**json.loads(line))


def commit() -> str:
    """Return the commit of the working tree; "unknown" without git.

    It ends in ``+`` if files differ from it, other than the page that a run writes and its sums.
    """
    found = _git("rev-parse", "--short=7", "HEAD")
    same = _git("diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/reliability.*")
    if found is None or found.returncode or same is None:
        return "unknown"
    return found.stdout.strip() + "+" * bool(same.returncode)


def _git(*arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run git in this folder; None if there is no such program."""
    try:
        return subprocess.run(
            ["git", *arguments], check=False, capture_output=True, text=True, cwd=Path(__file__).parent
        )
    except OSError:
        return None

"""One round, in this process: python -m torture.round MODULE SEED FOLDER."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .exercise import Exercise


def do_round(exercise: Exercise, seed: int, folder: Path) -> None:
    """Do a round, and leave its outcome in *folder*."""
    work = folder / "work"
    work.mkdir(exist_ok=True)  # a round may begin by putting another program into its process
    outcome = exercise.run(seed, work)
    found = {
        "counts": dict(outcome.counts),
        "violations": outcome.violations,
        "remarks": outcome.remarks,
    }
    (folder / "outcome.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    do_round(importlib.import_module(sys.argv[1]).EXERCISE, int(sys.argv[2]), Path(sys.argv[3]))

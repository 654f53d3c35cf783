"""Runs rounds, each in a process of its own, so that a crash or a hang is seen as what it is: a violation."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from .ledger import Entry, commit

if TYPE_CHECKING:
    from .exercise import Exercise

#: How many lines of what a dead round printed are kept.
TAIL = 12


def run_round(exercise: Exercise, seed: int) -> Entry:
    """Do the round of *seed* in a process group of its own; its outcome, whatever becomes of that process."""
    started = time.monotonic()
    command = [sys.executable, "-m", "torture", "round", exercise.name, str(seed)]
    with tempfile.TemporaryDirectory(prefix="neardup-torture-") as folder:
        process = subprocess.Popen(
            [*command, folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=3 * exercise.seconds + 30)
            died = f"the round ended with exit code {process.returncode}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            died = f"the round took more than {3 * exercise.seconds + 30:.0f} s"
            printed = ""
        finally:
            _end_group(process)
        outcome = Path(folder) / "outcome.json"
        found = json.loads(outcome.read_bytes()) if outcome.exists() and not died else {}
    if not found:
        tail = " | ".join(printed.splitlines()[-TAIL:])
        found = {"counts": {}, "violations": [f"{died or 'no outcome'}: {tail}"], "remarks": []}
    return Entry(
        exercise=exercise.name,
        seed=seed,
        **found,
        seconds=round(time.monotonic() - started, 1),
        date=date.today().isoformat(),
        commit=commit(),
        machine=machine(),
    )


def do_round(exercise: Exercise, seed: int, folder: Path) -> None:
    """Do a round in this process, and leave its outcome in *folder*."""
    work = folder / "work"
    work.mkdir()
    outcome = exercise.run(seed, work)
    found = {
        "counts": dict(outcome.counts),
        "violations": outcome.violations,
        "remarks": outcome.remarks,
    }
    (folder / "outcome.json").write_text(json.dumps(found), encoding="utf-8")


def again(entry: Entry) -> str:
    """Return the command that does the round of *entry* again."""
    return f"make torture ARGS='--only {entry.exercise} --seed {entry.seed}'"


def machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what the round has left running: it is the leader of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

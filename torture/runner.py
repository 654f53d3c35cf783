"""Runs rounds, each in a process of its own, so that a crash or a hang is seen as what it is: a violation."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exercise import Entry, busy
from .ledger import commit

if TYPE_CHECKING:
    from .exercise import Exercise

ROOT = Path(__file__).parent.parent
#: How many lines of what a dead round printed are kept.
TAIL = 12
#: A round gets so many seconds beyond three times what it should take, to start its process.
GRACE = 30.0
#: The folders of a file in a traceback say where this machine keeps it.
_FOLDERS = re.compile(r'File "[^"]*/')


def run_round(exercise: Exercise, seed: int, *, grace: float = GRACE) -> Entry:
    """Do the round of *seed* in a process group of its own; its outcome, whatever becomes of that process."""
    started, limit = time.monotonic(), (3 * exercise.seconds + grace) * busy()
    # A process that a round has left behind may write into the folder until it is ended.
    with tempfile.TemporaryDirectory(
        prefix="neardup-torture-", dir=_memory(), ignore_cleanup_errors=True
    ) as folder:
        printed, outcome = Path(folder, "printed"), Path(folder, "outcome.json")
        # A pipe would stay open as long as one process of the group lives, and end the round only then.
        with printed.open("wb") as output:
            died = _wait(_command(exercise, seed, folder), output, limit)
        if not died and not outcome.exists():
            died = "the round left no outcome"
        if died:
            lines = printed.read_text("utf-8", "replace").splitlines()[-TAIL:]
            tail = _FOLDERS.sub(r'File "', " | ".join(lines))
            found: dict[str, Any] = {
                "counts": {},
                "violations": [f"{died}: {tail}" if tail else died],
                "remarks": [],
            }
        else:
            found = json.loads(outcome.read_bytes())
    return Entry(
        exercise=exercise.name,
        seed=seed,
        **found,
        seconds=round(time.monotonic() - started, 1),
        ended=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"),
        commit=commit(),
        machine=machine(),
    )


def again(entry: Entry) -> str:
    """Return the command that does the round of *entry* again."""
    return f"make torture ARGS='--only {entry.exercise} --seed {entry.seed}'"


def machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def _command(exercise: Exercise, seed: int, folder: str) -> list[str]:
    return [sys.executable, "-m", "torture.round", exercise.run.__module__, str(seed), folder]


def _wait(command: list[str], output: object, limit: float) -> str:
    """Run *command* for at most *limit* seconds, then end its group; says how it ended, "" if well."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,  # type: ignore[call-overload]
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), *_paths())))},
        start_new_session=True,
    )
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"the round took more than {limit:.0f} s"
    finally:
        _end_group(process)
    if code < 0:
        return f"the round was killed by {signal.Signals(-code).name}"
    return f"the round ended with exit code {code}" if code else ""


def _memory() -> str | None:
    """Return a folder in memory, where files are synced at once, unless TMPDIR names another one."""
    return "/dev/shm" if "TMPDIR" not in os.environ and Path("/dev/shm").is_dir() else None


def _paths() -> list[str]:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what the round has left running: it is the leader of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

"""Runs rounds, each in a process of its own, so that a crash or a hang is seen as what it is: a violation.

That process is ``python -m torture.runner MODULE SEED FOLDER``; it leaves its outcome in FOLDER.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from .exercise import Round, busy

if TYPE_CHECKING:
    from .exercise import Exercise

ROOT = Path(__file__).parent.parent
#: How many lines of what a dead round printed are kept.
TAIL = 12
#: A round gets so many seconds beyond three times what it should take, to start its process.
GRACE = 30.0
#: The folders of a file in a traceback say where this machine keeps it.
_FOLDERS = re.compile(r'File "[^"]*/')


def run_round(exercise: Exercise, seed: int, *, grace: float = GRACE) -> tuple[Round, float]:
    """Do the round of *seed* in a process group of its own.

    Returns its outcome, whatever becomes of that process, and the seconds that it took.
    """
    started, limit = time.monotonic(), (3 * exercise.seconds + grace) * busy()
    # A process that a round has left behind may write into the folder until it is ended.
    with tempfile.TemporaryDirectory(
        prefix="neardup-torture-", dir=memory(), ignore_cleanup_errors=True
    ) as folder:
        printed, outcome = Path(folder, "printed"), Path(folder, "outcome.json")
        command = [sys.executable, "-m", "torture.runner", exercise.run.__module__, str(seed), folder]
        # A pipe would stay open as long as one process of the group lives, and end the round only then.
        with printed.open("wb") as output:
            died = _wait(command, output, limit)
        if not died and not outcome.exists():
            died = "the round left no outcome"
        if died:
            lines = printed.read_text("utf-8", "replace").splitlines()[-TAIL:]
            tail = _FOLDERS.sub(r'File "', " | ".join(lines))
            done = Round(violations=[f"{died}: {tail}" if tail else died])
        else:
            found = json.loads(outcome.read_bytes())
            done = Round(Counter(found["counts"]), found["violations"], found["remarks"])
    return done, time.monotonic() - started


def again(name: str, seed: int) -> str:
    """Return the command that does a round of the exercise *name* again."""
    return f"make torture ARGS='--only {name} --seed {seed}'"


def _wait(command: list[str], output: object, limit: float) -> str:
    """Run *command* for at most *limit* seconds, then end its group; says how it ended, "" if well."""
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,  # type: ignore[call-overload]
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"the round took more than {limit:.0f} s"
    finally:
        # What the round has left running ends with it: it is the leader of a process group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code < 0:
        return f"the round was killed by {signal.Signals(-code).name}"
    return f"the round ended with exit code {code}" if code else ""


def memory() -> str | None:
    """Return a folder in memory, where files are synced at once, unless TMPDIR names another one."""
    return "/dev/shm" if "TMPDIR" not in os.environ and Path("/dev/shm").is_dir() else None


def _do_round(module: str, seed: int, folder: Path) -> None:
    work = folder / "work"
    work.mkdir(exist_ok=True)  # a round may begin by putting another program into its process
    outcome: Round = importlib.import_module(module).EXERCISE.run(seed, work)
    (folder / "outcome.json").write_text(json.dumps(vars(outcome)), encoding="utf-8")


if __name__ == "__main__":
    _do_round(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))

"""The harness sees planted violations, and rounds that hang or die; it writes a table."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from torture import __main__ as command
from torture import runner
from torture.exercise import Exercise, Round, exercises

PLANTED = """
import os, signal, subprocess, sys, time
from collections import Counter
from torture.exercise import Exercise, Round

def run(seed, folder):
    (folder / "file").write_text("in an empty folder of its own")
    if seed == 2:
        return Round(Counter(tries=1), ["nothing is lost: 1 was lost"])
    if seed == 3:
        print("about to die", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 4:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open(os.environ["CHILD"], "w").write(str(child.pid))
        print("about to hang", flush=True)
        time.sleep(60)
    if seed == 5:
        raise ValueError("from within")
    return Round(Counter(tries=10))

EXERCISE = Exercise("planted", "Nothing is lost.", "It is tried.", run, seconds=0.1)
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    """An exercise in a module that the processes of its rounds find, too."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "planted_exercise.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    sys.modules.pop("planted_exercise", None)
    module: ModuleType = __import__("planted_exercise")
    found: Exercise = module.EXERCISE
    return found


def test_a_sound_round_and_a_broken_one(planted: Exercise) -> None:
    sound, broken = (runner.run_round(planted, seed)[0] for seed in (1, 2))
    assert sound == Round(Counter(tries=10))
    assert broken.violations == ["nothing is lost: 1 was lost"]


def test_a_round_that_dies(planted: Exercise) -> None:
    (violation,) = runner.run_round(planted, 3)[0].violations
    assert violation.startswith("the round was killed by SIGSEGV: about to die")
    (violation,) = runner.run_round(planted, 5)[0].violations
    assert violation.startswith("the round ended with exit code 1: ")
    assert violation.endswith("ValueError: from within")


def test_a_round_that_hangs_ends_with_all_that_it_has_started(planted: Exercise, tmp_path: Path) -> None:
    (violation,) = runner.run_round(planted, 4, grace=0.7)[0].violations
    assert re.fullmatch("the round took more than [0-9]+ s: about to hang", violation)
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and not _is_zombie(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_page(planted: Exercise, tmp_path: Path) -> None:
    done = command.Sum()
    done.add(1, Round(Counter(tries=1200)), 10)
    done.add(2, Round(Counter(tries=34), ["lost one"]), 10)
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{command.BEGIN}old\n{command.END}After.\n")
    for _ in range(2):
        command.write(page, [planted], {"planted": done})
        text = page.read_text()
        assert text.startswith(f"Before.\n{command.BEGIN}")
        assert text.endswith(f"{command.END}After.\n")
        assert "old" not in text
        assert "| `planted` | Nothing is lost. | It is tried. | 2 | 1,234 tries | 1 |" in text
        assert "- `make torture ARGS='--only planted --seed 2'`: lost one" in text


def test_all_exercises_are_found() -> None:
    for name, each in exercises().items():
        assert each.name == name
        assert each.run.__module__.startswith("torture.exercises.")

"""The harness sees planted violations, rounds that hang or die, and where it stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torture import runner
from torture.exercise import Entry, Exercise, Round, exercises
from torture.ledger import Ledger
from torture.page import BEGIN, END, write
from torture.session import rounds

if TYPE_CHECKING:
    from types import ModuleType

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
    return Round(Counter(tries=10), [], ["no compiler here"] * (seed == 6))

EXERCISE = Exercise("planted", "Nothing is lost.", "It is tried.", {"tries": 25}, run, seconds=0.1)
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


def entry(seed: int, **more: object) -> Entry:
    ended = "2026-01-01T10:00:00"
    return replace(Entry("planted", seed, {"tries": 10}, [], [], 1.0, ended, "abc", "2 cores"), **more)  # type: ignore[arg-type]


def test_a_sound_round_and_a_broken_one(planted: Exercise) -> None:
    sound, broken = (runner.run_round(planted, seed) for seed in (1, 2))
    assert (sound.counts, sound.violations) == ({"tries": 10}, [])
    assert broken.violations == ["nothing is lost: 1 was lost"]
    assert "--only planted --seed 2" in runner.again(broken)


def test_a_round_that_dies(planted: Exercise) -> None:
    (violation,) = runner.run_round(planted, 3).violations
    assert violation.startswith("the round was killed by SIGSEGV: about to die")
    (violation,) = runner.run_round(planted, 5).violations
    assert violation.startswith("the round ended with exit code 1: ")
    assert violation.endswith("ValueError: from within")


def test_a_round_that_hangs_ends_with_all_that_it_has_started(planted: Exercise, tmp_path: Path) -> None:
    (violation,) = runner.run_round(planted, 4, grace=0.7).violations
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


def test_goals_and_resuming(planted: Exercise, tmp_path: Path) -> None:
    """The full form goes on after the rounds in the ledger, and stops when the goals are reached."""
    path = tmp_path / "ledger"
    Ledger(path).append(entry(6, commit=runner.commit()))
    done = list(rounds([planted], Ledger(path), full=True))
    assert [each.seed for each in done] == [7, 8]
    assert Ledger(path).of("planted").total()[1] == {"tries": 30}
    assert list(rounds([planted], Ledger(path), full=True)) == []


def test_what_broke_at_another_commit_is_done_again(planted: Exercise, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for seed, said in ((6, ["lost"]), (7, []), (8, [])):
        Ledger(path).append(entry(seed, violations=said))
    (again,) = rounds([planted], Ledger(path), full=True)
    assert (again.seed, again.violations) == (6, [])
    done = Ledger(path).of("planted")
    assert done.broken == []
    assert done.total()[:2] == (3, {"tries": 30})
    assert [each.seed for each in done.mended] == [6]


def test_each_exercise_gets_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rounds are not begun that would end too late; each exercise has one at least, unless it is long."""
    clock = [0.0]

    def run_round(exercise: Exercise, seed: int) -> Entry:
        clock[0] += exercise.seconds
        return entry(seed, exercise=exercise.name, seconds=exercise.seconds)

    monkeypatch.setattr("torture.session.run_round", run_round)
    monkeypatch.setattr("torture.session.time.monotonic", lambda: clock[0])
    kinds = [
        Exercise(name, "", "", {}, lambda seed, folder: Round(), seconds, share)
        for name, seconds, share in (("small", 1, 1), ("large", 10, 2), ("huge", 100, 1))
    ]
    names = [each.exercise for each in rounds(kinds, Ledger(tmp_path / "a"), full=False, seconds=200)]
    assert names.count("huge") == 1
    assert names.count("large") in (6, 7)
    assert 30 <= names.count("small") <= 41
    names = [each.exercise for each in rounds(kinds, Ledger(tmp_path / "b"), full=False, seconds=5)]
    assert names == ["small", "large", "huge"]
    kinds[-1] = replace(kinds[-1], long=True)
    names = [each.exercise for each in rounds(kinds, Ledger(tmp_path / "c"), full=False, seconds=5)]
    assert names == ["small", "large"]


def test_a_ledger_whose_last_line_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for seed in (1, 2):
        Ledger(path).append(entry(seed))
    path.write_bytes(path.read_bytes()[:-20])
    book = Ledger(path)
    assert book.of("planted").seeds == {1}
    assert (book.next_seed("planted"), Ledger(path, first=50).next_seed("planted")) == (2, 50)
    book.append(entry(2))
    assert Ledger(path).of("planted").seeds == {1, 2}


def test_ctrl_c_ends_the_round_and_keeps_those_before(planted: Exercise, tmp_path: Path) -> None:
    script = (
        # What is started in the background by a shell ignores Ctrl-C.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import sys, importlib; from pathlib import Path; from torture.__main__ import _run;"
        "from torture.ledger import Ledger; from rich.console import Console;"
        "planted = importlib.import_module('planted_exercise').EXERCISE;"
        f"_run([planted], Ledger(Path({str(tmp_path / 'ledger')!r})), Console(), full=False, seconds=100)"
    )
    Ledger(tmp_path / "ledger").append(entry(3))
    environment = {**os.environ, "PYTHONPATH": f"{runner.ROOT}{os.pathsep}{os.environ['PYTHONPATH']}"}
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 20
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Stopped; the next run goes on from here." in printed
    child = int((tmp_path / "child").read_text())
    assert not Path(f"/proc/{child}").exists() or _is_zombie(child)
    assert Ledger(tmp_path / "ledger").of("planted").seeds == {3}


def test_the_page(planted: Exercise, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger")
    for number, (seed, said) in enumerate(
        ((1, []), (2, ["lost one"]), (2, []), (3, ["lost two", "and more"]))
    ):
        ended = f"2026-01-0{number + 1}T10:00:00"
        book.append(entry(seed, violations=said, remarks=["no compiler"] * (seed == 1), ended=ended))
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{BEGIN}old\n{END}After.\n")
    for _ in range(2):
        write(page, [planted], book)
        text = page.read_text()
        assert text.startswith(f"Before.\n{BEGIN}")
        assert text.endswith(f"{END}After.\n")
        assert "old" not in text
        assert "| `planted` | Nothing is lost. | It is tried. | 30 tries | 25 tries | 2 |" in text
        assert "lost one: `make torture ARGS='--only planted --seed 2'`" in text.partition("mended:")[2]
        assert "lost two (and 1 more): `make" in text.partition("Broken:")[2].partition("mended:")[0]
        assert "| `planted` | 3 | 0.00 | 2026-01-01 to 2026-01-04 | abc | 2 cores |" in text
        assert "- planted: no compiler" in text


def test_all_exercises_are_found() -> None:
    for name, each in exercises().items():
        assert each.name == name
        assert each.run.__module__.startswith("torture.exercises.")
        assert each.goals

"""The exercises see a package that breaks its promises: one that forgets, or raises what it may not."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.index import LmdbIndex
from tests.index.conformance import HEADER
from torture.children import isolated
from torture.exercises.faults import Trial
from torture.exercises.model import Model, Wrong
from torture.kills.index import promised


class Forgetful(LmdbIndex):
    """Files all but the first of many documents."""

    def add(self, documents: Any) -> Any:
        return super().add(documents.take(slice(1, None)) if len(documents.urls) > 1 else documents)


def steps(index: type[LmdbIndex], path: Path) -> None:
    model = Model("lmdb", HEADER, lambda: index(path, HEADER), random.Random(1))
    for _ in range(400):
        model.step()


def test_a_store_that_forgets(tmp_path: Path) -> None:
    steps(LmdbIndex, tmp_path / "sound")
    with pytest.raises(Wrong, match=r"missing|in the place of"):
        steps(Forgetful, tmp_path / "forgetful")


def test_an_error_that_is_not_of_the_package(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    assert not trial.attempt(lambda: {}["gone"])
    assert trial.raw == ["KeyError('gone')"]
    assert not trial.command("check")
    assert len(trial.raw) == 1


@pytest.mark.parametrize(("gap", "certain"), [(0.05, True), (5.0, False)], ids=["at work", "starved"])
def test_what_a_killed_writer_must_have_kept(gap: float, certain: bool, tmp_path: Path) -> None:
    """What it confirmed long ago is certain only if it was at work since, and not kept from the processor."""
    log = tmp_path / "log"
    times = [1000.0, *(1001 + gap * turn for turn in range(40 if certain else 4))]
    acts = ["flushed 1", "added 2", "confirmed 3", *("confirmed 4" for _ in times[3:])]
    log.write_text("".join(f"{when} {act}\n" for when, act in zip(times, acts, strict=True)) + "1900 conf")
    assert promised(log) == ({2, 3, 4} if certain else {2})
    log.write_text("1000.0 confirmed 1\n1000.0 flushed 2\n1000.0 confirmed 3\n")
    assert promised(log) == {1}
    assert promised(tmp_path / "none") == set()


def test_children_that_die() -> None:
    assert isolated(lambda: 5) == (5, "")
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGKILL)).died == "killed by SIGKILL"
    assert isolated(lambda: os._exit(3)).died == "ended with exit code 3"
    assert isolated(lambda: signal.pause(), 0.1).died == "hung"
    assert isolated(lambda: 1 / 0).died.startswith("ZeroDivisionError")

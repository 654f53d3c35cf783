"""The exercises see a package that breaks its promises: one that forgets, or raises what it may not."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.index import MemoryIndex
from scrapy_neardup.index.conformance import HEADER
from torture.children import isolated
from torture.exercises.faults import Trial
from torture.exercises.model import Model, Side, Wrong

if TYPE_CHECKING:
    from pathlib import Path


class Forgetful(MemoryIndex):
    """Files all but the first of many documents."""

    def add(self, documents: Any) -> Any:
        return super().add(documents.take(slice(1, None)) if len(documents.urls) > 1 else documents)


def steps(index: type[MemoryIndex]) -> None:
    model = Model("memory", HEADER, [Side(lambda: index(HEADER))], random.Random(1))
    for _ in range(400):
        model.step()


def test_a_store_that_forgets() -> None:
    steps(MemoryIndex)
    with pytest.raises(Wrong, match="missing"):
        steps(Forgetful)


def test_an_error_that_is_not_of_the_package(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    assert not trial.attempt(lambda: {}["gone"])
    assert trial.raw == ["KeyError('gone')"]
    assert not trial.command("check")
    assert len(trial.raw) == 1


def test_children_that_die() -> None:
    assert isolated(lambda: 5) == (5, "")
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGKILL)).died == "killed by SIGKILL"
    assert isolated(lambda: os._exit(3)).died == "ended with exit code 3"
    assert isolated(lambda: signal.pause(), 1).died == "hung"
    assert isolated(lambda: 1 / 0).died.startswith("ZeroDivisionError")

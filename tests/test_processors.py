"""As many processes work at once as there is the time of processors for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.options import DetectionOptions
from scrapy_neardup.processors import processors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine have eight processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("limit", "count"),
    [("max 100000\n", 8), ("150000 100000\n", 2), ("1600000 100000\n", 8), ("1000 100000\n", 1), ("odd", 8),
     ("5 0", 8)],
)  # fmt: skip
def test_a_container_gets_as_many_as_it_has_time_of(tmp_path: Path, limit: str, count: int) -> None:
    (tmp_path / "cpu.max").write_text(limit)
    assert processors(tmp_path / "cpu.max") == count


def test_the_settings_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.options.processors", lambda: 5)
    assert DetectionOptions().processes == 5
    assert DetectionOptions(workers=3).processes == 3

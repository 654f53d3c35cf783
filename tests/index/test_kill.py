"""kill -9 at any moment: the index opens, is consistent, and lacks at most the last second."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.index import LmdbIndex
from torture.exercise import Round
from torture.kills import index as kills

from .consistency import check
from .small import HEADER, SMALL

pytestmark = pytest.mark.slow


def test_killed_at_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One index, opened again after each kill, and several processes at once."""
    monkeypatch.setattr(kills, "BUDGET", 10.0)
    outcome = Round()
    kills.writers(random.Random(1), tmp_path, outcome)
    assert outcome.violations == []
    assert outcome.counts["kills of writers"] > 5
    for path in tmp_path.glob("index*"):
        with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
            check(index)
            index.compact()  # flushing, merging and sweeping what was left half done
            check(index)

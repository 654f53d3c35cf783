"""Pages that were flipped, zeroed, exchanged, overwritten: an error or the right answer, never a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.index import LmdbIndex

from .small import HEADER, documents

pytestmark = pytest.mark.slow

DAMAGE_EACH = Path(__file__).with_name("damage_each.py")
SEEDS = range(40)


def test_damaged_anywhere(tmp_path: Path) -> None:
    """In processes of their own, which LMDB could end. Where `check` is silent, all answers are right."""
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        for start in (0, 100, 200):
            numbers = range(start, start + 100)
            index.add(documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers]))
            index.discard([start + 3, start + 50])
            if start < 200:
                index.compact()
    done = subprocess.run(
        [sys.executable, str(DAMAGE_EACH), str(path), str(tmp_path / "copies"), *map(str, SEEDS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(SEEDS)
    assert [outcome for outcome in outcomes if outcome[2]] == []

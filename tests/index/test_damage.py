"""Pages flipped, zeroed, exchanged, overwritten, cut off: an error or the right answer, never a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.index import LmdbIndex

from .small import HEADER, documents

DAMAGE_EACH = Path(__file__).with_name("damage_each.py")
SEEDS = range(40)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with two runs and a log, and removed documents in each."""
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        for start in (0, 100, 200):
            numbers = range(start, start + 100)
            index.add(documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers]))
            index.discard([start + 3, start + 50])
            if start < 200:
                index.compact()
    return path


def outcomes(path: Path, *kinds: object) -> list[tuple[str, str, object]]:
    """What came of copies that were damaged, used in processes of their own, which LMDB could end."""
    command = [sys.executable, str(DAMAGE_EACH), str(path), str(path.parent / "copies"), *map(str, kinds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(kinds)
    return found


@pytest.mark.slow
def test_damaged_anywhere(path: Path) -> None:
    """Where `check` is silent, all answers are right."""
    assert [outcome for outcome in outcomes(path, *SEEDS) if outcome[2]] == []


def test_truncated_anywhere(path: Path) -> None:
    """A read past the end of the file would be a SIGBUS."""
    whole, page = (path / "data.mdb").stat().st_size, os.sysconf("SC_PAGESIZE")
    sizes = sorted({*range(0, whole, page), *range(0, 3 * page, 997), whole - 1})
    *cut, left = outcomes(path, *(f"cut:{size}" for size in (*sizes, whole)))
    assert left[2] == []
    assert [outcome for outcome in cut if outcome[2] != ["IndexCorrupted"]] == []
    assert len(cut) > 20

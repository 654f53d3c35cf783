"""kill -9 at any moment: the index opens, is consistent, and lacks at most the last second."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from scrapy_neardup.index import LmdbIndex

from .consistency import check
from .small import HEADER, SMALL, note_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

ADDER = Path(__file__).with_name("adder.py")
KILLS = int(os.environ.get("NEARDUP_KILLS", "30"))


class Adder:
    """A process that adds documents and says so."""

    nursery: ClassVar[subprocess.Popen[str]]

    def __init__(self, index: Path, first: int, log: Path, mode: str = "mixed") -> None:
        self.log = log
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        self.nursery.stdin.write(f"{index} {first} {log} {mode}\n")
        self.nursery.stdin.flush()
        self._pid = int(self.nursery.stdout.readline())
        self.wait("merging" if mode == "slow-merge" else "open")

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(self._pid, 0)
                time.sleep(0.001)

    def finish(self) -> None:
        """Let it close the index."""
        os.kill(self._pid, signal.SIGTERM)
        self.wait("closed")

    def said(self) -> Iterator[tuple[float, str, int]]:
        """Time, what, and of which document; a last line that was cut off is left out."""
        for line in self.log.read_text().split("\n")[:-1]:
            when, what, number = line.split()
            yield float(when), what, int(number)

    def wait(self, what: str) -> None:
        end = time.monotonic() + 20
        while not (self.log.exists() and f" {what} " in self.log.read_text()):
            assert time.monotonic() < end
            os.kill(self._pid, 0)
            time.sleep(0.002)


def missing(index: LmdbIndex, numbers: set[int]) -> set[int]:
    """Return those of *numbers* whose documents are not found by their URLs, each with its own note."""
    _, stored = index.retrieve(1, np.array(sorted(numbers), np.uint64))
    whole = zip(stored.urls, stored.notes, strict=True)
    return numbers - {int(url[1:]) for url, note in whole if note == note_of(url)}


@pytest.fixture(autouse=True, scope="module")
def nursery() -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, str(ADDER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as Adder.nursery:
        yield
        assert Adder.nursery.stdin is not None
        Adder.nursery.stdin.close()


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """One index, opened again after each kill; now and then two processes at once."""
    dice = random.Random(1)
    kept: set[int] = set()
    for kill in range(KILLS):
        adders = [
            Adder(tmp_path / "index", 1_000_000 * (2 * kill + which), tmp_path / f"{kill}-{which}")
            for which in range(1 + (kill % 4 == 3))
        ]
        # Most kills hit the busy first moments; some wait until confirmed documents have to be on disk
        # unasked.
        time.sleep(dice.uniform(0, 0.15) if kill % 10 else dice.uniform(1.2, 1.6))
        at = time.time()
        for adder in adders:
            adder.kill()
        for adder in adders:
            flushed = -1
            for when, what, number in adder.said():
                if what == "flushed":
                    flushed = number
                if what == "added" or (what == "confirmed" and when < at - 1):
                    kept.add(number)
            kept |= {number for _, what, number in adder.said() if what == "confirmed" and number <= flushed}
        if kill % 5 == 4 or kill == KILLS - 1:
            with closing(LmdbIndex(tmp_path / "index", HEADER, tuning=SMALL)) as index:
                check(index)
                assert not missing(index, kept)
                # flushing, merging and sweeping what was left half done
                index.compact()
                check(index)
                with index.reading() as reader:
                    live = {run.id for run in reader.state.runs}
                with index._environment.read() as transaction:
                    keys = transaction.cursor(index._environment.databases["runs"]).iternext(values=False)
                    assert {int.from_bytes(key[:4], "big") for key in keys} <= live
                assert not missing(index, kept)
    assert len(kept) > KILLS


def test_killed_during_a_merge_the_other_goes_on_and_sweeps(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path / "index", HEADER, tuning=SMALL)) as index:
        slow = Adder(tmp_path / "index", 0, tmp_path / "slow", "slow-merge")
        other = Adder(tmp_path / "index", 1_000_000, tmp_path / "other")
        time.sleep(0.5)  # it cannot merge meanwhile, but adds
        assert {what for _, what, _ in other.said()} >= {"added", "flushed"}
        with index._environment.read() as transaction:
            keys = transaction.cursor(index._environment.databases["runs"]).iternext(values=False)
            orphaned = max(int.from_bytes(key[:4], "big") for key in keys)
        slow.kill()
        time.sleep(0.3)
        other.finish()
        with index.reading() as reader:
            assert orphaned not in {run.id for run in reader.state.runs}
            assert len(reader.state.runs) <= 8
        with index._environment.read() as transaction:
            keys = transaction.cursor(index._environment.databases["runs"]).iternext(values=False)
            assert orphaned not in {int.from_bytes(key[:4], "big") for key in keys}
        check(index)
        assert not missing(
            index,
            {number for adder in (slow, other) for _, what, number in adder.said() if what == "added"}
            | {number for _, what, number in other.said() if what == "confirmed"},
        )

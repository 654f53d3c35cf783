"""Clocks that stand wrong, go back, or leap: before 1970, after 2106, while a window runs."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy_neardup import clock
from scrapy_neardup.index import LmdbIndex
from tests.index.small import HEADER, SMALL
from torture import shim
from torture.children import isolated
from torture.exercise import Exercise, Round, in_time
from torture.kills.index import missing, problems, store

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0
WINDOW = 30 * DAY
TUNING = replace(SMALL, group_seconds=0.01)
STEPS = 60


def run(seed: int, folder: Path) -> Round:
    if remark := shim.without():
        return remark
    outcome, began = Round(), time.time()
    for number in in_time(range(8), EXERCISE.seconds):
        dice = random.Random(f"{seed} {number}")
        seen = isolated(partial(on_disk, folder / f"index{number}", dice, began), 60)
        outcome.violations += seen.wrong
        outcome.counts["leaps of the clock"] += STEPS
    return outcome


def leap(dice: random.Random, now: float) -> float:
    """Return where the clock goes from *now*, in seconds since 1970; mostly on, as clocks do."""
    leaps = [now + seconds for seconds in (1, DAY, 40 * DAY, -5, -DAY, -400 * DAY)]
    return dice.choice([*leaps, -1e8, -1.0, 0.0, 4.3e9, 1.7e9])


def on_disk(path: Path, dice: random.Random, began: float) -> list[str]:
    """Store under a clock that leaps; returns what went that should not have gone, and what hung.

    A document may go once its time is over 30 days before the latest that the clock has said.
    """
    wrong, times = list[str](), dict[int, int]()
    now, number, newest = began, 0, clock.now()
    index = LmdbIndex(path, HEADER, window=WINDOW, tuning=TUNING)
    for _ in range(STEPS):
        now = leap(dice, now)
        shim.set_clock(now - began)
        said = clock.now()
        if not 0 <= said < 1 << 32:
            wrong.append(f"the clock says {said}")
        for _ in range(dice.choice((1, 5, 20))):
            number += 1
            store(index, number, number * 7919, said)
            times[number] = said
        newest = max(said, newest, clock.now())
        started = time.monotonic()
        index.flush()
        if dice.random() < 0.2:
            index.close()
            index = LmdbIndex(path, HEADER, window=WINDOW, tuning=TUNING)
        if time.monotonic() - started > 15:
            wrong.append(f"{time.monotonic() - started:.0f} s to flush after a leap to {now:.0f}")
        if lost := missing(index, {n for n, stored in times.items() if stored >= newest - WINDOW}):
            wrong.append(f"{len(lost)} documents have gone before their time, such as {min(lost)}")
            break
    wrong += problems(index, set())
    index.close()
    return wrong


EXERCISE = Exercise(
    name="clocks",
    promise="A clock that is wrong or leaps loses no document before its time is over, and stops nothing.",
    how="The clock of the process is set forward, back, before 1970 and after 2106 while documents "
    "are filed, confirmed and expire: a window of 30 days.",
    run=run,
    seconds=30,
    share=0.5,
)

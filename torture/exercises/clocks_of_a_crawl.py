"""Crawls one after another into one index, each under a clock that is wrong, and leaps while it runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scrapy_neardup import Detector
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.check import check
from torture.clock_crawl import STORIES
from torture.exercise import Exercise, Round

#: Crawls of a round, and seconds that one may take: it takes some 5, and 40 where ten others want to run.
CRAWLS, SECONDS = 3, 110.0
DAY, YEAR = 86_400.0, 365.25 * 86_400.0
#: Where libfaketime may be.
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


def run(seed: int, folder: Path) -> Round:
    outcome, dice = Round(), random.Random(seed)
    stored: set[str] = set()
    for number in range(CRAWLS):
        leaps = _leaps(dice)
        real = bool(LIBRARIES) and dice.random() < 0.5
        what = f"crawl {number} ({'libfaketime' if real else 'replaced'}, {leaps})"
        found = _crawl(folder, seed * CRAWLS + number, leaps, real=real)
        if isinstance(found, str):
            outcome.violations.append(f"{what} {found}")
            break
        outcome.counts["crawls"] += 1
        outcome.counts["leaps"] += len(leaps)
        outcome.counts["crawls under libfaketime"] += real
        stored |= set(found["stored"])
        outcome.violations += [f"{what}: {url} was lost" for url in found["lost"]]
        if found["errors"]:
            outcome.violations.append(f"{what}: the package counts {found['errors']}")
        for url, match in found["matches"].items():
            if url not in found["stored"] and match not in stored:
                outcome.violations.append(f"{what}: {url} was dropped for {match}, which was never stored")
        kept = {url.rsplit("/", 1)[1] for url in stored}
        if len(kept) < STORIES:
            outcome.violations.append(f"{what}: only {len(kept)} of {STORIES} stories were stored")
        with Detector.open(folder / "index") as detector:
            assert isinstance(detector.index, LmdbIndex)
            outcome.violations += [f"{what}: {problem}" for problem in check(detector.index)]
    return outcome


def _leaps(dice: random.Random) -> list[tuple[float, float]]:
    """Return when the clock leaps, in seconds since the start, and how far off it is from then on."""
    offsets = [0.0, -DAY, DAY, -YEAR, 40 * DAY, -66 * YEAR, 95 * YEAR, -0.5, 3600.0, 12 * YEAR]
    times = [0.0, *sorted(dice.uniform(0.5, 5) for _ in range(dice.randint(0, 6)))]
    return [(round(at, 2), dice.choice(offsets)) for at in times]


def _crawl(folder: Path, seed: int, leaps: list[tuple[float, float]], *, real: bool) -> dict[str, Any] | str:
    out, clock = folder / f"{seed}.json", folder / f"{seed}.clock"
    command = [sys.executable, "-m", "torture.clock_crawl", str(folder / "index"), str(out), str(seed)]
    command += [json.dumps(leaps), *([] if real else ["--here"])]
    environment = dict(os.environ)
    if real:
        _set(clock, leaps[0][1])
        environment |= {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_CACHE_DURATION": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    began, left = time.monotonic(), leaps[1:]
    while process.poll() is None and time.monotonic() - began < SECONDS:
        while real and left and left[0][0] <= time.monotonic() - began:
            _set(clock, left.pop(0)[1])
        time.sleep(0.02)
    if process.poll() is None:
        process.send_signal(signal.SIGABRT)  # it prints what its threads do
        try:
            printed, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
        return f"hung for {SECONDS:.0f} s: {printed[-2000:]}"
    printed, _ = process.communicate()
    if process.returncode or not out.exists():
        return f"ended with {process.returncode}: {printed[-500:]}"
    return dict(json.loads(out.read_bytes()))


def _set(clock: Path, offset: float) -> None:
    """Have libfaketime be off by so many seconds from now on."""
    new = clock.with_suffix(".new")
    new.write_text(f"{offset:+.1f}\n", "ascii")
    new.replace(clock)


EXERCISE = Exercise(
    name="clocks-of-a-crawl",
    promise="Whatever the clock of the machine says, no page is lost, no crawl hangs, and the index stays "
    "whole.",
    how="Crawls one after another into one index with a window of 30 days, under clocks that are wrong by "
    "seconds to 95 years, before 1970 and after 2106 too, and leap while the crawl runs.",
    goals={"crawls": 400, "leaps": 1000},
    run=run,
    seconds=60,
)

"""Audits and crawls are killed, and begun again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup import Detector
from scrapy_neardup.audit import audit
from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.matching.records import find_urls
from tests.promises.site import Site, story
from torture.children import Child, isolated
from torture.exercise import Round, busy, in_time

from . import BUDGET

if TYPE_CHECKING:
    import random

#: Beside the second that may be forgotten, so long may a machine take to write that does nothing else.
LEEWAY = 3.0


def audits(dice: random.Random, folder: Path, outcome: Round) -> None:
    """An audit that is killed and begun again finds what one finds that nobody killed."""
    feed = folder / "feed.jl"
    rows = ({"url": f"https://a{n % 7}.example/{n}", "text": story(n // 2)} for n in range(120))
    feed.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def work(out: Path) -> None:
        audit(feed, out, seed=1, workers=1).close()

    began = time.monotonic()
    whole = isolated(partial(work, folder / "whole"), 60)
    took = time.monotonic() - began
    if whole.died:
        outcome.violations.append(f"an audit failed: {whole.died}")
        return
    for number in in_time(range(3), BUDGET):
        out = folder / f"out{number}"
        for _ in range(8):
            if not (killed := Child(partial(work, out)).killed_after(dice.random() * took * 0.6)):
                break
            outcome.counts["kills of audits"] += killed
        last = isolated(partial(work, out), 60)
        if last.died or results(out) != results(folder / "whole"):
            outcome.violations.append(f"audit {number}: {last.died or 'other results'}")


def results(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.jsonl")}


def crawls(dice: random.Random, folder: Path, outcome: Round) -> None:
    """Crawls with a JOBDIR are killed; a last one, without it, has every story in the end.

    A job that has ended is followed by another one: it has nothing left to be killed at.
    """
    stories, items, script = 120, folder / "items", Path(__file__).parents[2] / "tests/promises/crawl.py"
    with Site() as site:
        command = [sys.executable, str(script), site.url, str(stories), str(folder / "index"), str(items)]
        job = folder / "job"
        for number in in_time(range(6), BUDGET):
            size = items.stat().st_size if items.exists() else 0
            with subprocess.Popen([*command, str(number), str(job)], stdout=subprocess.DEVNULL) as process:
                deadline = time.monotonic() + 20
                while process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                    if items.exists() and items.stat().st_size > size:
                        break
                time.sleep(dice.uniform(0, 1.0))
                outcome.counts["kills of crawls"] += process.poll() is None
                process.kill()
            if process.returncode == 0:
                job = folder / f"job{number}"
            killed = time.time()
            lines = items.read_bytes()[size:].split(b"\n")[:-1] if items.exists() else []
            stored = {
                row["url"] for row in map(json.loads, lines) if row["time"] < killed - 1 - LEEWAY * busy()
            }
            seen = isolated(partial(crawled, folder / "index", stored))
            outcome.violations += [f"crawl {number}: {each}" for each in seen.wrong]
        done = subprocess.run([*command, "99"], stdout=subprocess.DEVNULL, timeout=60 * busy(), check=False)
    found = {json.loads(line)["story"] for line in items.read_bytes().split(b"\n")[:-1]}
    if done.returncode or found != set(range(stories)):
        outcome.violations.append(f"exit code {done.returncode}, {stories - len(found)} stories are lost")


def crawled(path: Path, urls: set[str]) -> list[str]:
    with Detector.open(path) as detector:
        wrong = [f"check: {problem.where}: {problem.what}" for problem in check(detector.index)]  # type: ignore[arg-type]
        forgotten = [url for url in sorted(urls) if not find_urls(detector.index, [url])[0]]
        return wrong + [f"{len(forgotten)} are forgotten, such as {url}" for url in forgotten[:1]]

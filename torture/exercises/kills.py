"""kill -9 at random moments: writers, commands, audits, crawls, a Redis server and its clients."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.audit import audit
from scrapy_neardup.cli import main
from scrapy_neardup.index import LmdbIndex, open_index
from scrapy_neardup.index.lmdb.check import check
from scrapy_neardup.index.redis.admin import find_problems
from scrapy_neardup.matching.records import find_urls
from tests.index.adder import add
from tests.index.redis_server import RedisServer, server_program
from tests.index.small import HEADER, SMALL, documents
from tests.promises.site import Site, story
from torture.children import isolated
from torture.exercise import Exercise, Round, busy, in_time

if TYPE_CHECKING:
    from collections.abc import Callable

#: Beside the second that may be forgotten, so long may a machine take to write that does nothing else.
LEEWAY = 3.0
#: If a writer notes nothing for longer, it waits for a processor, or for others that do.
TURN = 0.1
#: A round begins nothing new after so many seconds.
BUDGET = 60.0


class Child:
    """A fork of this process that does *work*, silently, until it is killed."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.pid = os.fork()
        if not self.pid:
            with contextlib.suppress(BaseException):
                nothing = os.open(os.devnull, os.O_RDWR)
                for number in range(3):
                    os.dup2(nothing, number)
                work()
                os._exit(0)
            os._exit(1)

    def kill(self) -> bool:
        """Kill it; returns whether it was still at work."""
        os.kill(self.pid, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(self.pid, 0)[1])

    def killed_after(self, seconds: float) -> bool:
        """Kill it after so many *seconds*, unless it ends before; returns whether it was killed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            time.sleep(0.002)
        return self.kill()


def missing(index: Any, numbers: set[int]) -> set[int]:
    """Return those of *numbers* whose documents are not found by their URLs."""
    keys = np.array(sorted(numbers), np.uint64)
    return numbers - set(keys[index.search(1, keys).query].tolist())


def sound(path: Path, kept: set[int]) -> list[str]:
    """Return what is wrong with an index that has to hold *kept*."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        wrong = [f"check: {problem.where}: {problem.what}" for problem in check(index)]
        lost = missing(index, kept)
        return wrong + [f"{len(lost)} documents are lost, such as {each}" for each in [*lost][:1]]


def promised(log: Path) -> set[int]:
    """Return the documents that a writer that was killed has on disk for certain, by its *log*.

    What was confirmed is there once the writer has been at work for longer than may be forgotten. It is at
    work when it notes something, so what it waits between two notes counts as one turn at most.
    """
    said = [line.split() for line in log.read_text().split("\n")[:-1]] if log.exists() else []
    flushed = max((int(number) for _, what, number in said if what == "flushed"), default=-1)
    found, at_work, later = set(), 0.0, 0.0
    for when, what, number in reversed(said):
        at_work += min(TURN, max(0.0, later - float(when)))
        later = float(when)
        if what == "added" or (what == "confirmed" and (int(number) <= flushed or at_work > 1.5)):
            found.add(int(number))
    return found


def writers(dice: random.Random, folder: Path, outcome: Round) -> None:
    """2 to 8 processes file documents; some are killed while the others go on, then all."""
    kept: set[int] = set()
    first = 0
    for batch in in_time(range(60), BUDGET):
        if batch % 6 == 0:  # a larger index takes longer to check
            path, kept = folder / f"index{batch}", set()
        children = []
        for number in range(dice.randint(2, 8)):
            first += 1_000_000
            log = folder / f"{batch}-{number}"
            children.append((Child(partial(add, path, first, str(log), "mixed")), log))
        # Only after seconds there is something that was neither flushed nor confirmed just now.
        time.sleep(4 if batch % 12 == 11 else dice.choice((0, 0.02, 0.1, 0.4)) * dice.random())
        for child, log in children:
            time.sleep(dice.choice((0, 0, 0.01, 0.05)) * dice.random())
            outcome.counts["kills of writers"] += child.kill()
            kept |= promised(log)
        seen = isolated(partial(sound, path, kept))
        outcome.violations += [f"batch {batch}: {what}" for what in seen.wrong]
        if outcome.violations:
            return


def commands(dice: random.Random, folder: Path, outcome: Round) -> None:
    """`compact` and `prune` are killed, at the beginning, in the middle, at the end."""
    kept: set[int] = set()
    for number in in_time(range(120), BUDGET):
        if number % 20 == 0:
            path, kept = folder / f"index{number}", set()
            isolated(partial(fill, path, number))
            kept |= {*range(100 * number, 100 * number + 300)}
        name = dice.choice((["compact"], ["compact"], ["prune", "--older-than", "20000"]))
        command = ["index", name[0], str(path), *name[1:]]
        child = Child(partial(main, command, standalone_mode=False))
        outcome.counts["kills of commands"] += child.killed_after(dice.random() ** 2 * 0.3)
        seen = isolated(partial(sound, path, kept))
        outcome.violations += [f"{name[0]}, kill {number}: {each}" for each in seen.wrong]
        if outcome.violations:
            return


def fill(path: Path, number: int) -> None:
    """File 300 documents, and remove some others."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        for start in range(100 * number, 100 * number + 300, 30):
            urls = [f"u{each}" for each in range(start, start + 30)]
            index.add(documents([each * 7919 for each in range(start, start + 30)], urls))
        gone = index.add(documents([1, 2, 3], ["u900001", "u900002", "u900003"]))
        index.discard(gone.tolist())


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
    """Crawls with a JOBDIR are killed; a last one, without it, has every story in the end."""
    stories, items, script = 40, folder / "items", Path(__file__).parents[2] / "tests/promises/crawl.py"
    with Site() as site:
        command = [sys.executable, str(script), site.base, str(stories), str(folder / "index"), str(items)]
        for number in in_time(range(6), BUDGET):
            size = items.stat().st_size if items.exists() else 0
            with subprocess.Popen(
                [*command, str(number), str(folder / "job")], stdout=subprocess.DEVNULL
            ) as process:
                deadline = time.monotonic() + 20
                while process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                    if items.exists() and items.stat().st_size > size:
                        break
                time.sleep(dice.uniform(0, 1.0))
                outcome.counts["kills of crawls"] += process.poll() is None
                process.kill()
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


def server(dice: random.Random, folder: Path, outcome: Round) -> None:
    """Clients of a Redis server are killed, and the server, which syncs each command."""
    if server_program() is None:
        outcome.remarks.append("there is no redis-server here, so its store was left out")
        return
    redis = RedisServer(folder / "redis", "--appendonly", "yes", "--appendfsync", "always")
    redis.start()
    kept: set[int] = set()
    try:
        for batch in in_time(range(12), BUDGET):
            logs = [folder / f"{batch}-{number}" for number in range(dice.randint(2, 5))]
            children = [
                Child(partial(file_on, redis.url(), 1_000_000 * (10 * batch + number), log))
                for number, log in enumerate(logs)
            ]
            time.sleep(dice.uniform(0.05, 0.8))
            if batch % 3 == 2:
                redis.kill()
                outcome.counts["kills of the server"] += 1
            outcome.counts["kills of clients"] += sum([child.kill() for child in children])
            kept |= {int(each) for log in logs if log.exists() for each in log.read_text().split("\n")[:-1]}
            if batch % 3 == 2:
                redis.start()
            seen = isolated(partial(sound_on, redis.url(), kept, batch == 11), 60)
            outcome.violations += [f"batch {batch}: {each}" for each in seen.wrong]
    finally:
        redis.kill()


def file_on(url: str, number: int, log: Path) -> None:
    """File documents on a server, and note those that are flushed."""
    dice, file = random.Random(number), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    index = open_index(url, HEADER)
    while True:
        time.sleep(0.005)
        numbers = range(number, number + dice.choice((1, 3, 9)))
        number = numbers.stop
        index.add(documents([dice.getrandbits(64) for _ in numbers], [f"u{each}" for each in numbers]))
        index.flush()
        os.write(file, "".join(f"{each}\n" for each in numbers).encode())


def sound_on(url: str, kept: set[int], thorough: bool) -> list[str]:
    with closing(open_index(url, HEADER)) as index:
        wrong = list(find_problems(index))[:3] if thorough else []  # type: ignore[arg-type]
        lost = missing(index, kept)
        return wrong + [f"{len(lost)} documents are lost, such as {each}" for each in [*lost][:1]]


#: What the rounds do in turn: mostly what takes the least time for a kill.
MODES = (writers, commands, writers, server, writers, audits, writers, crawls)


def run(seed: int, folder: Path) -> Round:
    outcome = Round()
    MODES[seed % len(MODES)](random.Random(seed), folder, outcome)
    outcome.counts["kills"] = sum(n for what, n in outcome.counts.items() if what.startswith("kills of"))
    return outcome


EXERCISE = Exercise(
    name="kills",
    promise="kill -9 damages no index, and loses nothing that was flushed, nor what was confirmed over a "
    "second before.",
    how="At random moments: 2 to 8 writers on one index, `index compact` and `prune`, audits that go on when "
    "begun again, crawls with a JOBDIR, clients of a Redis server and the server. What each was told is in "
    "files beside; after each kill the index is checked and compared with them.",
    goals={"kills": 10_000, "kills of crawls": 100, "kills of audits": 100, "kills of the server": 100},
    run=run,
    seconds=BUDGET,
    share=2.0,
)

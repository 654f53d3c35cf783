"""Two crawls on one index, step by step in the order that the dice say: a seed does it again."""

from __future__ import annotations

import logging
import random
import shutil
import sys
import tempfile
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import click
import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import commands
from scrapy_neardup.index.protocol import Filing
from tests.index.conformance import HEADER, LOOKUPS, documents, urls_of
from tests.index.redis_server import running, server_program
from tests.index.small import SMALL
from torture.exercise import Exercise, Round, in_time
from torture.exercises.model import Wrong
from torture.runner import memory
from torture.scheduler import Scheduler, SharedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Fingerprints far from each other. All pages with one of these are near-duplicates.
CENTERS = (0, 0xFFFF << 24, 2**64 - 1)
TUNING = replace(SMALL, flush_documents=3, disk_wait_seconds=1e4, upkeep_retry_seconds=0.1)
#: How likely a call on a server is not done, or its answer is lost, in one race of four on a server.
LOST = 0.03


@dataclass(eq=False)
class Page:
    """What is known of a page from outside."""

    url: str
    center: int
    crawl: int
    #: "new": perhaps filed. "held": pending. "kept". "going": perhaps removed. "gone", or never filed.
    state: str = "new"
    #: Whether it is on disk, so that others see it; whether its lease was over, so others may be kept.
    written: bool = False
    lapsed: bool = False
    #: The crawls that cannot see it.
    hidden: set[int] = field(default_factory=set)
    replaces: list[Page] = field(default_factory=list)
    handle: Any = None


class Race:
    """Two crawls do random things to an index that each opens by *opened*; what must be true is checked.

    With *leap*, which has seconds pass on a server and returns whose leases are over, all is seen by all.
    """

    def __init__(
        self, seed: int, opened: Callable[[], Any], leap: Callable[[float], set[str]] | None = None
    ) -> None:
        self.dice = random.Random(seed)
        self.scheduler, self.opened, self.leap = Scheduler(self.dice), opened, leap
        self.pages, self.indexes, self.loses = list[Page](), list[Any](), False
        self.acts = [self.file] * 5 + [self.settle] * 4 + [self.flush, self.discard, self.add, self.pass_time]

    def crawl(self, me: int) -> None:
        self.indexes.append(index := self.opened())
        for _ in range(self.dice.randint(3, 9)):
            with suppress(*[IndexUnavailable] if self.leap else []):
                self.dice.choice(self.acts)(me, index)
        self.remove(me, self.held(me), index.close)

    def held(self, me: int) -> list[Page]:
        return [page for page in self.pages if page.state == "held" and page.crawl == me]

    def seen(self, me: int, center: int) -> list[Page]:
        """Return the pages with a fingerprint that a crawl surely sees."""
        return [
            page
            for page in self.pages
            if page.center == center and page.state in ("held", "kept") and not page.lapsed
            if self.leap or page.crawl == me or page.written
        ]

    def new(self, me: int) -> tuple[Page, Any]:
        page = Page(f"u{len(self.pages)}", self.dice.choice(CENTERS), me)
        self.pages.append(page)
        return page, documents([page.center ^ 1 << self.dice.randrange(64)], len(self.pages) - 1)

    def file(self, me: int, index: Any) -> None:
        """Reserve a page unless it meets others; it may be to replace these. Wait for one that is pending."""
        page, document = self.new(me)
        renews = self.dice.random() < 0.2
        for _ in range(3):
            page.state, before = "new", self.seen(me, page.center)
            hidden = {each.url for each in self.pages if me in each.hidden}
            met: list[Any] = []

            def decide(found: Any, met: list[Any] = met) -> Filing | None:
                met[:] = found, not self.leap and index._memtable.committing
                stays = len(found.documents) and (any(found.pending) or not renews)
                return None if stays else Filing(document, found.documents.tolist())

            page.handle = index.reserve_if(document, LOOKUPS, decide)
            found, is_committing = met
            now = [each for each in self.seen(me, page.center) if each.url not in found.stored.urls]
            # A crawl that is committing does not look at what others have committed.
            missed = [each for each in now if each in before and (each.crawl == me or not is_committing)]
            ghosts = hidden.intersection(found.stored.urls)
            if page.handle and not found.stored.urls:  # and so have others: one was filed after the other
                rivals = [each for each in now if each.handle and page not in each.replaces]
                missed += [each for each in rivals if self.leap or each.crawl == me]
            if missed or ghosts:
                raise Wrong(f"{page} meets {found.stored.urls}: missing {missed}, removed {ghosts}")
            if page.handle:
                page.state = "held"
                page.replaces = [each for each in self.pages if each.url in found.stored.urls]
                return
            page.state, told = "gone", list[Any]()
            for each in filter(None, found.pending):
                each.add_done_callback(told.append)
                self.scheduler.point(lambda: told, 5)  # noqa: B023
            if not told:
                return

    def settle(self, me: int, index: Any) -> None:
        for page in self.dice.sample(held := self.held(me), min(1, len(held))):
            if self.dice.random() < 0.25:
                self.remove(me, [page], page.handle.release)
            else:
                page.state = "kept"
                old = [each for each in page.replaces if each.state in ("new", "kept", "going")]
                self.remove(me, old, page.handle.confirm)

    def remove(self, me: int, pages: Iterable[Page], how: Callable[[], object]) -> None:
        for page in pages:
            page.state = "going"
        how()
        for page in pages:
            page.state = "gone"
            page.hidden.add(me)

    def flush(self, me: int, index: Any) -> None:
        kept = [page for page in self.pages if page.crawl == me and page.state == "kept"]
        gone = [page for page in self.pages if me in page.hidden]
        index.flush()
        for page in kept:
            page.written = True
        for page in gone if self.leap else ():
            page.hidden = {0, 1}

    def discard(self, me: int, index: Any) -> None:
        known = [page for page in self.pages if page.state == "kept" and (page.written or not self.leap)]
        for page in self.dice.sample(known, min(1, len(known))):
            found = index.search(1, np.array([int(page.url[1:])], np.uint64)).document.tolist()
            if found:
                self.remove(me, [page], lambda: index.discard(found))  # noqa: B023

    def add(self, me: int, index: Any) -> None:
        page, document = self.new(me)
        index.add(document)
        if page.state == "new":  # nobody has replaced it meanwhile
            page.state, page.written = "kept", True

    def pass_time(self, me: int, index: Any) -> None:
        if self.leap is None:
            self.scheduler.sleep(0.1 * self.dice.random())
            index.compact()
            return
        seconds = self.dice.choice((1.0, 20.0, 50.0))
        self.scheduler.now += seconds
        over = self.leap(seconds)
        for page in self.pages:
            page.lapsed |= page.url in over

    def run(self, *modules: Any, check: Callable[[Any], Iterable[object]]) -> int:
        """Return the number of steps. Raises `Wrong` unless the index has what was kept, and is sound."""
        with self.scheduler.installed(*modules):
            for me in range(2):
                self.scheduler.start(self.crawl, me)
            self.scheduler.run()
        with closing(self.opened()) as index:
            if self.leap:
                self.leap(100.0)  # what was released while the server was away has lapsed
            for page in self.pages:
                count, kept = len(urls_of(index, int(page.url[1:]))), page.state == "kept"
                if count != kept and page.state not in ("new", "going"):
                    raise Wrong(f"{page} is there {count} times")
            if problems := [*check(index)]:
                raise Wrong(f"check: {problems[:3]}")
        return self.scheduler.steps


def on_disk(seed: int, folder: Path) -> int:
    """Do the race of a *seed* on a file; return how many steps it had."""
    path = folder / f"race{seed}"
    path.mkdir()
    tuning = replace(TUNING, group_seconds=(0.02, 0.1, 0.5)[seed % 3])
    race = Race(seed, lambda: LmdbIndex(path, HEADER, tuning=tuning))
    real = lmdb.open(str(path), map_size=1 << 26, max_dbs=5, sync=False, lib_version=0)
    shared = SharedFile(real, race.scheduler.point)
    with real, mock.patch.object(lmdb, "open", return_value=shared):
        steps = race.run(check=commands.check)
    shutil.rmtree(path)
    return steps


def on_server(seed: int, server: Any) -> int:
    """Do the race of a *seed* on a server, where leases run out and answers are lost."""
    import redis

    from scrapy_neardup.index.redis import Address, RedisIndex
    from scrapy_neardup.index.redis import index as of_index
    from scrapy_neardup.index.redis import server as of_server
    from scrapy_neardup.index.redis import store as of_store
    from scrapy_neardup.index.redis.layout import Layout

    client: Any = redis.Redis(port=server.port)
    address = Address.parse(f"{server.url(f'race{seed}')}&parts={1 + 2 * (seed % 8 // 4)}")
    layout = Layout(HEADER, address.prefixes(address.parts))
    client.flushall()
    RedisIndex(address, HEADER).close()

    class Stepped(of_server.Server):
        def _execute(self, commands: Any) -> Any:
            parts = {prefix: [each for each in commands if each[0] == prefix] for prefix, _ in commands}
            order = race.dice.sample([*parts], len(parts))
            answers = {prefix: iter(self.each(parts[prefix])) for prefix in order}
            return [next(answers[prefix]) for prefix, _ in commands]

        def each(self, commands: Any) -> Any:
            race.scheduler.point()
            dice = race.dice
            fails = race.loses and "EVALSHA" in {each[0] for _, each in commands} and not race.scheduler.over
            if fails and dice.random() < LOST:
                return [redis.ConnectionError("it is not done")] * len(commands)
            answers = super()._execute(commands)
            race.scheduler.point()
            if fails and dice.random() < LOST:
                return [redis.ConnectionError("its answer is lost")] * len(commands)
            return answers

    def leap(seconds: float) -> set[str]:
        for index in race.indexes:  # their clocks have leapt, but that of the server cannot
            index.store._ahead -= 1000 * seconds
        found, moment = [], client.time()
        for prefix in layout.prefixes:
            for number, end in client.zrange(prefix + b"p", 0, -1, withscores=True):
                end -= 1000 * seconds * (end > 0)
                client.zadd(prefix + b"p", {number: end})
                if end < 1000 * moment[0] + moment[1] // 1000:
                    found.append(client.lindex(*layout.place(int(number))[1:]))
        return {*layout.unpack([value for value in found if value]).urls}

    race = Race(seed, lambda: RedisIndex(address, HEADER, server=Stepped(address)), leap)
    race.loses = seed % 16 in (0, 4)
    return race.run(of_index, of_store, of_server, check=of_index.find_problems)


def races(seeds: Iterable[int], folder: Path) -> Round:
    """Do the races of *seeds*, every fourth on a server; stop after the first that shows something wrong."""
    outcome, level = Round(), logging.root.manager.disable
    logging.disable()
    with running(folder / "redis") if server_program() else nullcontext() as server:
        try:
            for seed in seeds:
                there = server and seed % 4 == 0
                outcome.counts["steps"] += on_server(seed, server) if there else on_disk(seed, folder)
                outcome.counts["races"] += 1
        except Exception as error:  # noqa: BLE001
            outcome.violations.append(f"race {seed}: {error!r}")
    logging.disable(level)
    return outcome


def run(seed: int, folder: Path) -> Round:
    return races(in_time(range(1000 * seed, 1000 * seed + 1000), EXERCISE.seconds), folder)


EXERCISE = Exercise(
    name="races",
    promise="In any order of their steps, two crawls keep one page of each kind, and see none that is gone.",
    how="Threads, locks and clock are replaced: the dice say who takes the next step, at each transaction, "
    "lock and call of a server. Pages are filed, confirmed, released, replaced, removed, merged; leases run "
    "out, answers are lost. `python -m torture races --seed N --runs 1` does one again.",
    run=run,
    seconds=40,
)


@click.command()
@click.option("--seed", default=1, show_default=True, help="The first race.")
@click.option("--runs", default=1000, show_default=True, help="How many races.")
def main(seed: int, runs: int) -> None:
    """Do races of two crawls by their numbers; the first that shows something wrong ends it."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        outcome = races(range(seed, seed + runs), Path(folder))
    click.echo(f"{dict(outcome.counts)} {outcome.violations}")
    sys.exit(bool(outcome.violations))

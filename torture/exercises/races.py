"""Two crawls on one index, step by step in the order that the dice say: a seed does it again."""

from __future__ import annotations

import gc
import logging
import math
import random
import resource
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import click
import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import commands, environment, layout
from scrapy_neardup.index.protocol import Filing
from tests.index.conformance import HEADER, LOOKUPS, documents, urls_of
from tests.index.redis_server import running, server_program
from tests.index.small import SMALL
from torture.exercise import Exercise, Round, in_time
from torture.exercises.model import Wrong
from torture.runner import memory
from torture.scheduler import Scheduler, SharedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Fingerprints far from each other. All pages with one of these are near-duplicates.
CENTERS = (0, 0xFFFF << 24, 2**64 - 1)
TUNING = replace(SMALL, group_documents=2, flush_documents=3, disk_wait_seconds=1e4, upkeep_retry_seconds=0.1)
#: In some races, how likely a call on a server is not done, or its answer is lost; or a commit fails.
LOST, FAILS = 0.03, 0.3
#: One race of so many is on a server.
EVERY = 32
#: In each round of a race each crawl calls the index a few times. A round is an interleaving from where the
#: last one has led.
ROUNDS = 16
#: The threads of each race, by the crawl that they are of.
CREWS = ((0, 1), (0, 1), (0, 0), (0, 0, 1))
#: Seconds after which who waits for a page in progress has been told of its end, on a file and on a server.
TOLD = 0.1, 3.0
#: Races that a process does before it is given others.
PART = 200


@dataclass(eq=False)
class Page:
    """What is known of a page from outside."""

    url: str
    center: int
    crawl: int
    #: "new": perhaps filed. "held": pending. "kept". "going": perhaps removed. "gone", or never filed.
    state: str = "new"
    #: Whether it may ever count as kept; whether it is on disk, so that others see it.
    confirmed: bool = False
    written: bool = False
    #: What a server knows it by, if it was reserved.
    number: int = 0
    #: The crawls that cannot see it, or -1 for all that look; when it was settled.
    hidden: set[int] = field(default_factory=set)
    settled_at: float = math.inf
    replaces: list[Page] = field(default_factory=list)
    handle: Any = None


class Race:
    """Two crawls do random things to an index that each opens by *opened*; what must be true is checked.

    With *ends*, the leases on a server as they were given and renewed, all is seen by all.
    """

    def __init__(self, seed: int, opened: Callable[[], Any], ends: dict[int, float] | None = None) -> None:
        self.dice = random.Random(seed)
        self.scheduler, self.opened, self.on_server = Scheduler(self.dice), opened, ends is not None
        self.ends = {} if ends is None else ends
        self.pages, self.indexes, self.loses = list[Page](), dict[int, Any](), False
        self.crew, self.centers = self.dice.choice(CREWS), CENTERS[: self.dice.randint(1, 3)]
        #: Whether leases are renewed in time; when time has leapt. What each round was, as a number.
        self.patient, self.leapt, self.orders = self.dice.random() < 0.5, 0.0, list[int]()
        self.acts = [self.file] * 6 + [self.settle] * 4 + [self.flush, self.discard, self.add, self.ask]
        self.acts += [self.reopen, *[self.pass_time] * (1 + self.on_server)]

    def open(self, me: int) -> None:
        self.indexes[me] = self.opened()

    def crawl(self, me: int) -> None:
        for _ in range(self.dice.randint(1, 2)):
            with suppress(*[IndexUnavailable] if self.on_server or self.loses else []):
                act = self.dice.choice(self.acts)
                self.scheduler.order += act.__name__.encode()
                act(me, self.indexes[me])
        self.busy -= 1

    def close(self, me: int) -> None:
        self.remove(me, self.held(me), self.indexes[me].close)

    def reopen(self, me: int, index: Any) -> None:
        if self.crew.count(me) == 1 and not self.loses:
            self.close(me)
            self.open(me)

    def together(self, work: Callable[[int], object], crew: Sequence[int]) -> None:
        """Let each of *crew* do its *work*, in one order of all steps."""
        self.scheduler.order.clear()
        self.busy = len(crew)
        self.scheduler.run(*[self.scheduler.start(work, me) for me in crew])
        self.orders.append(int.from_bytes(blake2b(self.scheduler.order, digest_size=8).digest(), "big"))

    def held(self, me: int) -> list[Page]:
        return [page for page in self.pages if page.state == "held" and page.crawl == me]

    def seen(self, me: int, center: int, *read: dict[int, float]) -> list[Page]:
        """Return the pages with a fingerprint that a crawl surely sees, which may have *read* some leases."""
        return [
            page
            for page in self.pages
            if page.center == center and page.state in ("held", "kept")
            if all(ends.get(page.number, math.inf) > self.scheduler.now for ends in (self.ends, *read))
            if self.on_server or page.crawl == me or page.written
        ]

    def page(self, url: str) -> Page:
        return self.pages[int(url[1:])]

    def new(self, me: int) -> tuple[Page, Any]:
        page = Page(f"u{len(self.pages)}", self.dice.choice(self.centers), me)
        self.pages.append(page)
        return page, documents([page.center ^ 1 << self.dice.randrange(64)], len(self.pages) - 1)

    def file(self, me: int, index: Any) -> None:
        """Reserve a page unless it meets others; it may be to replace these. Wait for one that is pending."""
        page, document = self.new(me)
        renews = self.dice.random() < 0.2
        for _ in range(3):
            page.state, before, ends = "new", self.seen(me, page.center), self.ends.copy()
            hidden, erased = ({each.url for each in self.pages if who in each.hidden} for who in (me, -1))
            met: list[Any] = []

            def decide(found: Any, met: list[Any] = met) -> Filing | None:
                met[:] = found, not self.on_server and bool(index._memtable.group)
                for url, each in zip(found.stored.urls, found.pending, strict=True):
                    if self.page(url).confirmed < (each is None):
                        raise Wrong(f"{url} counts as kept")
                    if getattr(each, "_ends", math.inf) <= self.scheduler.now:
                        raise Wrong(f"{url} counts as pending")
                stays = len(found.documents) and (any(found.pending) or not renews)
                return None if stays else Filing(document, found.documents.tolist())

            page.handle = index.reserve_if(document, LOOKUPS, decide)
            found, is_committing = met
            # A lease that was renewed while the crawl stood still may be over by what the crawl has read.
            now = [each for each in self.seen(me, page.center, ends) if each.url not in found.stored.urls]
            # A crawl that is committing does not look at what others have committed.
            missed = [each for each in now if each in before and (each.crawl == me or not is_committing)]
            ghosts = (hidden if is_committing else hidden | erased).intersection(found.stored.urls)
            if page.handle and self.on_server:
                page.number = next(it for it, each in index.leases.held.items() if each is page.handle)
            # So have others: one was filed after the other, unless its lease has ended meanwhile.
            if page.handle and self.ends.get(page.number, math.inf) > self.scheduler.now:
                rivals = [each for each in now if each.handle and page not in each.replaces]
                missed += [each for each in rivals if self.on_server or each.crawl == me]
            if missed or ghosts:
                raise Wrong(f"{page} meets {found.stored.urls}: missing {missed}, removed {ghosts}")
            if page.handle:
                page.state = "held"
                page.replaces = [*map(self.page, found.stored.urls)]
                return
            page.state, handles = "gone", zip(found.stored.urls, found.pending, strict=True)
            if not any(self.is_told(page, self.page(url), each) for url, each in handles if each):
                return

    def is_told(self, page: Page, other: Page, handle: Any) -> bool:
        """Have a *page* wait for the end of an *other* that is pending; return whether it is told."""
        told, wait = list[Any](), TOLD[self.on_server]
        handle.add_done_callback(told.append)
        self.busy -= 1
        # Once all others have ended or wait, too, nobody is left to settle it.
        self.scheduler.point(lambda: told or not (self.busy or other.settled_at < math.inf), 2 * wait)
        self.busy += 1
        if max(other.settled_at, self.leapt) + wait < self.scheduler.now and not told and not self.loses:
            raise Wrong(f"{page} waits for {other}, which is settled")
        return bool(told)

    def ask(self, me: int, index: Any) -> None:
        """Look a page up by its URL."""
        for page in self.dice.sample(self.pages, min(1, len(self.pages))):
            hidden, before = me in page.hidden, self.seen(me, page.center)
            there = urls_of(index, int(page.url[1:]))
            sure = page in before and page in self.seen(me, page.center) and page.crawl == me
            if hidden if there else sure:
                raise Wrong(f"{page} is found: {there}")

    def settle(self, me: int, index: Any) -> None:
        for page in self.dice.sample(held := self.held(me), min(1, len(held))):
            if self.dice.random() < 0.25:
                self.remove(me, [page], page.handle.release)
            else:
                page.state, page.confirmed = "kept", True
                old = [each for each in page.replaces if each.state in ("new", "kept", "going")]
                self.remove(me, old, page.handle.confirm)
                page.settled_at = self.scheduler.now

    def remove(self, me: int, pages: Iterable[Page], how: Callable[[], object]) -> None:
        for page in pages:
            page.state = "going"
        how()
        for page in pages:
            page.state, page.settled_at = "gone", self.scheduler.now
            page.hidden.add(me)

    def flush(self, me: int, index: Any) -> None:
        kept = [page for page in self.kept() if page.crawl == me]
        gone = [page for page in self.pages if me in page.hidden]
        index.flush()
        viewer = self.indexes[1 - me] if self.on_server and len(self.indexes) > 1 else index
        there = {url for _, some in viewer.documents() for url in some.urls}
        for page in kept:
            page.written = True
            if page.url not in there and page.state == "kept":
                raise Wrong(f"{page} is not written")
        for page in gone:
            page.hidden.add(-1)
            if page.url in there:
                raise Wrong(f"{page} is still written")

    def kept(self) -> list[Page]:
        """Return the pages that are kept, and whose confirmation has returned."""
        return [page for page in self.pages if page.state == "kept" and page.settled_at < math.inf]

    def discard(self, me: int, index: Any) -> None:
        """Remove a page that is kept, or pending: then it is too late to confirm it."""
        known = [page for page in self.kept() if page.written or not self.on_server]
        known += [] if self.on_server else self.held(me)
        for page in self.dice.sample(known, min(1, len(known))):
            state = page.state
            found = index.search(1, np.array([int(page.url[1:])], np.uint64)).document.tolist()
            if found and page.state == state:
                self.remove(me, [page], lambda: index.discard(found))  # noqa: B023
                if state == "held":
                    page.settled_at = math.inf  # who waits is told only now
                    page.handle.confirm()
                    page.settled_at = self.scheduler.now

    def add(self, me: int, index: Any) -> None:
        page, document = self.new(me)
        page.confirmed = True
        index.add(document)
        if page.state == "new":  # nobody has replaced it meanwhile
            page.state, page.written, page.settled_at = "kept", True, self.scheduler.now

    def pass_time(self, me: int, index: Any) -> None:
        if not self.on_server:
            self.scheduler.sleep(0.1 * self.dice.random())
            index.compact()
            return
        # A renewal may stand still meanwhile, and the next one has to come in time.
        seconds = 30.0 if self.patient else self.dice.choice((1.0, 20.0, 70.0))
        while self.patient and any(0 < end - self.scheduler.now <= seconds for end in self.ends.values()):
            self.scheduler.sleep(TOLD[1])  # until its lease is renewed, or over
        self.leapt = self.scheduler.now = self.scheduler.now + seconds
        for page in self.pages if self.patient and not self.loses else ():
            if page.state == "held" and 0 < self.ends[page.number] <= self.scheduler.now:
                raise Wrong(f"the lease of {page} is over")
        if not self.patient:
            self.file(me, index)

    def run(self, *modules: Any, check: Callable[[Any], Iterable[object]]) -> list[int]:
        """Return what each round was."""
        processes, loses, self.loses = sorted({*self.crew}), self.loses, False
        with self.scheduler.installed(*modules):
            self.together(self.open, processes)
            self.loses = loses
            for _ in range(ROUNDS):
                self.together(self.crawl, self.crew)
            self.loses = False
            self.together(self.close, processes)
            self.scheduler.now += 100.0  # what was released while the server was away has lapsed
            self.scheduler.run(self.scheduler.start(self.judge, check))
        return self.orders

    def judge(self, check: Callable[[Any], Iterable[object]]) -> None:
        """Raise `Wrong` unless the index has what was kept, and is sound."""
        with closing(self.opened()) as index:
            numbers = np.array([int(page.url[1:]) for page in self.pages], np.uint64)
            there = Counter(index.retrieve(1, numbers)[1].urls)
            for page in self.pages:
                count, kept = there[page.url], page.state == "kept"
                if count != kept and page.state not in ("new", "going"):
                    raise Wrong(f"{page} is there {count} times")
            if problems := [*check(index)]:
                raise Wrong(f"check: {problems[:3]}")


def on_disk(seed: int, folder: Path) -> list[int]:
    """Do the race of a *seed* on a file; return what each round was, as a number."""
    tuning = replace(TUNING, group_seconds=(0.1, 1.0, 10.0)[seed % 3], closing_seconds=9.0)  # for a retry
    race = Race(seed, lambda: LmdbIndex(Path(path), HEADER, tuning=tuning))
    race.loses = seed % 4 == 1
    with tempfile.TemporaryDirectory(dir=folder) as path, ExitStack() as opened:
        layout.create(HEADER, Path(path))
        real = opened.enter_context(lmdb.open(path, map_size=1 << 26, max_dbs=5, sync=False, lib_version=0))
        shared = SharedFile(real, race.scheduler, lambda: race.loses and race.dice.random() < FAILS)
        # Mocks, as `return_value` makes, take more time than a step of the race.
        last_commit = mock.patch.object(environment, "last_commit", lambda *_: shared.last_commit)  # noqa: PT008
        with mock.patch.object(lmdb, "open", lambda *_, **how: shared), last_commit:  # noqa: PT008
            return race.run(check=commands.check)


def on_server(seed: int, server: Any) -> list[int]:
    """Do the race of a *seed* on a server, where leases run out and answers are lost."""
    import redis

    from scrapy_neardup.index.redis import index as of_index
    from scrapy_neardup.index.redis import server as of_server
    from scrapy_neardup.index.redis import store as of_store

    client: Any = redis.Redis(port=server.port)
    address = of_server.Address.parse(f"{server.url('race')}&parts={1 + 2 * (seed // EVERY % 2)}")
    prefixes, ends = address.prefixes, dict[int, float]()
    client.flushall()
    client.script_flush()  # or the order of steps hangs on whether an earlier race has brought it

    class Stepped(of_server.Server):
        def _execute(self, commands: Any) -> Any:
            # Other prefixes are those where an index of more parts might be.
            every = [[*some] for _, some in groupby(commands, lambda it: it[0] in prefixes and it[0])]
            order = race.dice.sample(range(len(every)), len(every))
            answers = {each: self.each(every[each]) for each in order}
            return [answer for each in sorted(order) for answer in answers[each]]

        def each(self, commands: Any) -> Any:
            race.scheduler.point()
            writes = any(it[0] in ("EVAL", "EVALSHA", "ZADD") for _, it in commands)
            fails = writes and race.loses and not race.scheduler.over
            if fails and race.dice.random() < LOST:
                return [redis.ConnectionError("it is not done")] * len(commands)
            answered = zip(commands, super()._execute(commands), strict=True)
            now = divmod(int(1e6 * race.scheduler.now), 10**6)
            answers = [now if command == ("TIME",) else answer for (_, command), answer in answered]
            race.scheduler.point()
            if fails and race.dice.random() < LOST:
                return [redis.ConnectionError("its answer is lost")] * len(commands)
            return answers

    class Noting(of_store.Store):
        def _send(self, calls: Any) -> Any:
            """Take down when leases end; one that was over stays so."""
            answers = super()._send(calls)
            for (_, step, _, given), answer in zip(calls, answers, strict=True):
                if step == "file" and given[0] and isinstance(answer, int):
                    # A crawl that has stood still meanwhile has little left.
                    ends[answer] = given[1] / 1000 * (given[1] / 1000 > race.scheduler.now + 30.0)
                elif step in ("ZADD", "confirm") and answer == (step == "confirm"):
                    number, end = (given[2], given[1] / 1000) if step == "ZADD" else (given[0], math.inf)
                    ends[number] = end if race.scheduler.now < ends.get(number, 0) else 0
            return answers

    race = Race(seed, lambda: of_index.RedisIndex(address, HEADER, server=Stepped(address)), ends)
    race.loses = seed // EVERY % 4 > 1
    with mock.patch.object(of_index, "Store", Noting):
        return race.run(of_index, of_store, of_server, check=of_index.find_problems)


def races(seeds: Iterable[int], folder: Path) -> tuple[Round, set[int]]:
    """Do the races of *seeds*, some on a server; stop after the first that shows something wrong.

    Returned besides: what each round was, as a number.
    """
    outcome, orders, level = Round(), set[int](), logging.root.manager.disable
    logging.disable()
    with running(folder / "redis") if server_program() else nullcontext() as server:
        try:
            for seed in seeds:
                rounds = on_server(seed, server) if server and seed % EVERY == 0 else on_disk(seed, folder)
                outcome.counts += Counter(races=1, interleavings=len(rounds))
                orders.update(rounds)
        except Exception as error:  # noqa: BLE001
            outcome.violations.append(f"race {seed}: {error!r}")
    logging.disable(level)
    return outcome, orders


def run(seed: int, folder: Path) -> Round:
    return races(in_time(range(1000 * seed, 1000 * seed + 1000), EXERCISE.seconds), folder)[0]


EXERCISE = Exercise(
    name="races",
    promise="In any order of their steps, two crawls keep one page of each kind, and see none that is gone.",
    how="Threads, locks and clock are replaced: the dice say who takes the next step, at each transaction, "
    "lock and call of a server. Pages are filed, confirmed, released, replaced, removed, merged; leases run "
    "out, answers are lost, commits fail. `python -m torture races --seed N --runs 1` does one again.",
    run=run,
    seconds=40,
)


def part(seeds: range) -> tuple[Round, set[int]]:
    """Do the races of *seeds* in a folder of their own."""
    gc.set_threshold(100_000)  # races leave little, and to look for it takes a tenth of their time
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        return races(seeds, Path(folder))


@click.command()
@click.option("--seed", default=1, show_default=True, help="The first race.")
@click.option("--runs", default=1000, show_default=True, help="How many races.")
def main(seed: int, runs: int) -> None:
    """Do races of two crawls by their numbers, on all processors; one that shows something wrong ends it."""
    counts, orders, parts = Counter[str](), set[int](), range(seed, seed + runs)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for outcome, some in pool.map(part, [parts[at : at + PART] for at in range(0, runs, PART)]):
            counts += outcome.counts
            orders |= some
            if outcome.violations:
                pool.shutdown(cancel_futures=True)
                break
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    click.echo(f"{dict(counts)}, {len(orders)} distinct, {used:.0f} s of CPU {outcome.violations}")
    raise SystemExit(bool(outcome.violations))

"""A store beside a dictionary: whatever is done to both, each search finds what comparing all finds."""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.fingerprint import SCHEMES, Features, Fingerprinter, load_scheme
from scrapy_neardup.index import Documents, LmdbIndex, MemoryIndex, open_index
from scrapy_neardup.index.conformance import reserve
from scrapy_neardup.index.lmdb.check import check
from scrapy_neardup.index.protocol import Filing, Lookup
from scrapy_neardup.index.tables import LAYOUTS, NO_KEY
from scrapy_neardup.matching.records import header_for
from tests.index.redis_server import RedisServer, server_program
from tests.index.small import SMALL
from torture.exercise import Exercise, Round, in_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.index import Header, Index
    from scrapy_neardup.index.protocol import Found
    from scrapy_neardup.index.reservation import Reservation

STEPS = {"memory": 6000, "lmdb": 4000, "redis": 1500}
#: More documents than this are not kept, since each search compares all of them.
MOST = 120
URL = 1
BITS = (0, 1, 2, 15, 16, 17, 31, 32, 40, 47, 48, 62, 63)
TUNING = replace(
    SMALL,
    group_seconds=0.01,
    flush_documents=64,
    partition_entries=64,
    transaction_bytes=1 << 14,
    block_documents=32,
)


class Wrong(Exception):
    """The store has answered otherwise than the dictionary."""


class Side:
    """One process that uses the store: it does what it is told, and answers."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        self._opened = opened
        self.index = opened()
        self._held: dict[int, Reservation] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        return getattr(self, name)(*arguments)

    def reserve(self, documents: Documents, number: int) -> None:
        self._held[number] = reserve(self.index, documents)

    def decide(self, documents: Documents, lookups: list[Lookup], number: int) -> list[str]:
        """File a document if it meets no other; returns what it has met."""
        met: list[str] = []

        def decide(found: Found) -> Filing | None:
            met[:] = found.stored.urls
            return None if met else Filing(documents)

        reservation = self.index.reserve_if(documents, lookups, decide)
        if reservation is not None:
            self._held[number] = reservation
        return sorted(met)

    def settle(self, number: int, confirm: bool) -> None:
        reservation = self._held.pop(number)
        if confirm:
            reservation.confirm()
        else:
            reservation.release()

    def add(self, documents: Documents) -> None:
        self.index.add(documents)

    def discard(self, numbers: list[int]) -> None:
        self.index.discard(self.index.search(URL, np.array(numbers, np.uint64)).document.tolist())

    def search(self, family: int, keys: list[int], distance: int, most: int) -> list[tuple[int, str, int]]:
        found = self.index.search(family, np.array(keys, np.uint64), distance, most)
        urls = self.index.fetch(found.document).urls
        return sorted(zip(found.query.tolist(), urls, found.distance.tolist(), strict=True))

    def flush(self) -> None:
        self.index.flush()

    def compact(self) -> None:
        self.index.compact()  # type: ignore[attr-defined]

    def reopen(self) -> None:
        self.index.close()
        self._held.clear()
        self.index = self._opened()

    def check(self) -> list[str]:
        return [f"{each.where}: {each.what}" for each in check(self.index)]  # type: ignore[arg-type]

    def close(self) -> None:
        self.index.close()


class Peer:
    """A `Side` in a fork of this process."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        there, answer = os.pipe(), os.pipe()
        if not os.fork():
            os.close(there[1])
            os.close(answer[0])
            _be_peer(opened, there[0], answer[1])
        os.close(there[0])
        os.close(answer[1])
        self._to, self._from = os.fdopen(there[1], "wb"), os.fdopen(answer[0], "rb")

    def __call__(self, *command: Any) -> Any:
        pickle.dump(command, self._to)
        self._to.flush()
        done, answer = pickle.load(self._from)
        if not done:
            raise Wrong(f"{command[0]} in another process: {answer}")
        return answer


def _be_peer(opened: Callable[[], Index], commands: int, answers: int) -> None:
    side: Side | None = None
    with os.fdopen(commands, "rb") as reading, os.fdopen(answers, "wb") as writing:
        while True:
            try:
                command = pickle.load(reading)
            except EOFError:
                os._exit(0)
            try:
                side = side or Side(opened)
                answer = True, side(*command)
            except BaseException as error:  # noqa: BLE001
                answer = False, repr(error)
            pickle.dump(answer, writing)
            writing.flush()


class Model:
    """The dictionary, and the sides of the store that it is compared with."""

    def __init__(
        self, kind: str, header: Header, sides: list[Callable[..., Any]], dice: random.Random
    ) -> None:
        self.kind, self.header, self.sides, self.dice = kind, header, sides, dice
        #: The keys of each document, and of the pending ones who holds them.
        self.keys: dict[int, list[int]] = {}
        self.pending: dict[int, int] = {}
        self.count = self.active = 0
        self.centers = [dice.getrandbits(64) for _ in range(3)]

    def key(self, family: int, number: int = 0) -> int:
        """Return a key of a family: of the URL, near one of few others, or one of few."""
        kind, dice = self.header.families[family], self.dice
        if family == URL:
            return number
        if kind.equal:
            return int(NO_KEY) if kind.keys > 1 and dice.random() < 0.2 else dice.randrange(40)
        flips = dice.sample(BITS, dice.choice((0, 1, 1, 2, 3, 4, 5)))
        return dice.choice(self.centers) ^ sum(1 << bit for bit in flips)

    def make(self, count: int) -> tuple[list[int], Documents]:
        numbers = list(range(self.count + 1, self.count + count + 1))
        self.count += count
        rows = [
            [self.key(place, n) for place, kind in enumerate(self.header.families) for _ in range(kind.keys)]
            for n in numbers
        ]
        self.keys.update(zip(numbers, rows, strict=True))
        keys = np.array(rows, np.uint64).reshape(count, self.header.keys).T
        records = np.zeros(count, self.header.dtype)
        return numbers, Documents(np.ascontiguousarray(keys), records, [f"u{number}" for number in numbers])

    def seen(self) -> list[int]:
        """Return the documents that the active side sees: what others hold as pending is theirs in LMDB."""
        if self.kind == "redis":
            return list(self.keys)
        return [n for n in self.keys if self.pending.get(n, self.active) == self.active]

    def expected(self, family: int, keys: list[int], distance: int, most: int) -> list[tuple[int, str, int]]:
        """Compare *keys* with those of all documents that the active side sees."""
        kind, seen = self.header.families[family], self.seen()
        if not seen:
            return []
        stored = np.array([self.keys[n][self.header.rows[family]] for n in seen], np.uint64)
        found = []
        for place, key in enumerate(keys):
            bits = np.bitwise_count(stored ^ np.uint64(key))
            if kind.equal:
                bits = np.where(kind.has(stored) & (bits == 0), np.uint8(0), np.uint8(65))
            nearest = bits.min(axis=1)
            rows = np.flatnonzero(nearest <= distance)
            if not most or len(rows) <= most:
                found += [(place, f"u{seen[row]}", int(nearest[row])) for row in rows.tolist()]
        return sorted(found)

    def step(self) -> str:
        """Do something; returns its name. Raises `Wrong`."""
        dice = self.dice
        if len(self.sides) > 1 and dice.random() < 0.1:
            self.sides[self.active]("flush")
            self.active = dice.randrange(len(self.sides))
            self.sides[self.active]("flush")  # while it commits, it does not see what others commit
        mine = [n for n, holder in self.pending.items() if holder == self.active]
        act = dice.random()
        if act < 0.4:
            return self.search()
        if len(self.keys) > MOST or (act < 0.46 and self.keys):
            return self.discard(40 if len(self.keys) > MOST else dice.choice((1, 1, 3, 10)))
        if act < 0.66 and mine:
            return self.settle(dice.choice(mine))
        if act < 0.88:
            return self.reserve()
        if act < 0.93:
            _, documents = self.make(dice.choice((1, 1, 3, 20, 50)))
            self.sides[self.active]("add", documents)
            return "add"
        if act < 0.99 or self.kind == "memory":
            self.sides[self.active]("flush")
            return "flush"
        return self.upkeep()

    def search(self) -> str:
        family = self.dice.randrange(len(self.header.families))
        kind = self.header.families[family]
        distance = 0 if kind.equal else self.dice.randint(0, kind.tables.max_distance)
        most = self.dice.choice((0, 0, 1, 5)) if self.kind != "redis" else 0
        keys = [
            self.key(family, self.dice.randint(1, self.count + 1)) for _ in range(self.dice.randint(1, 3))
        ]
        found = self.sides[self.active]("search", family, keys, distance, most)
        self.compare(found, self.expected(family, keys, distance, most), f"family {family} within {distance}")
        return "search"

    def compare(self, found: list[Any], expected: list[Any], where: str) -> None:
        if found != expected:
            missing = [each for each in expected if each not in found][:3]
            more = [each for each in found if each not in expected][:3]
            raise Wrong(f"search of {where}: missing {missing}, too many {more}")

    def discard(self, count: int) -> str:
        some = self.dice.sample(self.seen(), min(count, len(self.seen())))
        self.sides[self.active]("discard", some)
        if self.kind == "lmdb" and len(self.sides) > 1:
            self.sides[self.active]("flush")
        for number in some:
            del self.keys[number]
            self.pending.pop(number, None)
        return "discard"

    def settle(self, number: int) -> str:
        confirm = self.dice.random() < 0.8
        self.sides[self.active]("settle", number, confirm)
        del self.pending[number]
        if not confirm:
            del self.keys[number]
            if self.kind == "redis":
                self.sides[self.active]("flush")
        return "settle"

    def reserve(self) -> str:
        (number,), documents = self.make(1)
        keys = self.keys.pop(number)
        if self.dice.random() < 0.5:
            self.sides[self.active]("reserve", documents, number)
            met: list[str] = []
        else:
            lookups = [
                Lookup(place, 0 if kind.equal else min(3, kind.tables.max_distance))
                for place, kind in enumerate(self.header.families)
            ]
            met = self.sides[self.active]("decide", documents, lookups, number)
            near = {
                row[1]
                for lookup in lookups
                for row in self.expected(
                    lookup.family, keys[self.header.rows[lookup.family]], lookup.distance, 0
                )
            }
            self.compare(met, sorted(near), "what a new document meets")
        if not met:
            self.keys[number], self.pending[number] = keys, self.active
        return "reserve"

    def upkeep(self) -> str:
        side = self.sides[self.active]
        if self.kind == "lmdb" and self.dice.random() < 0.5:
            side("compact")
            problems = side("check")
            if problems:
                raise Wrong(f"check: {problems[:3]}")
            return "compact"
        side("reopen")
        for number in [n for n, holder in self.pending.items() if holder == self.active]:
            del self.keys[number], self.pending[number]
        return "reopen"


def run(seed: int, folder: Path) -> Round:
    dice, outcome = random.Random(seed), Round()
    # One round in eight uses a server, which takes the most time for a step.
    kind = "redis" if seed % 8 == 0 else "memory" if seed % 8 == 1 else "lmdb"
    scheme, tables = list(SCHEMES)[seed % len(SCHEMES)], list(LAYOUTS)[seed // 2 % len(LAYOUTS)]
    header = header_for(Fingerprinter(Features(), seed, load_scheme(scheme, tables=tables)), "")
    server = None
    if kind == "redis":
        if server_program() is None:
            return Round(remarks=["there is no redis-server here, so its store was left out"])
        server = RedisServer(folder / "redis")
        server.start()
    opened: dict[str, Callable[[], Index]] = {
        "memory": partial(MemoryIndex, header),
        "lmdb": partial(LmdbIndex, folder / "index", header, tuning=TUNING),
        "redis": partial(open_index, server.url() if server else None, header),
    }
    processes = 1 if kind == "memory" else dice.choice((1, 1, 1, 2, 4))
    peers = [Peer(opened[kind]) for _ in range(processes - 1)]
    model = Model(kind, header, [Side(opened[kind]), *peers], dice)
    done: Counter[str] = Counter()
    try:
        for _ in in_time(range(STEPS[kind]), EXERCISE.seconds):
            done[model.step()] += 1
    except Wrong as wrong:
        outcome.violations.append(
            f"{kind}, {scheme}, {tables} tables, {processes} processes: step {done.total()}: {wrong}"
        )
    if not outcome.violations:
        for side in model.sides:
            side("close")
    outcome.counts["steps"] = done.total()
    outcome.counts[f"steps with {kind}"] = done.total()
    outcome.counts["searches compared"] = done["search"]
    if server is not None:
        server.kill()
    return outcome


EXERCISE = Exercise(
    name="model",
    promise="A search finds all that is stored within the distance, and nothing else, whatever was done.",
    how="Random steps in 1 to 4 processes: file, confirm, release, remove, flush, merge, reopen, look up. "
    "Each answer is compared with that of a dictionary whose keys are compared one by one. All schemes; 4, "
    "10 and 20 tables; in memory, in LMDB, on a Redis server.",
    goals={"steps": 2_000_000},
    run=run,
    seconds=30,
)

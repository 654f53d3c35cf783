"""A store beside a dictionary: random steps are done to both, and each answer is compared."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.fingerprint import SCHEMES, Features, Fingerprinter, load_scheme
from scrapy_neardup.index import Documents, Header, Index, LmdbIndex, open_index
from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.index.protocol import Filing, Found, Lookup
from scrapy_neardup.index.tables import LAYOUTS, NO_KEY
from scrapy_neardup.matching.records import header_for
from tests.index.conformance import reserve
from tests.index.redis_server import running, server_program
from tests.index.small import SMALL
from torture.exercise import Exercise, Round, in_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.index.pending import Reservation

#: More documents than this are not kept, since each search compares all of them.
MOST = 120
#: Bits in which keys that are near each other differ: at the ends of blocks and within.
BITS = (0, 1, 2, 15, 16, 17, 31, 32, 40, 47, 48, 62, 63)
#: The family of the keys of URLs.
URL = 1


class Wrong(Exception):
    """The store has answered otherwise than the dictionary."""


def record_of(url: str, like: Any) -> Any:
    """Return a record of the dtype of *like* that only the document of *url* has."""
    return np.frombuffer((url.encode() * like.dtype.itemsize)[: like.dtype.itemsize], like.dtype)[0]


class Model:
    """The dictionary, and the index that it is compared with."""

    def __init__(self, kind: str, header: Header, opened: Callable[[], Index], dice: random.Random) -> None:
        self.kind, self.header, self.dice = kind, header, dice
        self._opened = opened
        self.index = opened()
        #: The keys of each document, and the handles of the pending ones.
        self.keys: dict[int, list[int]] = {}
        self.pending: dict[int, Reservation] = {}
        #: Under which numbers documents were handed out when they were filed.
        self._filed: dict[int, int] = {}
        self.count = 0
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
        records, urls = np.zeros(count, self.header.dtype), [f"u{number}" for number in numbers]
        if self.kind != "redis":  # which reads the time
            records[:] = [record_of(url, records) for url in urls]
        return numbers, Documents(np.ascontiguousarray(keys), records, urls, [url.encode() for url in urls])

    def expected(self, family: int, keys: list[int], distance: int) -> list[tuple[int, str, int]]:
        """Compare *keys* with those of all documents."""
        kind, seen = self.header.families[family], list(self.keys)
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
            found += [(place, f"u{seen[row]}", int(nearest[row])) for row in rows.tolist()]
        return sorted(found)

    def step(self) -> str:
        """Do something; returns its name. Raises `Wrong`."""
        dice = self.dice
        act = dice.random()
        if act < 0.4:
            return self.search()
        if len(self.keys) > MOST or (act < 0.46 and self.keys):
            return self.discard(40 if len(self.keys) > MOST else dice.choice((1, 1, 3, 10)))
        if act < 0.66 and self.pending:
            return self.settle(dice.choice(sorted(self.pending)))
        if act < 0.88:
            return self.reserve()
        if act < 0.93:
            _, documents = self.make(dice.choice((1, 1, 3, 20, 50)))
            self.index.add(documents)
            return "add"
        if act < 0.99:
            self.index.flush()
            return "flush"
        return self.upkeep()

    def search(self) -> str:
        family = self.dice.randrange(len(self.header.families))
        kind = self.header.families[family]
        distance = 0 if kind.equal else self.dice.randint(0, kind.tables.max_distance)
        numbers = [self.dice.randint(1, self.count + 1) for _ in range(self.dice.randint(1, 3))]
        asked = family, [self.key(family, number) for number in numbers], distance
        self.compare(self.found(*asked), self.expected(*asked), f"family {family} within {distance}")
        if self.kind != "redis":
            count = self.index.gauges()["documents"]
            if count != len(self.keys) - len(self.pending):
                raise Wrong(f"{count} documents in the place of {len(self.keys) - len(self.pending)}")
        return "search"

    def compare(self, found: list[Any], expected: list[Any], where: str) -> None:
        if found != expected:
            missing = [each for each in expected if each not in found][:3]
            more = [each for each in found if each not in expected][:3]
            raise Wrong(f"search of {where}: missing {missing}, too many {more}")

    def discard(self, count: int) -> str:
        some = self.dice.sample(list(self.keys), min(count, len(self.keys)))
        found = self.index.search(URL, np.array(some, np.uint64))
        known = self._filed if self.kind != "redis" else {}
        places = zip(found.query.tolist(), found.document.tolist(), strict=True)
        self.index.discard([known.get(some[query], document) for query, document in places])
        for number in some:
            del self.keys[number]
            self.pending.pop(number, None)
        return "discard"

    def settle(self, number: int) -> str:
        reservation = self.pending.pop(number)
        if self.dice.random() < 0.8:
            reservation.confirm(note=reservation.url.encode())
        else:
            reservation.release()
            del self.keys[number]
            if self.kind == "redis":
                self.index.flush()
        return "settle"

    def reserve(self) -> str:
        """File a document whatever it meets, or if it meets no other."""
        (number,), documents = self.make(1)
        keys = self.keys.pop(number)
        if self.dice.random() < 0.5:
            reservation: Reservation | None = reserve(self.index, documents)
            found = self.index.search(URL, np.array([number], np.uint64))
            self._filed[number] = int(found.document[0])
        else:
            lookups = [
                Lookup(place, 0 if kind.equal else min(3, kind.tables.max_distance))
                for place, kind in enumerate(self.header.families)
            ]
            met: list[str] = []

            def decide(found: Found) -> Filing | None:
                met[:] = found.stored.urls
                return None if met else Filing(documents)

            reservation = self.index.reserve_if(documents, lookups, decide)
            near = {
                row[1]
                for lookup in lookups
                for row in self.expected(
                    lookup.family, keys[self.header.rows[lookup.family]], lookup.distance
                )
            }
            self.compare(sorted(met), sorted(near), "what a new document meets")
        if reservation is not None:
            self.keys[number], self.pending[number] = keys, reservation
        return "reserve"

    def found(self, family: int, keys: list[int], distance: int) -> list[tuple[int, str, int]]:
        found = self.index.search(family, np.array(keys, np.uint64), distance)
        records, urls, notes = self.index.fetch(found.document)
        for record, url, note in zip(records, urls, notes, strict=True):
            wrong = self.kind != "redis" and record != record_of(url, record)
            if note != url.encode() or wrong:
                raise Wrong(f"the record or the note of {url} is of another document")
        return sorted(zip(found.query.tolist(), urls, found.distance.tolist(), strict=True))

    def upkeep(self) -> str:
        if isinstance(self.index, LmdbIndex) and self.dice.random() < 0.5:
            self.index.compact()
            if problems := list(check(self.index)):
                raise Wrong(f"check: {problems[:3]}")
            return "compact"
        self.index.close()
        self.index = self._opened()
        for number in self.pending:
            del self.keys[number]
        self.pending.clear()
        self._filed.clear()
        return "reopen"


#: How many steps a round has at most, by where the store is.
STEPS = {"lmdb": 4000, "redis": 1500}
TUNING = replace(
    SMALL,
    group_seconds=0.01,
    flush_documents=64,
    partition_entries=64,
    transaction_values=4,
    block_documents=32,
)


def run(seed: int, folder: Path) -> Round:
    dice, outcome = random.Random(seed), Round()
    # One round in eight uses a server, which takes the most time for a step.
    kind = "redis" if seed % 8 == 0 else "lmdb"
    scheme, tables = list(SCHEMES)[seed % len(SCHEMES)], list(LAYOUTS)[seed // 2 % len(LAYOUTS)]
    header = header_for(Fingerprinter(Features(), seed, load_scheme(scheme, tables=tables)), "")
    if kind == "redis" and server_program() is None:
        return Round(remarks=["there is no redis-server here, so its store was left out"])
    with running(folder / "redis") if kind == "redis" else nullcontext() as server:
        where = f"{server.url()}&parts={1 + seed % 16 // 4}" if server else None
        opened: dict[str, Callable[[], Index]] = {
            "lmdb": partial(LmdbIndex, folder / "index", header, tuning=TUNING),
            "redis": partial(open_index, where, header),
        }
        model, done = Model(kind, header, opened[kind], dice), Counter[str]()
        try:
            for _ in in_time(range(STEPS[kind]), EXERCISE.seconds):
                done[model.step()] += 1
            model.index.close()
        except Wrong as wrong:
            outcome.violations.append(f"{kind}, {scheme}, {tables} tables: step {done.total()}: {wrong}")
    outcome.counts |= {"steps": done.total(), f"steps with {kind}": done.total()}
    outcome.counts["searches compared"] = done["search"]
    return outcome


EXERCISE = Exercise(
    name="model",
    promise="A search finds all that is stored within the distance, and nothing else, whatever was done.",
    how="Random steps: file, confirm, release, remove, flush, merge, reopen, look up. "
    "Each answer is compared with that of a dictionary whose keys are compared one by one. All schemes; 4, "
    "10 and 20 tables; in LMDB, on a Redis server.",
    run=run,
    seconds=30,
)

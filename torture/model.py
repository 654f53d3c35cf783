"""A dictionary beside a store: random steps are done to both, and each answer is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.index.tables import NO_KEY

from .sides import URL, Wrong, record_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

#: More documents than this are not kept, since each search compares all of them.
MOST = 120
#: Bits in which keys that are near each other differ: at the ends of blocks and within.
BITS = (0, 1, 2, 15, 16, 17, 31, 32, 40, 47, 48, 62, 63)


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
        records, urls = np.zeros(count, self.header.dtype), [f"u{number}" for number in numbers]
        if self.kind != "redis":  # which reads the time
            records[:] = [record_of(url, records) for url in urls]
        return numbers, Documents(np.ascontiguousarray(keys), records, urls, [url.encode() for url in urls])

    def seen(self) -> list[int]:
        """Return the documents that the active side sees: what others hold as pending is theirs in LMDB."""
        if self.kind == "redis":
            return list(self.keys)
        return [n for n in self.keys if self.pending.get(n, self.active) == self.active]

    def expected(self, family: int, keys: list[int], distance: int) -> list[tuple[int, str, int]]:
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
        keys = [
            self.key(family, self.dice.randint(1, self.count + 1)) for _ in range(self.dice.randint(1, 3))
        ]
        found = self.sides[self.active]("search", family, keys, distance)
        self.compare(found, self.expected(family, keys, distance), f"family {family} within {distance}")
        if self.kind != "redis":
            count = self.sides[self.active]("count")
            if count != len(self.keys) - len(self.pending):
                raise Wrong(f"{count} documents in the place of {len(self.keys) - len(self.pending)}")
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
                    lookup.family, keys[self.header.rows[lookup.family]], lookup.distance
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

"""An index that several processes share with no more than a file, as machines may share one over a network.

It shows what such a back-end needs beside the protocol: `Leases`. It finds documents by comparing all of
them.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.leases import Lease, Leases
from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.protocol import Documents, Found
from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.index.search import closest, met, most_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header, Stored
    from scrapy_neardup.index.protocol import Filing, Lookup, Pending
    from scrapy_neardup.index.search import Met

#: *until* is the time when the lease of a pending document ends, null for one that is confirmed.
TABLE = """CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, keys BLOB, record BLOB, url TEXT, note BLOB, until REAL)"""


class SqliteIndex:
    """An `Index` in the file *path*, whose pending documents all its users see."""

    remote = True

    def __init__(self, path: Path, header: Header, lease_seconds: float = 60.0) -> None:
        self.header = header
        self._path = path
        self._own: dict[int, Reservation] = {}
        self.leases = Leases(lease_seconds, self._renew, self._ask, poll_seconds=0.02)
        with self._transaction() as database:
            database.execute(TABLE)

    # Finding

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        with self._transaction() as database:
            return self._find(database, document, lookups)

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        with self._transaction() as database:
            return self._search(*self._all(database)[:2], family, keys, distance, most)

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        with self._transaction() as database:
            numbers, stored, _ = self._all(database)
            matches = self._search(numbers, stored, family, keys, 0, 0)
            return matches, stored.stored.take(np.searchsorted(numbers, matches.document))

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        with self._transaction() as database:
            numbers, stored, _ = self._all(database)
            if not np.isin(documents, numbers).all():
                raise IndexCorrupted("A document is missing: ask for those that a search finds.")
            return stored.stored.take(np.searchsorted(numbers, documents))

    # Filing

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        with self._transaction() as database:
            filing = decide(self._find(database, document, lookups))
            if filing is None:
                return None
            until = time.time() + self.leases.seconds
            number = self._put(database, filing.document, 0, until=until)
            reservation = Reservation(
                filing.document.urls[0], lambda each: self._settle(number, each, filing)
            )
            self._own[number] = reservation
        self.leases.hold(number)
        return reservation

    def add(self, documents: Documents) -> NDArray[np.int64]:
        with self._transaction() as database:
            rows = range(len(documents.urls))
            return np.array([self._put(database, documents, row) for row in rows], np.int64)

    def discard(self, documents: Sequence[int]) -> None:
        with self._transaction() as database:
            self._delete(database, documents)

    def flush(self) -> None:
        """Do nothing: each transaction is on disk."""

    def gauges(self) -> dict[str, int]:
        with self._transaction() as database:
            (total, pending), *_ = database.execute("SELECT count(*), count(until) FROM documents")
            return {"documents": total - pending, "pending": pending}

    def close(self) -> None:
        for reservation in list(self._own.values()):
            reservation.release()
        self.leases.close()

    # Leases

    def _settle(self, number: int, reservation: Reservation, filing: Filing) -> None:
        kept = filing.document._replace(notes=[reservation.note])
        with self._transaction() as database:
            self._delete(database, [number])
            if reservation.confirmed:
                self._delete(database, filing.replaces)
                self._put(database, kept, 0, number)  # again, if its lease had run out
            del self._own[number]
        self.leases.drop(number)

    def _renew(self, numbers: Sequence[int]) -> None:
        until = time.time() + self.leases.seconds
        with self._transaction() as database:
            database.executemany(
                "UPDATE documents SET until = ? WHERE number = ? AND until IS NOT NULL",
                [(until, number) for number in numbers],
            )

    def _ask(self, numbers: Sequence[int]) -> list[Lease]:
        with self._transaction() as database:
            known = dict(database.execute("SELECT number, until FROM documents"))
        return [self._lease(known[number]) if number in known else Lease(False) for number in numbers]

    def _lease(self, until: float | None) -> Lease:
        return Lease(True) if until is None else Lease(None, until - time.time())

    # The table

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction of its own, in which nothing has lapsed."""
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = OFF")  # only power cuts would lose something
            database.execute("BEGIN IMMEDIATE")
            if database.execute("SELECT 1 FROM sqlite_master").fetchone():
                database.execute("DELETE FROM documents WHERE until < ?", (time.time(),))
            yield database
            database.execute("COMMIT")
        finally:
            database.close()

    def _find(self, database: sqlite3.Connection, document: Documents, lookups: Sequence[Lookup]) -> Found:
        numbers, stored, until = self._all(database)
        found = [self._meet(numbers, stored, document, lookup) for lookup in lookups]
        numbers_found = np.array(sorted(set(chain(*(each.documents.tolist() for each in found)))), np.int64)
        shared = np.zeros((len(lookups), len(numbers_found)), np.int64)
        for row, each in zip(shared, found, strict=True):
            row[numbers_found.searchsorted(each.documents)] = each.shared
        rows = np.searchsorted(numbers, numbers_found)
        pending = [self._handle(numbers[row], stored.urls[row], until[row]) for row in rows.tolist()]
        crowded = any(each.crowded for each in found)
        return Found(numbers_found, shared, stored.stored.take(rows), pending, crowded)

    def _meet(
        self, numbers: NDArray[np.int64], stored: Documents, document: Documents, lookup: Lookup
    ) -> Met:
        family, distance, most, nearest, _ = lookup
        kind = self.header.families[family]
        keys = document.keys[self.header.rows[family], 0]
        matches = self._search(numbers, stored, family, keys[kind.has(keys)], distance, most)
        if nearest and not kind.equal and len(keys) == 1:
            return closest([matches], nearest)
        return most_shared(met(matches), nearest) if nearest else met(matches)

    def _handle(self, number: np.int64, url: str, until: float | None) -> Pending | None:
        if until is None:
            return None
        return self._own.get(int(number)) or self.leases.watch(url, int(number), self._lease(until))

    def _all(self, database: sqlite3.Connection) -> tuple[NDArray[np.int64], Documents, list[float | None]]:
        """Return all documents, their numbers in ascending order, and when the lease of each ends."""
        rows = database.execute(
            "SELECT number, keys, record, url, note, until FROM documents ORDER BY number"
        ).fetchall()
        keys = np.frombuffer(b"".join(row[1] for row in rows), np.uint64).reshape(-1, self.header.keys).T
        records = np.frombuffer(b"".join(row[2] for row in rows), self.header.dtype)
        numbers = np.array([row[0] for row in rows], np.int64)
        urls, notes = [row[3] for row in rows], [row[4] for row in rows]
        return numbers, Documents(keys, records, urls, notes), [row[5] for row in rows]

    def _search(
        self,
        numbers: NDArray[np.int64],
        stored: Documents,
        family: int,
        keys: NDArray[np.uint64],
        distance: int,
        most: int,
    ) -> Matches:
        kind = self.header.families[family]
        theirs = stored.keys[self.header.rows[family]]
        parts = []
        for query, key in enumerate(keys):
            bits = np.bitwise_count(theirs ^ key)
            _, rows = ((bits <= distance) & kind.has(theirs)).nonzero()
            if not most or len(set(rows.tolist())) <= most:
                parts.append(Matches(np.full(len(rows), query), numbers[rows], bits.min(axis=0)[rows]))
        return Matches.gather(parts)

    def _put(
        self,
        database: sqlite3.Connection,
        documents: Documents,
        row: int,
        number: int | None = None,
        until: float | None = None,
    ) -> int:
        keys, record = documents.keys[:, row].tobytes(), documents.records[row].tobytes()
        values = (number, keys, record, documents.urls[row], documents.notes[row], until)
        return int(database.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", values).lastrowid or 0)

    def _delete(self, database: sqlite3.Connection, numbers: Sequence[int]) -> None:
        database.executemany("DELETE FROM documents WHERE number = ?", [(number,) for number in numbers])

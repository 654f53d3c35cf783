"""The index on a server of the Redis protocol, which crawlers on several machines share; commands for it."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Lease, LeasedDocument, Leases, Pending, Reservation
from scrapy_neardup.index.protocol import Documents, Filing, Found, Lookup, Stored
from scrapy_neardup.index.search import Matches, Met, closest, most_shared, put_together

from .jobs import Job
from .layout import EQUAL_BYTES, GROUP, NEAR_BYTES
from .opening import open_header
from .scripts import Call
from .server import Address, Server
from .store import BATCH, RETRY_SECONDS, Known, Store, Wanted, raised

#: Seconds that a pending document holds without being renewed.
LEASE_SECONDS = 60.0
#: Seconds that closing an index tries to write what was confirmed.
CLOSE_SECONDS = 30.0
#: Seconds after which what was settled is written, if it did not go along with what is asked, and after which
#: the server is asked for documents that are waited for.
TICK_SECONDS = 0.05
#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 18) // (NEAR_BYTES * EQUAL_BYTES) * NEAR_BYTES * EQUAL_BYTES
#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024


class RedisIndex:
    """The index at *address*; the protocol says what methods do, `open_index` what the arguments are.

    Raises `IndexUnavailable` while the server cannot be used; `close` tries to write for *close_seconds*.
    """

    remote = True

    def __init__(
        self,
        address: Address,
        wanted: Header | None,
        *,
        ignore: Collection[str] = (),
        window: float = 0,
        reset: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
        server: Server | None = None,
    ) -> None:
        self.address = address
        self.server = server or Server(address)
        self.header = open_header(self.server, wanted, ignore, window=window, reset=reset)
        self.store = Store(self.server, self.header, window)
        self.leases = Leases(lease_seconds, self.store.renew, self.store.leases)
        self._close_seconds = close_seconds
        self._closing = threading.Event()
        #: Documents that go once another one is confirmed.
        self._replaced: dict[Reservation, Known] = {}
        #: How often a document was judged anew.
        self._retries = 0
        self._thread = threading.Thread(target=self._tick, name="neardup-redis", daemon=True)
        self._thread.start()

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        self._require_open()
        found = self.store.read(self._wanted(document, lookups), MOST_BYTES)
        return self._found(document, lookups, *found)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        self._require_open()
        wanted, one = self._wanted(document, lookups), document
        filing: Filing | None = None
        judged: list[int] | None = None
        while True:
            # It is filed before it is judged: what it meets may have it taken out again.
            how: dict[str, Any] = {"anyway": judged is not None, "seconds": self.leases.seconds}
            (read,) = self.store.do(self.store.filing(one, wanted, MOST_BYTES, **how), once=True)
            reservation = self._hold(read.number, one) if read.number else None
            try:
                raised([read.unread])
                matches, cut = self.store.compared(read)
                if judged != (numbers := matches.document.tolist()):
                    self._retries += judged is not None
                    judged = numbers
                    filing = decide(self._found(document, lookups, matches, cut))
                if filing is None:
                    return None
                raised([read.failure])
                if reservation and filing.document is one:
                    self._replaced[reservation] = self.store.fetch(sorted(filing.replaces))
                    filed, reservation = reservation, None
                    return filed
                one = filing.document
            finally:
                if reservation:
                    reservation.release()

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0) -> Matches:
        return self.retrieve(family, keys, distance)[0]

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        self.flush()
        wanted = set(documents.tolist())
        known = self.store.fetch(sorted(wanted))
        if missing := wanted.difference(known.numbers):
            raise IndexCorrupted(f"Document {min(missing)} is missing: ask for those that a search finds.")
        return known.documents.stored.take(np.searchsorted(np.array(known.numbers, np.int64), documents))

    def _wanted(self, document: Documents, lookups: Sequence[Lookup]) -> list[Wanted]:
        """Return all that *lookups* of *document*, one row, look for."""
        keys = self.store.layout.keys(document)
        return [(each.family, key, each.distance) for each in lookups for key in keys[each.family]]

    def _found(self, document: Documents, lookups: Sequence[Lookup], every: Matches, cut: set[int]) -> Found:
        """Return what *lookups* of *document*, one row, find among *every* match of what was wanted.

        Of *cut* positions buckets were not read in full.
        """
        keys, met, end = self.store.layout.keys(document), list[Met](), 0
        for family, _, most, nearest, _ in lookups:
            part, rows = Met({}), range(end, end := end + len(keys[family]))
            if len(every.query):  # with most there is nothing
                some = every.take((every.query >= rows.start) & (every.query < rows.stop))
                if not self.header.families[family].equal:
                    part = closest((some,), nearest)
                else:
                    counts: Counter[int] = Counter()
                    for row in dict.fromkeys(some.query.tolist()):
                        numbers = some.document[some.query == row].tolist()
                        if most and len(numbers) > CAP + most:
                            self.store.crowded.add((family, keys[family][row - rows.start]))
                        if not most or len(numbers) <= most:
                            counts.update(numbers)
                    part = most_shared(counts, nearest)
            met.append(part._replace(narrowed=not cut.isdisjoint(rows)))
        numbers, shared, crowded, narrowed = put_together(met)
        if not len(numbers):  # so it is with most
            return Found(numbers, shared, self.store.layout.none.stored, [], crowded, narrowed)
        known = self.store.fetch(numbers.tolist())
        there = np.array(known.numbers, np.int64)
        shared = shared[:, numbers.searchsorted(there)]
        for row, lookup in zip(shared, lookups, strict=True):
            if row.any():
                # Entries have few bits of a hash, and a number that may be another one's; documents the keys.
                bits = [self._apart(lookup.family, known.documents, key) for key in keys[lookup.family]]
                np.minimum(row, (np.array(bits) <= lookup.distance).sum(axis=0), out=row)
        own = zip(known.numbers, known.documents.urls, known.leases, strict=True)
        pending = [self._handle(*each) for each in own]
        found = Found(there, shared, known.documents.stored, pending, crowded, narrowed)
        return found.take(np.flatnonzero(shared.any(axis=0)))

    def _apart(self, family: int, documents: Documents, key: int) -> NDArray[np.uint8]:
        """Return in how many bits the closest of the keys of each of some *documents* differs: uint8[n]."""
        theirs, has = documents.keys[self.header.rows[family]], self.header.families[family].has
        bits = np.bitwise_count(theirs ^ np.uint64(key))
        nearest: NDArray[np.uint8] = np.where(has(theirs), bits, np.uint8(255)).min(axis=0)
        return nearest

    def retrieve(self, family: int, keys: NDArray[np.uint64], distance: int = 0) -> tuple[Matches, Stored]:
        self._require_open()
        kind = self.header.families[family]
        matches, stored = list[Matches](), [Stored(np.empty(0, self.header.dtype), [], [])]
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            wanted = [(family, key, distance) for key in some[kind.has(some)].tolist()]
            found, _ = self.store.read(wanted)
            known = self.store.fetch(np.unique(found.document).tolist())
            numbers = np.array(known.numbers, np.int64)
            for query in np.flatnonzero(kind.has(some)).tolist() if len(numbers) else ():
                bits = self._apart(family, known.documents, some[query])
                (near,) = (bits <= distance).nonzero()
                matches.append(Matches(np.full(len(near), start + query), numbers[near], bits[near]))
                stored.append(known.documents.stored.take(near))
        return Matches.gather(matches), Stored.concatenate(stored)

    def add(self, documents: Documents) -> NDArray[np.int64]:
        store, numbers, parts = self.store, list[int](), len(self.store.prefixes)
        for start in range(0, len(documents.urls), BATCH):
            rows = range(len(documents.urls))[start : start + BATCH]
            ones = (documents.take(slice(row, row + 1)) for row in rows)
            # So that numbers go up from one to the next, whatever their part.
            last = max(map(int, store.ask(store.everywhere("GET", b"n"))))
            numbers += store.do(*(store.keeping(one, last + at * parts) for at, one in enumerate(ones)))
        return np.array(numbers, np.int64)

    def discard(self, documents: Sequence[int]) -> None:
        self.flush()
        known = self.store.fetch(sorted(set(documents)))
        gone = [self.store.removal(*each) for each in known.each()]
        for start in range(0, len(gone), BATCH):
            self.store.do(*gone[start : start + BATCH])

    def flush(self) -> None:
        self._require_open()
        if failure := self.store.write():
            raise failure

    def documents(self) -> Iterator[tuple[NDArray[np.int64], Documents]]:
        """Yield the numbers (int64[n]) and contents of all documents that are confirmed, some at a time."""
        of_parts = self.store.ask(self.store.everywhere("ZRANGE", b"t", more=(0, -1)))
        step = len(of_parts)
        firsts = sorted(int(one) * GROUP * step + part for part, some in enumerate(of_parts) for one in some)
        for start in range(0, len(firsts), BATCH // GROUP):
            some = firsts[start : start + BATCH // GROUP]
            wanted = (number for first in some for number in range(first, first + GROUP * step, step))
            numbers, documents, leases = self.store.fetch(sorted(wanted))
            rows = np.flatnonzero(np.array([lease.confirmed for lease in leases], bool))
            yield np.array(numbers, np.int64)[rows], documents.take(rows)

    def gauges(self) -> dict[str, int]:
        """Return numbers on size and health; of a closed index those that need no server."""
        stored = {}
        if not self._closing.is_set():
            self.flush()
            of_parts = self.store.everywhere
            counts = self.store.ask([*of_parts("GET", b"count"), *of_parts("ZCARD", b"p")])
            alive = self.store.ask(of_parts("ZCOUNT", b"p", more=(self.store.now(), "+inf")))
            kept = sum(int(each or 0) for each in counts[: len(alive)]) - sum(counts[len(alive) :])
            stored = {"documents": kept, "pending": sum(alive)}
        return stored | {
            "backlog": len(self.store.queue),
            "retries": self._retries,
            "lost": self.store.lost,
            "failed_calls": self.server.failed,
            "skipped_calls": self.server.skipped,
        }

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join()
        for reservation in [*self.leases.held.values()]:
            reservation.release()
        try:
            self.store.close(self._close_seconds)
        finally:
            self.server.close()

    def _hold(self, number: int, document: Documents) -> Reservation:
        """Return the reservation of a *document*, one row, that was just filed."""
        store = self.store

        def settle(reservation: Reservation) -> None:
            replaced = self._replaced.pop(reservation, None)
            if reservation.confirmed:
                kept = document._replace(notes=[reservation.note])
                gone = (Job(store.removal(*each), each[1]) for each in replaced.each()) if replaced else ()
                store.settle(Job(store.confirmation(number, kept), kept), *gone)
            else:
                store.settle(Job(store.removal(number, document)))
            self.leases.held.pop(number, None)

        reservation = self.leases.held[number] = Reservation(document.urls[0], settle)
        return reservation

    def _handle(self, number: int, url: str, lease: Lease) -> Pending | None:
        """Return the handle of a document that was found; None if it is no longer pending."""
        if lease.confirmed:
            return None
        return self.leases.held.get(number) or LeasedDocument(url, number, lease, self.leases)

    def _tick(self) -> None:
        """Write what was settled, renew leases, ask for what is waited for, until this is closed."""
        wait = TICK_SECONDS
        while not self._closing.wait(wait):
            wait = RETRY_SECONDS if self.store.write() else TICK_SECONDS
            self.leases.tick()

    def _require_open(self) -> None:
        if self._closing.is_set():
            raise IndexUnavailable("The index is closed: open it again.")


def describe(index: RedisIndex) -> dict[str, Any]:
    """Return numbers and parameters of the index, by name, ready for JSON."""
    header, gauges = index.header, index.gauges()
    return {
        "url": index.address.shown,
        "name": index.address.name,
        **{name: getattr(header, name) for name in ("uuid", "format", "created")},
        **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
        "tables": header.first_table[-1],
        "parts": len(index.store.prefixes),
        **{name: gauges[name] for name in ("documents", "pending")},
    }


def find_problems(index: RedisIndex) -> Iterator[str]:
    """Yield which documents are not in a bucket where they should be.

    Buckets expire by themselves, documents go later: of groups older than the window none is missed.
    """
    store = index.store
    windows = [int(each) for each in store.ask(store.everywhere("GET", b"w")) if each]
    for numbers, documents in index.documents():
        known = Known(numbers.tolist(), documents, [])
        places = [(each[0], place) for each in known.each() for place in store.filed(*each)]
        buckets = {place.bucket: place.part for _, place in places}
        parts = store.ask([Call(part, "GET", [bucket]) for bucket, part in buckets.items()])
        contents = dict(zip(buckets, parts, strict=True))
        young = str(store.now() - min(windows, default=math.inf)), "+inf", "BYSCORE", "LIMIT", 0, 1
        groups = store.ask(store.everywhere("ZRANGE", b"t", more=young))
        first = [int(each[0]) * GROUP * len(groups) if each else math.inf for each in groups]
        for number, (name, entry, *_) in places:
            data, width = contents[name] or b"", len(entry) + 4
            filed = [data[at : at + width] for at in range(0, len(data), width)]
            if len(data) % width:
                yield f"the bucket {name.hex()} was cut"
            elif (
                entry + (number & 0xFFFFFFFF).to_bytes(4, "little") not in filed
                and sum(each.startswith(entry) for each in filed) < CAP
                and number >= first[number % len(first)]
            ):
                yield f"document {number} is missing in the bucket {name.hex()}"

"""The index on a server of the Redis protocol, which crawlers on several machines share; commands for it."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index.leases import Leases
from scrapy_neardup.index.reservation import Reservation

from .finding import CAP, MAX_BYTES, Finder
from .layout import GROUP
from .server import Address, Server
from .store import BATCH, Store, open_header

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Filing, Found, Lookup, Pending, Stored
    from scrapy_neardup.index.search import Matches

    from .store import Known

#: Seconds that a pending document holds without being renewed.
LEASE_SECONDS = 60.0
#: Seconds that closing an index tries to write what was confirmed.
CLOSE_SECONDS = 30.0
#: How often a document is judged anew because others have filed like ones meanwhile.
ATTEMPTS = 100


class RedisIndex:
    """The index at *address*. The protocol `Index` says what the methods do.

    The other arguments are those of `open_index`. All calls may take as long as the network does, but for
    those of reservations; `close` tries to write what was confirmed for *close_seconds*. Raises
    `IndexUnavailable` while the server cannot be used.
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
        self._finder = Finder(self.store, self._handle)
        self.leases = Leases(lease_seconds, self._renew, self.store.leases)
        #: Pending documents of this process, by number.
        self._own: dict[int, Reservation] = {}
        self._lock = threading.Lock()
        self._close_seconds = close_seconds
        self._closed = False
        #: How often a document was judged anew.
        self._retries = 0

    # Finding

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        self._require_open()
        _, candidates = self._finder.look(document, lookups)
        return self._finder.found(document, lookups, candidates)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        self._require_open()
        for _ in range(ATTEMPTS):
            looked, candidates = self._finder.look(document, lookups)
            filing = decide(self._finder.found(document, lookups, candidates))
            if filing is None:
                return None
            last = self.store.generations[-1]
            places = self.store.layout.places(filing.document, last, candidates.crowded)
            replaced = self.store.fetch(sorted(filing.replaces)) if filing.replaces else self.store.nothing
            number = self.store.calls.run(
                self.store.filing(filing.document, places, looked.places, looked.newest, self.leases.seconds)
            )
            if number > 0:
                return self._hold(number, filing.document, replaced)
            if number < 0:
                self.store.learn_generations()
            self._retries += 1
        raise IndexUnavailable(
            f"The index {self.address.shown} changes faster than a document can be filed: use fewer crawlers."
        )

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        self._before_reading()
        return self._finder.search(family, keys, distance, most)[0]

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        self._before_reading()
        matches, known = self._finder.search(family, keys, 0, 0)
        rows = np.searchsorted(np.array(known.numbers, np.int64), matches.document)
        return matches, known.documents.stored.take(rows)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        self._before_reading()
        wanted = set(documents.tolist())
        known = self.store.fetch(sorted(wanted))
        if missing := wanted.difference(known.numbers):
            raise IndexCorrupted(f"Document {min(missing)} is missing: ask for those that a search finds.")
        return known.documents.stored.take(np.searchsorted(np.array(known.numbers, np.int64), documents))

    # Filing

    def add(self, documents: Documents) -> NDArray[np.int64]:
        numbers: list[int] = []
        for start in range(0, len(documents.urls), BATCH):
            some = documents.take(slice(start, start + BATCH))
            ones = [some.take(slice(row, row + 1)) for row in range(len(some.urls))]
            numbers += self.store.file(ones)
        return np.array(numbers, np.int64)

    def discard(self, documents: Sequence[int]) -> None:
        self._before_reading()
        known = self.store.fetch(sorted(set(documents)))
        calls = [self.store.removal(number, known.document(number)).call for number in known.numbers]
        for start in range(0, len(calls), BATCH):
            self.store.calls.run_all(calls[start : start + BATCH])

    def flush(self) -> None:
        self.store.calls.drain()

    def gauges(self) -> dict[str, int]:
        """Return numbers on size and health; of a closed index those that need no server."""
        calls = self.store.calls
        stored = {}
        if not self._closed:
            calls.drain()
            prefix = self.address.prefix
            seconds, microseconds = map(int, self.server.call("TIME"))
            now = seconds * 1000 + microseconds // 1000
            stored = {
                "documents": int(self.server.call("GET", prefix + b"count") or 0)
                - self.server.call("ZCARD", prefix + b"p"),
                "pending": self.server.call("ZCOUNT", prefix + b"p", now, "+inf"),
            }
        return stored | {
            "backlog": calls.backlog,
            "retries": self._retries,
            "lost": calls.lost,
            "failed_calls": self.server.failed,
            "skipped_calls": self.server.skipped,
        }

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            own = list(self._own.values())
        for reservation in own:
            reservation.release()
        self.leases.close()
        try:
            self.store.calls.close(self._close_seconds)
        finally:
            self.server.close()

    # Pending documents

    def _hold(self, number: int, document: Documents, replaced: Known) -> Reservation:
        """Return the reservation of a *document*, one row, that was just filed.

        Those that are *replaced* go once it is confirmed.
        """
        store = self.store

        def settle(reservation: Reservation) -> None:
            if reservation.confirmed:
                kept = document._replace(notes=[reservation.note])
                gone = [store.removal(each, replaced.document(each)) for each in replaced.numbers]
                store.calls.settle([store.confirmation(number, kept), *gone])
            else:
                store.calls.settle([store.removal(number, document)])
            with self._lock:
                self._own.pop(number, None)
            self.leases.drop(number)

        reservation = Reservation(document.urls[0], settle)
        with self._lock:
            self._own[number] = reservation
        self.leases.hold(number)
        return reservation

    def _handle(self, number: int, url: str, lease: Lease) -> Pending | None:
        """Return the handle of a document that was found; None if it is no longer pending."""
        if lease.confirmed:
            return None
        return self._own.get(number) or self.leases.watch(url, number, lease)

    def _renew(self, numbers: Sequence[int]) -> None:
        self.store.renew(numbers, self.leases.seconds)

    def _before_reading(self) -> None:
        """Write what this process has settled, so that the next answers show it."""
        self._require_open()
        self.store.calls.drain()

    def _require_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("The index is closed: open it again.")


def opened(url: str) -> closing[RedisIndex]:
    """Open the index of *url*, which has to be there, beside its other users."""
    return closing(RedisIndex(Address.parse(url), None))


def all_documents(index: RedisIndex) -> Iterator[tuple[NDArray[np.int64], Documents]]:
    """Yield the numbers (int64[n]) and the contents of all documents that are confirmed, some at a time."""
    groups = [int(each) for each in index.server.call("ZRANGE", index.address.prefix + b"t", 0, -1)]
    for start in range(0, len(groups), BATCH // GROUP):
        some = sorted(groups[start : start + BATCH // GROUP])
        wanted = [number for group in some for number in range(group * GROUP, (group + 1) * GROUP)]
        numbers, documents, leases = index.store.fetch(wanted)
        rows = np.flatnonzero(np.array([lease.confirmed for lease in leases], bool))
        yield np.array(numbers, np.int64)[rows], documents.take(rows)


def describe(index: RedisIndex) -> dict[str, Any]:
    """Return numbers and parameters of the index, by name, ready for JSON."""
    header, gauges = index.header, index.gauges()
    return {
        "url": index.address.shown,
        "name": index.address.name,
        "uuid": header.uuid,
        "format": header.format,
        "created": header.created,
        **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
        "tables": [len(family.tables) for family in header.families],
        "documents": gauges["documents"],
        "pending": gauges["pending"],
    }


def find_problems(index: RedisIndex) -> Iterator[str]:
    """Yield what is wrong: documents that are not in a bucket where they should be.

    A key that more than a thousand documents have need not be filed.
    """
    store = index.store
    for numbers, documents in all_documents(index):
        places = [
            (number, place)
            for row, number in enumerate(numbers.tolist())
            for place in store.layout.places(documents.take(slice(row, row + 1)), store.generation_of(number))
        ]
        buckets = list(dict.fromkeys(place.bucket for _, place in places))
        _, _, _, *parts = store.calls.run(store.looking((), buckets, MAX_BYTES))
        contents = dict(zip(buckets, parts, strict=True))
        for number, (name, entry) in places:
            data, width = contents[name], len(entry) + 4
            filed = [data[at : at + width] for at in range(0, len(data), width)]
            if len(data) % width:
                yield f"the bucket {name.hex()} was cut"
            elif entry + (number & 0xFFFFFFFF).to_bytes(4, "little") not in filed and (
                sum(each.startswith(entry) for each in filed) < CAP
            ):
                yield f"document {number} is missing in the bucket {name.hex()}"

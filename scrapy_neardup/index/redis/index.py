"""The index on a server of the Redis protocol, which crawlers on several machines share; commands for it."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index.leases import Leases
from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.index.search import NO_MATCHES, NONE_MET, Matches, Met, closest, is_member, most_shared

from .layout import GROUP, NEAR_BYTES, unpack_near, unpack_numbers
from .server import Address, Server
from .store import BATCH, Store, open_header

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Filing, Lookup, Pending, Stored

    from .layout import Generation
    from .store import Known

#: Seconds that a pending document holds without being renewed.
LEASE_SECONDS = 60.0
#: Seconds that closing an index tries to write what was confirmed.
CLOSE_SECONDS = 30.0
#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 18) // NEAR_BYTES * NEAR_BYTES
#: No value of a server is longer.
MAX_BYTES = 1 << 29
#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024
#: How often a document is judged anew because others have filed like ones meanwhile.
ATTEMPTS = 100


class Wanted(NamedTuple):
    """A key that is looked up, and within what distance."""

    family: int
    key: int
    distance: int = 0


class Looked(NamedTuple):
    """What one look has met, when the number *newest* was the last one that was given to a document."""

    met: Mapping[Wanted, list[Matches]] = {}
    newest: int = 0
    #: Where somebody else may file what would be met: buckets, and the entries but for their numbers.
    places: frozenset[tuple[bytes, bytes]] = frozenset()
    #: The keys of which not all was read.
    cut: frozenset[Wanted] = frozenset()


def _meet(lookup: Lookup, equal: bool, parts: dict[int, list[Matches]], crowded: set[tuple[int, int]]) -> Met:
    """Return what a *lookup* has met, given what the probes of each key have; add to *crowded*."""
    if lookup.nearest and not equal and len(parts) == 1:
        (of_key,) = parts.values()
        return closest(of_key, lookup.nearest)
    found = []
    for key, of_key in parts.items():
        numbers = np.unique(np.concatenate([part.document for part in of_key]))
        if lookup.most and len(numbers) > CAP + lookup.most:
            crowded.add((lookup.family, key))
        if not lookup.most or len(numbers) <= lookup.most:
            found.append(numbers)
    if not found:
        return NONE_MET
    whole = Met(*np.unique(np.concatenate(found), return_counts=True))
    return most_shared(whole, lookup.nearest) if lookup.nearest else whole


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
        self.leases = Leases(
            lease_seconds, lambda numbers: self.store.renew(numbers, lease_seconds), self.store.leases
        )
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
        _, met, _ = self._look_up(document, lookups)
        return self._found(document, lookups, met)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        self._require_open()
        for _ in range(ATTEMPTS):
            looked, met, crowded = self._look_up(document, lookups)
            filing = decide(self._found(document, lookups, met))
            if filing is None:
                return None
            last = self.store.generations[-1]
            places = self.store.layout.places(filing.document, last, crowded)
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
        return self._search(family, keys, distance, most)[0]

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        self._before_reading()
        matches, known = self._search(family, keys, 0, 0)
        rows = np.searchsorted(np.array(known.numbers, np.int64), matches.document)
        return matches, known.documents.stored.take(rows)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        self._before_reading()
        wanted = set(documents.tolist())
        known = self.store.fetch(sorted(wanted))
        if missing := wanted.difference(known.numbers):
            raise IndexCorrupted(f"Document {min(missing)} is missing: ask for those that a search finds.")
        return known.documents.stored.take(np.searchsorted(np.array(known.numbers, np.int64), documents))

    def _look_up(
        self, document: Documents, lookups: Sequence[Lookup]
    ) -> tuple[Looked, list[Met], set[tuple[int, int]]]:
        """Look up *document*, one row: return what is there, and what each lookup has met.

        Returned besides: keys, with their families, that so many have that no more need to be filed.
        """
        layout = self.store.layout
        keys = layout.keys(document)
        asked = [[Wanted(each.family, key, each.distance) for key in keys[each.family]] for each in lookups]
        looked = self._look([each for some in asked for each in some], MOST_BYTES)
        crowded: set[tuple[int, int]] = set()
        found = []
        for lookup, wanted in zip(lookups, asked, strict=True):
            parts = {each.key: looked.met[each] for each in wanted if each in looked.met}
            met = _meet(lookup, layout.equal[lookup.family], parts, crowded)
            found.append(met._replace(narrowed=not looked.cut.isdisjoint(wanted)))
        return looked, found, crowded

    def _look(self, wanted: Sequence[Wanted], most: int) -> Looked:
        """Read the buckets of keys, of each the last bytes, *most* of them."""
        store = self.store
        while True:
            last = store.generations[-1]
            equal: dict[tuple[bytes, bytes], tuple[Generation, list[Wanted]]] = {}
            near: dict[bytes, tuple[Generation, list[tuple[Wanted, int, int]]]] = {}
            filed: list[tuple[bytes, bytes]] = []
            for each in wanted:
                for generation in store.generations:
                    for bucket, entry, within in store.layout.looked_up(*each, generation):
                        if store.layout.equal[each.family]:
                            equal.setdefault((bucket, entry), (generation, []))[1].append(each)
                        else:
                            target = int.from_bytes(entry, "little")
                            near.setdefault(bucket, (generation, []))[1].append((each, target, within))
                        if generation == last:  # nothing new comes into an earlier one
                            filed.append((bucket, entry))
            if not wanted:
                store.calls.drain()
                return Looked()
            # What this process has settled goes along, and is seen.
            looking = store.looking([*equal], near, most)
            newest, known, oldest, *parts = store.calls.run(looking, reads=True)
            if store.learn(known):
                break
        met: dict[Wanted, list[Matches]] = {}
        cut: set[Wanted] = set()

        def add(each: Wanted, numbers: NDArray[np.int64], distances: NDArray[np.uint8]) -> None:
            if oldest:
                there = numbers >= int(oldest)
                numbers, distances = numbers[there], distances[there]
            if len(numbers):
                met.setdefault(each, []).append(Matches(np.zeros(len(numbers), np.int64), numbers, distances))

        for (generation, keys), data in zip(equal.values(), parts, strict=False):
            for each in keys if data else ():  # most have none
                numbers = unpack_numbers(data, generation)
                add(each, numbers, np.zeros(len(numbers), np.uint8))
        for (generation, probes), data in zip(near.values(), parts[len(equal) :], strict=True):
            stored, numbers = unpack_near(data, generation)
            for each, target, within in probes if data else ():
                bits = np.bitwise_count(stored ^ np.uint64(target))
                (rows,) = (bits <= within).nonzero()
                add(each, numbers[rows], bits[rows] + np.uint8(each.distance - within))
                if len(data) == most:
                    cut.add(each)
        return Looked(met, int(newest), frozenset(filed), frozenset(cut))

    def _found(self, document: Documents, lookups: Sequence[Lookup], met: Sequence[Met]) -> Found:
        """Return those documents that are there of what lookups have *met*."""
        wanted = sorted(set().union(*(each.documents.tolist() for each in met)))
        crowded = any(each.crowded for each in met)
        narrowed = any(each.narrowed for each in met)
        known = self.store.fetch(wanted) if wanted else self.store.nothing
        there = np.array(known.numbers, np.int64)
        shared = np.zeros((len(lookups), len(there)), np.int64)
        if not len(there):  # so it is for most pages
            return Found(there, shared, known.documents.stored, [], crowded, narrowed)
        for row, each in zip(shared, met, strict=True):
            still = is_member(each.documents, there)
            row[there.searchsorted(each.documents[still])] = each.shared[still]
        self._verify(document, lookups, known, shared)
        rows = zip(known.numbers, known.documents.urls, known.leases, strict=True)
        pending = [self._handle(*each) for each in rows]
        found = Found(there, shared, known.documents.stored, pending, crowded, narrowed)
        meets = shared.any(axis=0)
        return found if meets.all() else found.take(np.flatnonzero(meets))

    def _verify(
        self, document: Documents, lookups: Sequence[Lookup], known: Known, shared: NDArray[np.int64]
    ) -> None:
        """Correct how many equal keys are *shared*: entries have few bits of a hash, documents the keys."""
        header = self.store.header
        for lookup, (family, *_) in enumerate(lookups):
            kind, rows = header.families[family], header.rows[family]
            if not kind.equal or not shared[lookup].any():
                continue
            ours = document.keys[rows, 0]
            ours = np.unique(ours[kind.has(ours)])
            equal = (known.documents.keys[rows][:, :, np.newaxis] == ours).any(axis=0).sum(axis=1)
            np.minimum(shared[lookup], equal, out=shared[lookup])

    def _search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int
    ) -> tuple[Matches, Known]:
        """Do what `Index.search` does; return also what the server says of the documents."""
        met: dict[int, set[int]] = {}
        has = self.store.header.families[family].has(keys).tolist()
        for start in range(0, len(keys), BATCH):
            some = enumerate(keys[start : start + BATCH].tolist(), start)
            wanted = {number: Wanted(family, key, distance) for number, key in some if has[number]}
            looked = self._look(list(wanted.values()), MAX_BYTES)
            for number, each in wanted.items():
                for part in looked.met.get(each, ()):
                    met.setdefault(number, set()).update(part.document.tolist())
        known = self.store.fetch(sorted(set().union(*met.values())))
        place = {number: row for row, number in enumerate(known.numbers)}
        stored = known.documents.keys[self.store.header.rows[family]]
        held = self.store.header.families[family].has(stored)
        parts = []
        for query, numbers in sorted(met.items()):
            at = np.array(sorted(place[number] for number in numbers if number in place), np.int64)
            differ = np.bitwise_count(stored[:, at] ^ keys[query])
            bits = np.where(held[:, at], differ, np.uint8(255)).min(axis=0)
            at, bits = at[bits <= distance], bits[bits <= distance]
            if len(at) and not (most and len(at) > most):
                documents = np.array(known.numbers, np.int64)[at]
                parts.append(Matches(np.full(len(at), query), documents, bits.astype(np.uint8)))
        if not parts:
            return NO_MATCHES, known
        return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True))), known

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

"""The index on a server of the Redis protocol, which crawlers on several machines share."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.leases import Lease, Leases
from scrapy_neardup.index.protocol import NO_MATCHES, Documents, Found, Matches, Stored
from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.index.search import NONE_MET, Met, closest, most_shared
from scrapy_neardup.index.sorted_arrays import is_member

from .buckets import Bucket, BucketMemory
from .layout import NEAR_BYTES, Layout
from .opening import open_header, write_header
from .scripts import CONFIRM, FETCH, FILE, LEASES, LOOK, REMOVE, RENEW
from .server import Call, IndexGone, Server
from .settling import Settling, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Filing, Lookup, Pending

    from .address import Address
    from .layout import Place

#: Seconds that a pending document holds without being renewed.
LEASE_SECONDS = 60.0
#: How often a document is judged anew because others have filed like ones meanwhile.
ATTEMPTS = 100
#: Documents sent or asked for in one round trip.
BATCH = 512
#: A key that so many documents have is not filed any more if a lookup passes it over long before.
CAP = 1024


class Probe(NamedTuple):
    """One bucket to be looked at, for one key of a lookup."""

    lookup: int
    key: int
    name: bytes
    size: int
    #: What the entries are compared with, and in how many bits they may differ.
    target: int
    distance: int


class Candidates(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: What each lookup has met.
    met: list[Met]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]


class RedisIndex:
    """The index at *address*. The protocol `Index` says what the methods do.

    The other arguments are those of `LmdbIndex`. All calls may take as long as the network does, but for
    those of reservations. Raises `IndexUnavailable` while the server cannot be used.
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
        server: Server | None = None,
    ) -> None:
        self.address = address
        self.server = server or Server(address)
        self.header = open_header(self.server, wanted, ignore, window=window, reset=reset)
        self.layout = Layout(self.header, address.prefix)
        self.leases = Leases(lease_seconds, self._renew, self._ask)
        self._window = round(window * 1000)
        self._memory = BucketMemory()
        self._settling = Settling(self._run_all)
        #: Pending documents of this process, by number.
        self._own: dict[int, Reservation] = {}
        self._lock = threading.Lock()
        self._closed = False
        #: How often a document was judged anew.
        self._retries = 0

    # Finding

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        self._require_open()
        probes = self._probes(document, lookups)
        return self._found(document, lookups, self._compare(probes, self._look(probes), lookups))[0]

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        self._require_open()
        probes = self._probes(document, lookups)
        buckets = self._look(probes)
        for _ in range(ATTEMPTS):
            candidates = self._compare(probes, buckets, lookups)
            found, known = self._found(document, lookups, candidates)
            filing = decide(found)
            if filing is None:
                return None
            places = self.layout.places(filing.document, candidates.crowded)
            age = self.server.age
            number, *parts = self._run(self._filing(filing.document, places, buckets, self.leases.seconds))
            if number:
                return self._hold(number, filing, places, known)
            self._retries += 1
            buckets = self._follow(buckets, parts[0], age)
        raise IndexUnavailable(
            f"The index {self.address.shown} changes faster than a document can be filed: use fewer crawlers."
        )

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        return self._search(family, keys, distance, most)[0]

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        matches, known = self._search(family, keys, 0, 0)
        rows = np.searchsorted(np.array(known.numbers, np.int64), matches.document)
        return matches, known.documents.stored.take(rows)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        self._before_reading()
        known = self._fetch(sorted(set(documents.tolist())))
        return known.documents.stored.take(np.searchsorted(np.array(known.numbers, np.int64), documents))

    # Filing

    def add(self, documents: Documents) -> NDArray[np.int64]:
        numbers: list[int] = []
        for start in range(0, len(documents.urls), BATCH):
            some = documents.take(slice(start, start + BATCH))
            ones = [some.take(slice(row, row + 1)) for row in range(len(some.urls))]
            answers = self._run_all([self._filing(one, self.layout.places(one)) for one in ones])
            numbers += [number for (number,) in answers]
        return np.array(numbers, np.int64)

    def discard(self, documents: Sequence[int]) -> None:
        self._before_reading()
        known = self._fetch(sorted(set(documents)))
        calls = [self._removal(number, self._places_of(known, number)) for number in known.numbers]
        for start in range(0, len(calls), BATCH):
            self._run_all(calls[start : start + BATCH])

    def flush(self) -> None:
        self._settling.drain()

    def gauges(self) -> dict[str, int]:
        self._before_reading()
        prefix = self.address.prefix
        stored = int(self.server.call("GET", prefix + b"count") or 0)
        seconds, microseconds = map(int, self.server.call("TIME"))
        now = seconds * 1000 + microseconds // 1000
        unsettled = int(self.server.call("ZCARD", prefix + b"p"))
        return {
            "documents": stored - unsettled,
            "pending": int(self.server.call("ZCOUNT", prefix + b"p", now, "+inf")),
            "backlog": len(self._settling),
            "retries": self._retries,
            "lost": self._settling.lost,
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
            self._settling.close()
        finally:
            self.server.close()

    # For commands

    def run(self, script: str, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Any:
        """Run a script of scripts.py on this index."""
        return self._run(self._call(script, keys, arguments))

    def states(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*: those that are kept are confirmed."""
        return self._ask(numbers)

    # Looking up

    def _probes(self, document: Documents, lookups: Sequence[Lookup]) -> list[Probe]:
        """Return the probes of *document*, one row."""
        probes: dict[Probe, None] = {}
        for number, (family, distance, *_) in enumerate(lookups):
            for key in self.layout.keys(document, family):
                for probe in self._key_probes(number, family, key, distance):
                    probes[probe] = None
        return list(probes)

    def _key_probes(self, lookup: int, family: int, key: int, distance: int) -> list[Probe]:
        kind = self.header.families[family]
        if kind.equal:
            (place,) = self.layout.key_places(family, key)
            target = int.from_bytes(place.entry, "little")
            return [Probe(lookup, key, place.bucket, place.size, target, 0)]
        probes: dict[Probe, None] = {}
        bits, table = self.layout.bits[family], self.header.first_table[family]
        for number, (permuted, flips) in enumerate(
            zip(kind.tables.permute(key), kind.tables.flips(distance), strict=True)
        ):
            for flip in flips:
                name = self.layout.bucket(table + number, (permuted ^ flip) >> 64 - bits, bits)
                # Entries lack the first 16 bits, which name the bucket.
                rest = distance - (flip >> 48).bit_count()
                probes[Probe(lookup, key, name, NEAR_BYTES, permuted & 2**48 - 1, rest)] = None
        return list(probes)

    def _look(self, probes: Sequence[Probe]) -> dict[bytes, Bucket]:
        """Read the buckets of *probes*; return them by their names."""
        sizes = {probe.name: probe.size for probe in probes}
        if not sizes:
            self._settling.drain()
            return {}
        age = self.server.age
        names = list(sizes)
        buckets = dict(zip(names, self._memory.known(names, list(sizes.values()), age), strict=True))
        arguments = [each for bucket in buckets.values() for each in bucket.arguments()]
        # What this process has settled goes along, and is seen.
        return self._follow(buckets, self._settling.drain(self._call(LOOK, names, arguments)), age)

    def _whole(self, buckets: Iterable[tuple[bytes, Bucket]]) -> dict[bytes, Bucket]:
        """Read *buckets*, of which the oldest entries were passed over, in full; they are not kept."""
        return {
            name: bucket.followed(*self._run(self._call(LOOK, [name], bucket.arguments(whole=True)))[0])
            for name, bucket in ((name, Bucket.unknown(cut.size)) for name, cut in buckets)
        }

    def _follow(self, buckets: dict[bytes, Bucket], parts: Sequence[Any], age: int) -> dict[bytes, Bucket]:
        """Return *buckets* with what the server says of them."""
        newest = {
            name: bucket.followed(*part) for (name, bucket), part in zip(buckets.items(), parts, strict=True)
        }
        self._memory.keep(list(newest), list(newest.values()), age)
        return newest

    def _compare(
        self, probes: Sequence[Probe], buckets: dict[bytes, Bucket], lookups: Sequence[Lookup]
    ) -> Candidates:
        """Return what *probes* meet in *buckets*."""
        met: list[dict[int, list[Matches]]] = [{} for _ in lookups]
        narrowed = [False for _ in lookups]
        for probe in probes:
            bucket = buckets[probe.name]
            narrowed[probe.lookup] |= bucket.is_cut
            if len(bucket.keys) and len((matches := _matches(probe, bucket, lookups[probe.lookup])).document):
                met[probe.lookup].setdefault(probe.key, []).append(matches)
        crowded: set[tuple[int, int]] = set()
        return Candidates(
            [
                self._meet(lookup, parts, crowded)._replace(narrowed=cut)
                for lookup, parts, cut in zip(lookups, met, narrowed, strict=True)
            ],
            crowded,
        )

    def _meet(self, lookup: Lookup, parts: dict[int, list[Matches]], crowded: set[tuple[int, int]]) -> Met:
        """Return what one *lookup* has met, given what the probes of each key have.

        Keys that so many documents have that no more need to be filed are added to *crowded*.
        """
        if lookup.nearest and not self.header.families[lookup.family].equal and len(parts) == 1:
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

    def _found(
        self, document: Documents, lookups: Sequence[Lookup], candidates: Candidates
    ) -> tuple[Found, Known]:
        """Return those of *candidates* that are there, and all that the server says of them."""
        known = self._fetch(sorted(set().union(*(each.documents.tolist() for each in candidates.met))))
        there = np.array(known.numbers, np.int64)
        shared = np.zeros((len(lookups), len(there)), np.int64)
        for row, each in zip(shared, candidates.met, strict=True):
            still = is_member(each.documents, there)
            row[there.searchsorted(each.documents[still])] = each.shared[still]
        self._verify(document, lookups, known, shared)
        pending = [
            self._handle(number, known.documents.urls[row], known.leases[row])
            for row, number in enumerate(known.numbers)
        ]
        found = Found(
            there,
            shared,
            known.documents.stored,
            pending,
            crowded=any(each.crowded for each in candidates.met),
            narrowed=any(each.narrowed for each in candidates.met),
        )
        meets = shared.any(axis=0) if len(lookups) else np.zeros(0, bool)
        return (found if meets.all() else found.take(np.flatnonzero(meets))), known

    def _verify(
        self, document: Documents, lookups: Sequence[Lookup], known: Known, shared: NDArray[np.int64]
    ) -> None:
        """Correct how many equal keys are *shared*: entries have 24 bits of a hash, documents the keys."""
        for lookup, (family, *_) in enumerate(lookups):
            kind, rows = self.header.families[family], self.header.rows[family]
            if not kind.equal or not shared[lookup].any():
                continue
            ours = document.keys[rows, 0]
            ours = np.unique(ours[kind.has(ours)])
            equal = (known.documents.keys[rows][:, :, np.newaxis] == ours).any(axis=0).sum(axis=1)
            np.minimum(shared[lookup], equal, out=shared[lookup])

    def _handle(self, number: int, url: str, lease: Lease) -> Pending | None:
        if lease.confirmed:
            return None
        return self._own.get(number) or self.leases.watch(url, number, lease)

    def _fetch(self, numbers: Sequence[int]) -> Known:
        """Return those of the documents *numbers*, ascending, that are there, with all that is stored."""
        there: list[int] = []
        values: list[bytes] = []
        leases: list[Lease] = []
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            for number, (value, lease) in zip(some, self._run(self._call(FETCH, (), some)), strict=True):
                if value is None:
                    continue
                if lease == 0:
                    places = self.layout.places(self.layout.documents([value]))
                    self._settling.put([Write(self._removal(number, places, if_lapsed=True))])
                    continue
                there.append(number)
                values.append(value)
                leases.append(_lease(lease))
        return Known(there, self.layout.documents(values), leases)

    def _search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int
    ) -> tuple[Matches, Known]:
        self._before_reading()
        kind = self.header.families[family]
        met: dict[int, set[int]] = {}
        for start in range(0, len(keys), BATCH):
            asked = keys[start : start + BATCH]
            probes = [
                probe
                for row, key in enumerate(asked.tolist(), start)
                if not (kind.equal and kind.keys > 1 and not kind.has(keys[row : row + 1])[0])
                for probe in self._key_probes(row, family, key, distance)
            ]
            buckets = self._look(probes)
            whole = self._whole(bucket for bucket in buckets.items() if bucket[1].is_cut)
            for probe in probes:
                bucket = whole.get(probe.name) or buckets[probe.name]
                if len(bucket.keys):
                    (found,) = (
                        np.bitwise_count(bucket.keys ^ np.uint64(probe.target)) <= probe.distance
                    ).nonzero()
                    met.setdefault(probe.lookup, set()).update(bucket.numbers[found].tolist())
        known = self._fetch(sorted(set().union(*met.values())))
        place = {number: row for row, number in enumerate(known.numbers)}
        stored = known.documents.keys[self.header.rows[family]]
        has = kind.has(stored)
        parts = []
        for query, numbers in sorted(met.items()):
            at = np.array(sorted(place[number] for number in numbers if number in place), np.int64)
            if not len(at):
                continue
            bits = np.where(has[:, at], np.bitwise_count(stored[:, at] ^ keys[query]), np.uint8(255)).min(
                axis=0
            )
            at, bits = at[bits <= distance], bits[bits <= distance]
            if len(at) and not (most and len(at) > most):
                found_numbers = np.array(known.numbers, np.int64)[at]
                parts.append(Matches(np.full(len(at), query), found_numbers, bits.astype(np.uint8)))
        if not parts:
            return NO_MATCHES, known
        return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True))), known

    # Filing and settling

    def _filing(
        self,
        document: Documents,
        places: Sequence[Place],
        buckets: dict[bytes, Bucket] | None = None,
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, if none of *buckets* has changed."""
        buckets = buckets or {}
        looked = [each for bucket in buckets.values() for each in bucket.arguments()]
        keys = [*buckets, *(place.bucket for place in places)]
        arguments: list[bytes | str | int] = [
            self.layout.value(document),
            round(lease_seconds * 1000),
            self._window,
            len(buckets),
        ]
        return self._call(FILE, keys, [*arguments, *looked, *(place.entry for place in places)])

    def _removal(self, number: int, places: Sequence[Place], *, if_lapsed: bool = False) -> Call:
        """Return the call that removes a document from *places*."""
        keys, entries = [place.bucket for place in places], [place.entry for place in places]
        return self._call(REMOVE, keys, [number, int(if_lapsed), *entries])

    def _hold(self, number: int, filing: Filing, places: Sequence[Place], known: Known) -> Reservation:
        """Return the reservation of a document that was just filed."""
        # What is replaced was met, as a rule, so it need not be asked for again.
        replaced = {each: self._places_of(known, each) for each in filing.replaces if each in known.numbers}

        def settle(reservation: Reservation) -> None:
            kept = None
            if reservation.confirmed:
                kept = filing.weak if reservation.weak else filing.document
            writes = self._settlement(number, filing.document, kept, places)
            if reservation.confirmed:
                writes += [Write(self._removal(*each)) for each in replaced.items()]
                others = [each for each in filing.replaces if each not in replaced]
                if others:
                    writes.append(
                        Write(self._call(FETCH, (), others), partial(self._discard_fetched, others))
                    )
            self._settling.put(writes)
            with self._lock:
                self._own.pop(number, None)
            self.leases.drop(number)

        reservation = Reservation(filing.document.urls[0], settle)
        with self._lock:
            self._own[number] = reservation
        self.leases.hold(number)
        return reservation

    def _settlement(
        self, number: int, filed: Documents, kept: Documents | None, places: Sequence[Place]
    ) -> list[Write]:
        """Return what makes of a pending document that was *filed* the one that is *kept*, None for none."""

        def file_again(there: int) -> bool:
            if there:
                return False
            assert kept is not None  # its lease had run out
            self._run(self._filing(kept, self.layout.places(kept)))
            return True

        if kept is None:
            return [Write(self._removal(number, places))]
        if kept is not filed and not np.array_equal(kept.keys, filed.keys):
            return [Write(self._removal(number, places), lambda _: file_again(0))]
        value = b"" if kept is filed else self.layout.value(kept)
        return [Write(self._call(CONFIRM, (), (number, value)), file_again)]

    def _discard_fetched(self, numbers: Sequence[int], answers: Sequence[tuple[bytes | None, int]]) -> bool:
        """Remove documents, given what FETCH says of them."""
        for number, (value, _) in zip(numbers, answers, strict=True):
            if value is not None:
                self._run(self._removal(number, self.layout.places(self.layout.documents([value]))))
        return True

    def _places_of(self, known: Known, number: int) -> list[Place]:
        row = known.numbers.index(number)
        return self.layout.places(known.documents.take(slice(row, row + 1)))

    # Leases

    def _renew(self, numbers: Sequence[int]) -> None:
        self._run(self._call(RENEW, (), (round(self.leases.seconds * 1000), *numbers)))

    def _ask(self, numbers: Sequence[int]) -> list[Lease]:
        return [_lease(each) for each in self._run(self._call(LEASES, (), numbers))]

    # The server

    def _before_reading(self) -> None:
        """Have what this process has settled be seen."""
        self._require_open()
        self._settling.drain()

    def _require_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("The index is closed: open it again.")

    def _call(self, script: str, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Call:
        prefix = self.address.prefix
        return Call(script, [prefix + b"id", *keys], [self.header.uuid, prefix, *arguments])

    def _run(self, call: Call) -> Any:
        try:
            return self.server.run(call)
        except IndexGone:
            self._restore()
            return self.server.run(call)

    def _run_all(self, calls: Sequence[Call]) -> list[Any]:
        try:
            return self.server.run_all(calls)
        except IndexGone:
            self._restore()
            return self.server.run_all(calls)

    def _restore(self) -> None:
        """Begin an empty index with the header of this one: the server has lost it.

        Raises `IndexUnavailable` if there is another one now.
        """
        if write_header(self.server, self.header).uuid != self.header.uuid:
            raise IndexUnavailable(
                f"Another index is in {self.address.shown} now: start this crawl anew to use that one."
            )


def _matches(probe: Probe, bucket: Bucket, lookup: Lookup) -> Matches:
    """Return the entries of *bucket* that *probe* meets."""
    if probe.size == NEAR_BYTES:
        bits = np.bitwise_count(bucket.keys ^ np.uint64(probe.target))
        (rows,) = (bits <= probe.distance).nonzero()
        distances = bits[rows] + np.uint8(lookup.distance - probe.distance)
    else:
        (rows,) = (bucket.keys == np.uint64(probe.target)).nonzero()
        distances = np.zeros(len(rows), np.uint8)
    return Matches(np.zeros(len(rows), np.int64), bucket.numbers[rows], distances)


def _lease(milliseconds: int) -> Lease:
    """Return what the scripts say of a lease."""
    return Lease(None, milliseconds / 1000) if milliseconds > 0 else Lease(milliseconds == -1)

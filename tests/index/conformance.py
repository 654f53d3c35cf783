"""What every index has to do, as tests: a back-end subclasses `IndexConformance` in a test module of its own.

    class TestScratch(IndexConformance):
        def open(self) -> Index:
            return LmdbIndex(None, HEADER)

pytest finds the methods. They use no more than the protocol, and compare with plain Python. An index that
outlives its process overrides ``reopen``, too.
"""

from __future__ import annotations

import random
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import numpy as np
import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Pending, Reservation
from scrapy_neardup.index.protocol import Documents, Filing, Found, Index, Lookup
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, NO_KEY, Family

#: How the indexes under test are made: a fingerprint, a hash of the URL, and three further keys a document.
HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL), Family(EQUAL, 3)), (("time", "<u4"), ("tag", "<u8")))
FINGERPRINT, URL, FURTHER = range(3)
#: Looked up by the fingerprint and the URL.
LOOKUPS = (Lookup(FINGERPRINT, 3), Lookup(URL))
#: A test waits at most so long for what has to happen.
PATIENCE_SECONDS = 30.0
#: A fingerprint that is not near 1.
FAR = 0xFFFF << 40


def documents(fingerprints: Sequence[int], first: int = 0) -> Documents:
    """Make documents with these fingerprints, whose URLs are ``u`` and a number from *first* on."""
    numbers = range(first, first + len(fingerprints))
    none = [int(NO_KEY)] * len(fingerprints)
    further = [number // 2 for number in numbers]
    keys = np.array([fingerprints, numbers, further, none, none], np.uint64).reshape(5, len(fingerprints))
    records = np.zeros(len(fingerprints), HEADER.dtype)
    records["tag"] = keys[0] ^ keys[1]
    return Documents(keys, records, [f"u{number}" for number in numbers], [b""] * len(keys[0]))


def reserve(index: Index, document: Documents, replaces: Sequence[int] = ()) -> Reservation:
    """File *document*, one row, as pending, whatever it meets."""
    reservation = index.reserve_if(document, (), lambda found: Filing(document, replaces))
    assert reservation is not None
    return reservation


def reserve_new(index: Index, document: Documents) -> Reservation | None:
    """File *document* as pending unless it meets another."""
    return index.reserve_if(
        document, LOOKUPS, lambda found: None if len(found.documents) else Filing(document)
    )


def urls_of(index: Index, number: int) -> list[str]:
    """Return the URLs of the documents filed under ``u`` and *number*."""
    return index.retrieve(URL, np.array([number], np.uint64))[1].urls


def met_by(index: Index, fingerprint: int, *lookups: Lookup) -> tuple[list[str], bool]:
    """Return the sorted URLs of what one with *fingerprint* meets, and whether it is crowded."""
    found = index.find(documents([fingerprint], 99), lookups or LOOKUPS)
    return sorted(found.stored.urls), found.crowded


def urls_near(index: Index, fingerprint: int) -> list[str]:
    """Return the sorted URLs of all documents near *fingerprint*."""
    return met_by(index, fingerprint)[0]


def pending_of(index: Index, fingerprint: int) -> Pending:
    """Return the handle of the one document near *fingerprint*, which has to be pending."""
    (handle,) = index.find(documents([fingerprint], 9), LOOKUPS).pending
    assert handle is not None
    return handle


def outcome(handle: Pending) -> bool | None:
    """Wait until the document is settled, and return how."""
    done = threading.Event()
    handle.add_done_callback(lambda each: done.set())
    assert done.wait(PATIENCE_SECONDS)
    return handle.confirmed


def expected(stored: dict[str, list[int]], asked: list[int], lookup: Lookup) -> tuple[dict[str, int], bool]:
    """Compare *asked* with the keys of all documents *stored*, the oldest first.

    Returns the URLs that *lookup* finds, each with how many keys it shares, and whether there are more.
    """
    rows, met = HEADER.rows[lookup.family], dict[str, tuple[int, int]]()
    for url, keys in stored.items():
        if lookup.family == FINGERPRINT:
            distance = (keys[0] ^ asked[0]).bit_count()
            shared = int(distance <= lookup.distance)
        else:
            some = {*keys[rows]} & {*asked[rows]} - {int(NO_KEY)}
            has = {key: sum(key in each[rows] for each in stored.values()) for key in some}
            shared = sum(not lookup.most or count <= lookup.most for count in has.values())
            distance = -shared
        if shared:
            met[url] = distance, shared
    order = sorted(met, key=lambda url: met[url][0])  # of equal ones the oldest first
    found = {url: met[url][1] for url in order[: lookup.nearest or None]}
    return found, len(found) < len(met)


class IndexConformance:
    """Tests of any index that `open` makes, empty and of `HEADER`."""

    @abstractmethod
    def open(self) -> Index:
        """Return a new and empty index."""

    def reopen(self, index: Index) -> Index:
        """Close *index* and open it again, if it outlives that; else return it as it is."""
        return index

    @pytest.fixture
    def index(self) -> Iterator[Index]:
        with closing(self.open()) as index:
            yield index

    def test_every_fingerprint_within_the_distance_is_found(self, index: Index) -> None:
        dice = random.Random(1)
        centers = [dice.getrandbits(64) for _ in range(3)] + [0, 2**64 - 1]
        stored = [dice.choice(centers) ^ sum(1 << dice.randrange(64) for _ in range(4)) for _ in range(200)]
        for start in (0, 150):
            index.add(documents(stored[start : start + 150], start))
        for distance in range(4):
            matches = index.search(FINGERPRINT, np.array(centers, np.uint64), distance)
            found = index.fetch(matches.document)
            rows = zip(matches.query.tolist(), found.urls, matches.distance.tolist(), strict=True)
            assert sorted(rows) == sorted(
                (query, f"u{number}", (center ^ fingerprint).bit_count())
                for query, center in enumerate(centers)
                for number, fingerprint in enumerate(stored)
                if (center ^ fingerprint).bit_count() <= distance
            )

    def test_equal_keys_are_found_and_a_missing_key_is_none(self, index: Index) -> None:
        index.add(documents([5] * 9))
        asked = np.array([0, 3, 4, 17, NO_KEY], np.uint64)
        matches, stored = index.retrieve(FURTHER, asked)
        rows = sorted(zip(matches.query.tolist(), stored.urls, strict=True))
        assert rows == [(0, "u0"), (0, "u1"), (1, "u6"), (1, "u7"), (2, "u8")]

    def test_records_and_urls_come_back(self, index: Index) -> None:
        new = documents([3, 1, 2])
        numbers = index.add(new)
        stored = index.fetch(numbers[[2, 0]])
        assert stored.urls == ["u2", "u0"]
        assert stored.records.tolist() == new.records[[2, 0]].tolist()
        for unknown in (numbers[[2]] + 1, numbers[[0, 2, 1]] + np.array([0, 1, 0])):
            found = None
            with suppress(IndexCorrupted):
                found = index.fetch(unknown)
            assert found is None

    def test_what_is_discarded_is_gone(self, index: Index) -> None:
        numbers = index.add(documents([1, 1, 1])).tolist()
        index.discard([numbers[1]])
        index.discard([numbers[1]])
        assert met_by(index, 1) == (["u0", "u2"], False)
        assert urls_of(index, 1) == []
        assert index.gauges()["documents"] == 2

    def test_what_is_confirmed_and_flushed_outlives_the_index_and_what_is_pending_does_not(self) -> None:
        index = self.open()
        try:
            index.add(documents([1, 2, 4]))
            reserve(index, documents([8], 3)).confirm()
            index.discard(index.retrieve(URL, np.array([1], np.uint64))[0].document.tolist())
            index.flush()
            pending = reserve(index, documents([16], 4))
            assert index.gauges()["pending"] == 1
            again = self.reopen(index)
            if again is index:
                pending.release()
            index = again
            assert index.gauges()["documents"] == 3
            assert [urls_of(index, number) for number in range(5)] == [["u0"], [], ["u2"], ["u3"], []]
        finally:
            index.close()

    def test_a_pending_document_is_found_with_its_handle_until_it_is_settled(self, index: Index) -> None:
        kept, gone = reserve(index, documents([1])), reserve(index, documents([2], 1))
        found = index.find(documents([3], 9), LOOKUPS)
        assert sorted(found.stored.urls) == ["u0", "u1"]
        told: list[bool | None] = []
        for handle in found.pending:
            assert handle is not None
            assert handle.confirmed is None
            handle.add_done_callback(lambda each: told.append(each.confirmed))
        assert told == []
        kept.confirm()
        gone.release()
        assert sorted(told, key=bool) == [False, True]
        gone.add_done_callback(lambda each: told.append(each.confirmed))
        assert told[2:] == [False]
        found = index.find(documents([3], 9), LOOKUPS)
        assert (found.stored.urls, found.pending) == (["u0"], [None])

    def test_the_first_of_confirm_and_release_counts(self, index: Index) -> None:
        one, other = reserve(index, documents([1])), reserve(index, documents([1], 1))
        one.confirm()
        one.release()
        other.release()
        other.confirm()
        assert (one.confirmed, other.confirmed) == (True, False)
        assert met_by(index, 1) == (["u0"], False)
        assert index.gauges()["pending"] == 0

    def test_what_is_replaced_goes_with_the_confirmation(self, index: Index) -> None:
        (old,) = index.add(documents([1])).tolist()
        reservation = reserve(index, documents([1], 1), [old])
        assert met_by(index, 1) == (["u0", "u1"], False)
        reservation.release()
        assert met_by(index, 1) == (["u0"], False)
        reserve(index, documents([1], 2), [old]).confirm()
        assert met_by(index, 1) == (["u2"], False)

    def test_a_note_comes_with_the_confirmation_and_stays_with_its_document(self, index: Index) -> None:
        reservation = reserve(index, documents([1]))
        with pytest.raises(ValueError, match="note"):
            reservation.confirm(note=bytes(4097))
        assert reservation.confirmed is None
        reservation.confirm(note=b"\xff\0" * 2048)
        reserve(index, documents([1], 1)).confirm()
        index.add(documents([1], 2)._replace(notes=[b"\xff"]))
        notes = {"u0": b"\xff\0" * 2048, "u1": b"", "u2": b"\xff"}
        for _ in range(2):
            found = index.find(documents([1], 9), LOOKUPS)
            retrieved = index.retrieve(URL, np.arange(3, dtype=np.uint64))[1]
            for part in (found.stored, index.fetch(found.documents), retrieved):
                assert dict(zip(part.urls, part.notes, strict=True)) == notes
            index.flush()

    def test_nothing_is_filed_if_so_decided_and_all_that_is_met_is_shown(self, index: Index) -> None:
        index.add(documents([0b1, 0b10, 2**60 - 1]))
        seen: list[Found] = []
        assert index.reserve_if(documents([0], 1), LOOKUPS, seen.append) is None
        assert seen[-1].stored.urls == ["u0", "u1"]
        assert seen[-1].shared.tolist() == [[1, 1], [0, 1]]
        assert len(index.find(documents([0], 1), LOOKUPS).documents) == 2
        assert len(index.find(documents([0xFF << 40], 8), LOOKUPS).documents) == 0

    def test_of_equal_documents_reserved_by_many_threads_one_is_filed(self, index: Index) -> None:
        dice = random.Random(2)
        fingerprints = [dice.getrandbits(64) for _ in range(20)]
        filed: list[Reservation] = []
        start = threading.Barrier(8)

        def race(number: int) -> None:
            for turn, fingerprint in enumerate(fingerprints):
                start.wait(30)
                new = documents([fingerprint], 100 * turn + number)
                reservation = reserve_new(index, new)
                if reservation is not None:
                    filed.append(reservation)

        threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(filed) == 20

    def test_lookups_with_bounds_find_what_brute_force_does(self) -> None:
        """While documents come and go, after the index was opened again, and with pending ones."""
        dice = random.Random(3)
        stored: dict[str, list[int]] = {}
        numbers: dict[str, int] = {}

        def made(count: int) -> Documents:
            start = len(numbers)
            new = documents([dice.choice((0, 2**64 - 1)) for _ in range(count)], start)
            for row, url in enumerate(new.urls):
                for bit in dice.sample((0, 15, 16, 31, 33, 47, 48, 63), dice.choice((0, 1, 2, 3, 4))):
                    new.keys[0, row] ^= np.uint64(1 << bit)
                further = dice.sample(range(6), dice.randint(1, 3))
                new.keys[1, row], new.keys[2:, row] = dice.randrange(3), [*further, NO_KEY, NO_KEY][:3]
                stored[url], numbers[url] = new.keys[:, row].tolist(), -1
            return new

        def compare(index: Index) -> None:
            for asked in (made(1) for _ in range(4)):
                del stored[asked.urls[0]]
                nearest, most = dice.choice((0, 1, 2, 3, 5, 8, 1000)), dice.choice((0, 1, 4, 8, 1000))
                for lookup in (
                    Lookup(FINGERPRINT, dice.randint(0, 3), nearest=nearest, compared=10_000),
                    Lookup(URL, nearest=nearest),
                    Lookup(FURTHER, most=most, nearest=nearest),
                ):
                    found = index.find(asked, [lookup])
                    met = dict(zip(found.stored.urls, found.shared[0].tolist(), strict=True))
                    assert (met, found.crowded) == expected(stored, asked.keys[:, 0].tolist(), lookup)
                    assert found.documents.tolist() == sorted(found.documents.tolist())
                    assert not found.narrowed

        with closing(self.open()) as index:
            for _ in range(8):
                new = made(dice.randint(1, 20))
                numbers.update(zip(new.urls, index.add(new).tolist(), strict=True))
                gone = dice.sample(sorted(stored), dice.randint(0, len(stored) // 4))
                index.discard([numbers[url] for url in gone])
                for url in gone:
                    del stored[url]
                compare(index)
            index.flush()
            index = self.reopen(index)
            compare(index)
            pending = {new.urls[0]: reserve(index, new) for new in (made(1) for _ in range(6))}
            compare(index)
            for url in [*pending][::2]:
                pending.pop(url).release()
                del stored[url]
            compare(index)
            index.close()

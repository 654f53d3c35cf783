"""What is filed in an index is found, comes back, and stays."""

from __future__ import annotations

import random
from contextlib import closing, suppress

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.tables import NO_KEY

from .sample import FINGERPRINT, FURTHER, LOOKUPS, URL, Conformance, documents, reserve, urls_of


class StoringConformance(Conformance):
    """Tests of what is filed at once."""

    def test_every_fingerprint_within_the_distance_is_found(self) -> None:
        dice = random.Random(1)
        centers = [dice.getrandbits(64) for _ in range(3)] + [0, 2**64 - 1]
        stored = [dice.choice(centers) ^ sum(1 << dice.randrange(64) for _ in range(4)) for _ in range(200)]
        with closing(self.open()) as index:
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

    def test_equal_keys_are_found_and_a_missing_key_is_none(self) -> None:
        with closing(self.open()) as index:
            index.add(documents([5] * 9))
            asked = np.array([0, 3, 4, 17, NO_KEY], np.uint64)
            matches = index.search(FURTHER, asked)
            found = index.fetch(matches.document).urls
            rows = sorted(zip(matches.query.tolist(), found, strict=True))
            assert rows == [(0, "u0"), (0, "u1"), (1, "u6"), (1, "u7"), (2, "u8")]

    def test_a_key_of_too_many_documents_is_passed_over(self) -> None:
        with closing(self.open()) as index:
            alike = documents([1, 2, 4, 8])
            alike.keys[2] = 77
            index.add(alike)
            asked = np.array([77], np.uint64)
            assert len(index.search(FURTHER, asked, most=4).document) == 4
            fifth = documents([16], 4)
            fifth.keys[2] = 77
            reservation = reserve(index, fifth)
            assert len(index.search(FURTHER, asked, most=4).document) == 0  # pending ones count
            assert len(index.search(FURTHER, asked, most=5).document) == 5
            reservation.release()
            assert len(index.search(FURTHER, asked, most=4).document) == 4

    def test_records_and_urls_come_back(self) -> None:
        with closing(self.open()) as index:
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

    def test_what_is_discarded_is_gone(self) -> None:
        with closing(self.open()) as index:
            numbers = index.add(documents([1, 1, 1])).tolist()
            index.discard([numbers[1]])
            index.discard([numbers[1]])
            assert index.find(documents([1], 9), LOOKUPS).stored.urls == ["u0", "u2"]
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
            if again is not index:
                index = again
                assert urls_of(index, 4) == []
            else:
                pending.release()
            assert index.gauges()["documents"] == 3
            assert [urls_of(index, number) for number in range(4)] == [["u0"], [], ["u2"], ["u3"]]
        finally:
            index.close()

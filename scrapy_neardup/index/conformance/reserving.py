"""What is reserved in an index is found by others at once, and stays only if it is confirmed."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.index.protocol import Filing

from .sample import LOOKUPS, URL, Conformance, documents, reserve

if TYPE_CHECKING:
    from scrapy_neardup.index.protocol import Documents, Found
    from scrapy_neardup.index.reservation import Reservation


class ReservingConformance(Conformance):
    """Tests of pending documents."""

    def test_a_pending_document_is_found_with_its_handle_until_it_is_settled(self) -> None:
        with closing(self.open()) as index:
            kept, gone = reserve(index, documents([1])), reserve(index, documents([2], 1))
            found = index.find(documents([3], 9), LOOKUPS)
            assert sorted(found.stored.urls) == ["u0", "u1"]
            assert all(handle is not None and handle.confirmed is None for handle in found.pending)
            told: list[bool | None] = []
            for handle in found.pending:
                assert handle is not None
                handle.add_done_callback(lambda each: told.append(each.confirmed))
            assert told == []
            kept.confirm()
            gone.release()
            assert sorted(told, key=bool) == [False, True]
            gone.add_done_callback(lambda each: told.append(each.confirmed))
            assert told[2:] == [False]
            found = index.find(documents([3], 9), LOOKUPS)
            assert (found.stored.urls, found.pending) == (["u0"], [None])

    def test_the_first_of_confirm_and_release_counts(self) -> None:
        with closing(self.open()) as index:
            one, other = reserve(index, documents([1])), reserve(index, documents([1], 1))
            one.confirm()
            one.release()
            other.release()
            other.confirm()
            assert (one.confirmed, other.confirmed) == (True, False)
            assert index.find(documents([1], 9), LOOKUPS).stored.urls == ["u0"]
            assert index.gauges()["pending"] == 0

    def test_what_is_replaced_goes_with_the_confirmation(self) -> None:
        with closing(self.open()) as index:
            (old,) = index.add(documents([1])).tolist()
            for settle, stored in (("release", ["u0"]), ("confirm", ["u2"])):
                number = 1 if settle == "release" else 2
                reservation = reserve(index, documents([1], number), [old])
                assert len(index.find(documents([1], 9), LOOKUPS).documents) == 2
                getattr(reservation, settle)()
                assert index.find(documents([1], 9), LOOKUPS).stored.urls == stored

    def test_a_note_comes_with_the_confirmation_and_stays_with_its_document(self) -> None:
        with closing(self.open()) as index:
            reservation = reserve(index, documents([1]))
            assert index.find(documents([1], 9), LOOKUPS).stored.notes == [b""]
            with pytest.raises(ValueError, match="note"):
                reservation.confirm(note=bytes(4097))
            assert reservation.confirmed is None
            reservation.confirm(note=b"\xff\0" * 2048)
            reserve(index, documents([1], 1)).confirm()
            index.add(documents([1], 2)._replace(notes=[b"\xff"]))
            notes = {"u0": b"\xff\0" * 2048, "u1": b"", "u2": b"\xff"}
            for _ in range(2):
                found = index.find(documents([1], 9), LOOKUPS)
                parts = (
                    found.stored,
                    index.fetch(found.documents),
                    index.retrieve(URL, np.arange(3, dtype=np.uint64))[1],
                )
                for part in parts:
                    assert dict(zip(part.urls, part.notes, strict=True)) == notes
                index.flush()

    def test_nothing_is_filed_if_so_decided_and_all_that_is_met_is_shown(self) -> None:
        with closing(self.open()) as index:
            index.add(documents([0b1, 0b10, 2**60 - 1]))
            seen: list[Found] = []

            def decide(found: Found) -> None:
                seen.append(found)

            assert index.reserve_if(documents([0], 1), LOOKUPS, decide) is None
            assert seen[-1].stored.urls == ["u0", "u1"]
            assert seen[-1].shared.tolist() == [[1, 1], [0, 1]]
            assert len(index.find(documents([0], 1), LOOKUPS).documents) == 2
            assert len(index.find(documents([0xFF << 40], 8), LOOKUPS).documents) == 0

    def test_of_equal_documents_reserved_by_many_threads_one_is_filed(self) -> None:
        with closing(self.open()) as index:
            dice = random.Random(2)
            fingerprints = [dice.getrandbits(64) for _ in range(20)]
            filed: list[Reservation] = []
            start = threading.Barrier(8)

            def reserve_new(document: Documents) -> Reservation | None:
                def decide(found: Found) -> Filing | None:
                    return None if len(found.documents) else Filing(document)

                return index.reserve_if(document, LOOKUPS, decide)

            def race(number: int) -> None:
                for turn, fingerprint in enumerate(fingerprints):
                    start.wait(30)
                    reservation = reserve_new(documents([fingerprint], 100 * turn + number))
                    if reservation is not None:
                        filed.append(reservation)

            threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert len(filed) == 20

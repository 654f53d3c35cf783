"""A lookup with a bound finds the nearest documents, whatever is stored and however it came there."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from scrapy_neardup.index.protocol import Lookup

from .sample import FINGERPRINT, FURTHER, URL, Conformance, documents, reserve

#: Bits in which the documents differ from the one that is looked up, in the order in which they are filed.
BITS = (3, 1, 0, 2, 1, 0, 3, 4, 1)


class BoundsConformance(Conformance):
    """Tests of `Lookup.nearest`."""

    def test_the_fewest_different_bits_come_first_and_then_the_oldest(self) -> None:
        order = [place for place in np.argsort(BITS, kind="stable").tolist() if BITS[place] < 4]
        with closing(self.open()) as index:
            for start in (0, 5):
                index.add(documents([(1 << bits) - 1 for bits in BITS[start : start + 5]], start))
            for nearest in range(1, len(BITS) + 2):
                found = index.find(documents([0], 99), [Lookup(FINGERPRINT, 3, nearest=nearest)])
                assert sorted(found.stored.urls) == sorted(f"u{place}" for place in order[:nearest])
                assert found.documents.tolist() == sorted(found.documents.tolist())
                assert found.crowded == (nearest < len(order))
                assert not found.narrowed

    def test_what_is_removed_makes_room(self) -> None:
        lookups = [Lookup(FINGERPRINT, 3, nearest=2)]
        with closing(self.open()) as index:
            numbers = index.add(documents([1, 1, 1, 1])).tolist()
            index.discard(numbers[:1])
            found = index.find(documents([1], 99), lookups)
            assert (sorted(found.stored.urls), found.crowded) == (["u1", "u2"], True)
            index.discard(numbers[1:2])
            found = index.find(documents([1], 99), lookups)
            assert (sorted(found.stored.urls), found.crowded) == (["u2", "u3"], False)

    def test_pending_documents_are_the_newest(self) -> None:
        lookups = [Lookup(FINGERPRINT, 3, nearest=3), Lookup(URL, nearest=3)]
        with closing(self.open()) as index:
            index.add(documents([1, 1]))
            pending = [reserve(index, documents([1], number)) for number in (2, 3)]
            found = index.find(documents([1], 99), lookups)
            assert (sorted(found.stored.urls), found.crowded) == (["u0", "u1", "u2"], True)
            pending[0].release()
            found = index.find(documents([1], 99), lookups)
            assert (sorted(found.stored.urls), found.crowded) == (["u0", "u1", "u3"], False)

    def test_of_equal_keys_the_most_shared_come_first_and_then_the_oldest(self) -> None:
        new = documents([0] * 6)
        new.keys[2:5] = np.array(  # three further keys of each of six documents
            [[7, 20, 21, 7, 7, 7], [30, 31, 8, 8, 32, 33], [40, 9, 9, 9, 41, 42]], np.uint64
        )
        asked = new.take(slice(3, 4))
        with closing(self.open()) as index:
            index.add(new)
            for nearest, urls in ((1, ["u3"]), (2, ["u2", "u3"]), (4, ["u0", "u1", "u2", "u3"])):
                found = index.find(asked, [Lookup(FURTHER, nearest=nearest)])
                assert (sorted(found.stored.urls), found.crowded) == (urls, True)
            found = index.find(asked, [Lookup(FURTHER, nearest=6)])
            assert (found.shared.tolist(), found.crowded) == ([[1, 1, 2, 3, 1, 1]], False)
            # A key that too many share is passed over, with a bound as without.
            found = index.find(asked, [Lookup(FURTHER, most=3, nearest=4)])
            assert (sorted(found.stored.urls), found.crowded) == (["u1", "u2", "u3"], False)

    def test_of_one_equal_key_the_oldest_come_first_by_each_lookup(self) -> None:
        new = documents([0, 2**64 - 1] * 4)
        new.keys[1] = 5
        with closing(self.open()) as index:
            index.add(new)
            lookups = [Lookup(URL, nearest=2), Lookup(FINGERPRINT, 3, nearest=3)]
            found = index.find(new.take(slice(1, 2)), lookups)
            assert sorted(found.stored.urls) == ["u0", "u1", "u3", "u5"]
            assert found.crowded
            assert sorted(found.shared.sum(axis=0).tolist()) == [1, 1, 1, 2]

"""How little room documents take, that their numbers may pass the end of an epoch, and are given once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.index import Documents, open_index
from scrapy_neardup.index.conformance import HEADER, LOOKUPS, documents, reserve
from scrapy_neardup.index.conformance.leases import urls_near
from scrapy_neardup.index.conformance.sample import FINGERPRINT, URL
from scrapy_neardup.index.protocol import Filing, Lookup
from scrapy_neardup.matching.records import entries, header_for

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex
from scrapy_neardup.index.redis.layout import EPOCH_BITS, epoch_of

if TYPE_CHECKING:
    from scrapy_neardup.index.protocol import Found
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow


@pytest.fixture
def address(redis_url: str) -> Address:
    return Address.parse(redis_url)


def near_the_end_of_an_epoch(address: Address, left: int) -> int:
    """Make an index that has so many numbers *left* in its epoch; return the first of the next."""
    with closing(RedisIndex(address, HEADER)) as index:
        newest = int(index.server.call("GET", address.prefix + b"n"))
        end = epoch_of(newest + 1) + 1 << EPOCH_BITS
        index.server.call("SET", address.prefix + b"n", end - left - 1)
        return end


def test_documents_of_two_epochs_are_one_index(address: Address) -> None:
    end = near_the_end_of_an_epoch(address, left=5)
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        assert urls_near(other, 1) == []
        numbers = one.add(documents([1] * 12)).tolist()
        assert numbers == list(range(end - 5, end + 7))
        expected = [f"u{number}" for number in range(12)]
        for index in (one, other):
            assert sorted(urls_near(index, 1), key=lambda url: int(url[1:])) == expected
            matches = index.search(URL, np.arange(12, dtype=np.uint64))
            assert matches.document.tolist() == numbers
        other.discard(numbers[3:8])
        with closing(RedisIndex(address, HEADER)) as again:
            assert sorted(urls_near(again, 1)) == sorted([*expected[:3], *expected[8:]])
            assert again.gauges()["documents"] == 7


def test_a_page_whose_epoch_ends_while_it_is_judged_meets_what_the_next_one_has(address: Address) -> None:
    near_the_end_of_an_epoch(address, left=1)
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        met: list[list[str]] = []

        def decide(found: Found) -> Filing | None:
            met.append(found.stored.urls)
            if len(met) == 1:
                other.add(documents([0xFFFF << 40], 5))  # the last number of the epoch
                other.add(documents([1], 6))
            return None if len(found.documents) else Filing(documents([1], 7))

        assert one.reserve_if(documents([1], 7), LOOKUPS, decide) is None
        assert met == [[], ["u6"]]


def test_only_who_files_what_is_met_has_a_page_judged_again(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        for like, times in (
            (documents([0xF0F0F0F0F0F0F0F0], 5), 1),
            (documents([0xFF], 8), 1),  # in the same buckets, but too far
            (documents([0xFF] * 40 + [3], 10), 2),  # before others that are too far
            (documents([3] + [0xFF] * 40, 60), 2),
            (documents([0xFF] * 500, 200), 2),  # so many that they are not all compared
            (documents([3], 6), 2),
            (documents([1 << 63], 7), 2),
        ):
            asked = [0]

            def decide(found: Found, like: Documents = like, asked: list[int] = asked) -> Filing | None:
                asked[0] += 1
                if asked[0] == 1:
                    other.add(like)
                return Filing(documents([0], 7))

            reservation = one.reserve_if(documents([0], 7), LOOKUPS, decide)
            assert reservation is not None
            reservation.release()
            assert asked == [times]


def test_an_index_that_begins_anew_gives_no_number_twice(redis_server: RedisServer, redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index, closing(open_index(redis_url, HEADER)) as other:
        old = index.add(documents([1, 2, 3]))
        held = reserve(index, documents([0xFFFF << 40], 5))
        assert len(urls_near(other, 1)) == 3
        redis_server.send("FLUSHALL")
        new = other.add(documents([4, 5, 6], 10))
        assert new.min() > old.max() + 1
        theirs = reserve(other, documents([0xFFF << 20], 11))
        held.confirm()
        index.flush()
        assert urls_near(index, 0xFFFF << 40) == ["u5"]
        assert index.gauges() | {"documents": 4, "pending": 1} == index.gauges()
        theirs.confirm()
        other.flush()
        assert index.gauges()["documents"] == 5


def test_a_document_takes_its_value_and_five_or_ten_bytes_a_key(address: Address) -> None:
    fingerprinter = Fingerprinter()
    header = header_for(fingerprinter, "plain 1")
    dice = np.random.default_rng(1)
    texts = [" ".join(f"word{word % 5000}" for word in row) for row in dice.zipf(1.3, (150, 200))]
    urls = [f"https://www.example.com/news/2024/05/17/some-words-{number}" for number in range(len(texts))]
    stored = entries([fingerprinter.signature(text) for text in texts], urls, header, time=1_700_000_000)
    with closing(RedisIndex(address, header)) as index:
        numbers = index.add(stored)
        call, prefix = index.server.call, address.prefix
        (group,) = call("ZRANGE", prefix + b"t", 0, -1)
        in_lists = call("MEMORY", "USAGE", prefix + b"d" + group, "SAMPLES", 0)
        assert in_lists / len(numbers) < 325
        names = {
            place.bucket
            for row, number in enumerate(numbers.tolist())
            for place in index.store.layout.places(stored.take(slice(row, row + 1)), epoch_of(number))
        }
        in_buckets = sum(call("STRLEN", name) for name in names)
        assert in_buckets / len(numbers) <= 4 * 10 + 10 * 5


def test_buckets_have_no_room_to_spare(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as index:
        call = index.server.call
        epoch = epoch_of(index.add(documents([1])).item())
        bucket = index.store.layout.key_places(FINGERPRINT, 1, epoch)[0].bucket
        older = bucket.replace(b"}:b", b"}:a", 1)
        for count in range(1, 400, 19):
            index.add(documents([1] * 19, count))
            parts = [name for name in (bucket, older) if call("EXISTS", name)]
            length = sum(call("STRLEN", name) for name in parts)
            assert length == 10 * (count + 19)
            # Their names, their objects, and a fifth because memory comes in pieces of some sizes.
            assert sum(call("MEMORY", "USAGE", name) for name in parts) <= 130 * len(parts) + 1.2 * length
        assert len(parts) == 2


def test_long_lookups_of_a_key_that_thousands_have_are_exact(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as index:
        many = documents(list(range(0, 3000 << 20, 1 << 20)))
        many.keys[1] = 7
        numbers = index.add(many)
        found = index.find(documents([1 << 63], 7), [Lookup(URL)])
        assert found.documents.tolist() == numbers.tolist()
        matches = index.search(URL, np.arange(2_000, dtype=np.uint64))
        assert set(matches.query.tolist()) == {7}
        assert matches.document.tolist() == numbers.tolist()

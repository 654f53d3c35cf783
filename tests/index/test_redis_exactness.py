"""All that is within the distance is found; long buckets are read once; old entries go."""

from __future__ import annotations

import random
import time
from contextlib import closing

import numpy as np
import pytest

from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.conformance import HEADER, LOOKUPS, documents, reserve
from scrapy_neardup.index.conformance.leases import urls_near
from scrapy_neardup.index.conformance.sample import FINGERPRINT, FURTHER, URL
from scrapy_neardup.index.protocol import Filing, Lookup
from scrapy_neardup.index.tables import LAYOUTS, Family

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex
from scrapy_neardup.index.redis.finding import CAP, Bucket, BucketMemory
from scrapy_neardup.index.redis.layout import NEAR_BYTES, epoch_of

pytestmark = pytest.mark.slow


@pytest.fixture
def address(redis_url: str) -> Address:
    return Address.parse(redis_url)


def epoch(index: RedisIndex) -> int:
    """Return the epoch of the next document."""
    return epoch_of(int(index.server.call("GET", index.address.prefix + b"n")) + 1)


@pytest.mark.parametrize(("tables", "distance"), [(4, 3), (4, 7), (10, 4), (20, 4)])
def test_find_and_search_agree_with_comparing_all(address: Address, tables: int, distance: int) -> None:
    dice = random.Random(tables)
    centers = [dice.getrandbits(64) for _ in range(4)]
    stored = [
        dice.choice(centers) ^ sum(1 << bit for bit in dice.sample(range(64), dice.randrange(10)))
        for _ in range(600)
    ]
    header = Header((Family(LAYOUTS[tables]),), (("fingerprint", "<u8"),))
    keys = np.array([stored], np.uint64)
    with closing(RedisIndex(address, header)) as index:
        numbers = index.add(
            Documents(keys, keys[0].astype(header.dtype), [str(each) for each in range(600)], [b""] * 600)
        )
        matches = index.search(0, np.array(centers, np.uint64), distance)
        expected = sorted(
            (query, numbers[row], (center ^ fingerprint).bit_count())
            for query, center in enumerate(centers)
            for row, fingerprint in enumerate(stored)
            if (center ^ fingerprint).bit_count() <= distance
        )
        assert len(expected) > 20
        assert sorted(zip(*(column.tolist() for column in matches), strict=True)) == expected
        for query, center in enumerate(centers):
            asked = np.array([[center]], np.uint64)
            document = Documents(asked, asked[0].astype(header.dtype), [""], [b""])
            found = index.find(document, [Lookup(0, distance)])
            assert found.documents.tolist() == [number for row, number, _ in expected if row == query]


def test_what_is_known_of_a_long_bucket_follows_what_others_do(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        numbers = one.add(documents([1] * 300)).tolist()
        assert len(urls_near(one, 1)) == len(urls_near(other, 1)) == 300
        one.add(documents([1], 400))
        assert len(urls_near(other, 1)) == 301
        one.discard(numbers[10:20])
        one.add(documents([1] * 10, 500))  # as long as before
        assert sorted(urls_near(other, 1)) == sorted(urls_near(one, 1))
        assert len(urls_near(other, 1)) == 301
        one.discard(one.find(documents([1], 9), LOOKUPS).documents.tolist())
        assert urls_near(other, 1) == []


def test_memory_keeps_long_buckets_up_to_a_size() -> None:
    memory = BucketMemory(kept_bytes=2 * 16 * 300)
    long, short = (Bucket(0).followed(0, bytes(NEAR_BYTES * entries), 1) for entries in (200, 20))
    for name in (b"a", b"b", b"a", b"c"):
        memory.keep({name: long, b"d": short})
    assert memory.known({b"a": 0, b"b": 7, b"c": 0, b"d": 8}) == [long, Bucket(7), long, Bucket(8)]


def test_a_stock_phrase_is_no_longer_filed_once_it_has_long_been_passed_over(address: Address) -> None:
    lookups = (Lookup(FURTHER, most=64),)
    with closing(RedisIndex(address, HEADER)) as index:
        alike = documents([0] * (CAP + 100))
        alike.keys[0] = np.random.default_rng(1).integers(0, 2**64, CAP + 100, np.uint64)
        alike.keys[2] = 77
        index.add(alike)
        bucket = index.store.layout.key_places(FURTHER, 77, epoch(index))[0].bucket
        length = index.server.call("STRLEN", bucket)
        one = documents([5], 5000)
        one.keys[2] = 77
        reservation = index.reserve_if(one, lookups, lambda found: Filing(one))
        assert reservation is not None
        reservation.confirm()
        assert index.server.call("STRLEN", bucket) == length
        assert len(index.find(one, lookups).documents) == 0
        index.discard(index.find(one, LOOKUPS).documents.tolist())
        assert index.gauges()["documents"] == CAP + 100


def test_old_documents_go_without_a_scan(address: Address) -> None:
    window = 1.0
    with closing(RedisIndex(address, HEADER, window=window)) as index:
        index.add(documents([1] * 1100))  # more than one group
        bucket = index.store.layout.key_places(FINGERPRINT, 1, epoch(index))[0].bucket
        before = index.server.call("STRLEN", bucket)
        time.sleep(2 * window)
        index.add(documents([1] * 1100, 2000))
        time.sleep(2 * window)
        index.add(documents([1], 9000))
        assert index.server.call("STRLEN", bucket) < before
        assert index.gauges()["documents"] < 1100
        assert "u9000" in urls_near(index, 1)


def test_pending_documents_that_grow_old_go_with_the_others(address: Address) -> None:
    window = 1.0
    with closing(RedisIndex(address, HEADER, window=window)) as index:
        pending = reserve(index, documents([0xFF << 40]))
        index.add(documents([2] * 1100, 10))
        time.sleep(2 * window)
        index.add(documents([2] * 1100, 2000))  # the first group goes: the pending one, and 1023
        gauges = index.gauges()
        assert (gauges["documents"], gauges["pending"]) == (1177, 0)
        pending.confirm()
        assert urls_near(index, 0xFF << 40) == ["u0"]
        assert index.gauges()["documents"] == 1178


def test_a_search_reads_long_buckets_in_full_and_a_crawl_their_newest_part(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as index, closing(RedisIndex(address, HEADER)) as other:
        index.add(documents([5, 6]))
        for place in index.store.layout.key_places(FINGERPRINT, 5, epoch(index)):
            some = np.random.default_rng(1).integers(0, 256, (110_000, NEAR_BYTES), np.uint8)
            some[:, -3:] = [255, 255, 0]  # the number of no document
            index.server.call("APPEND", place.bucket, some.tobytes())
        index.add(documents([4], 2))
        for each in (index, other):
            found = each.find(documents([5], 9), [Lookup(FINGERPRINT, 3, nearest=256)])
            assert (found.stored.urls, found.narrowed) == (["u2"], True)
            matches = each.search(FINGERPRINT, np.array([5], np.uint64), 3)
            assert each.fetch(matches.document).urls == ["u0", "u1", "u2"]
            assert not each.find(documents([5], 1), [Lookup(URL, nearest=256)]).narrowed

"""All within the distance is found, in all generations; documents take little room; old ones go."""

from __future__ import annotations

import itertools
import random
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.index import Documents, Header, open_index
from scrapy_neardup.index.protocol import Filing, Lookup
from scrapy_neardup.index.tables import LAYOUTS, Family
from tests.index.conformance import (
    FINGERPRINT,
    FURTHER,
    HEADER,
    LOOKUPS,
    URL,
    documents,
    reserve,
    reserve_new,
    urls_near,
)

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex
from scrapy_neardup.index.redis.index import CAP, find_problems
from scrapy_neardup.index.redis.layout import FIRST_MORE, NEAR_BYTES, Generation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index.redis.scripts import Call
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow

FIRST = 1 << 24


@pytest.fixture
def address(redis_url: str) -> Address:
    return Address.parse(redis_url)


def near_the_end_of_a_generation(address: Address, left: int, header: Header = HEADER) -> int:
    """Make an index that has so many numbers *left* in its generation; return the first of the next."""
    with closing(RedisIndex(address, header)) as index:
        parts, start = len(index.store.prefixes), index.store.generations[0].start
        for prefix in index.store.prefixes:  # numbers have gaps if there are several
            last, count = start + (FIRST - left) * (parts + 1) // 2 - 1, (FIRST - left) // parts
            index.server.call("MSET", prefix + b"n", last, prefix + b"count", count)
        return start + FIRST


@pytest.mark.parametrize(("tables", "distance"), [(4, 3), (4, 7), (10, 4), (20, 4)])
def test_find_and_search_agree_with_comparing_all(address: Address, tables: int, distance: int) -> None:
    dice = random.Random(tables)
    centers = [dice.getrandbits(64) for _ in range(4)]
    stored = [
        dice.choice(centers) ^ sum(1 << bit for bit in dice.sample(range(64), dice.randrange(10)))
        for _ in range(600)
    ]
    header = Header((Family(LAYOUTS[tables]),), (("fingerprint", "<u8"),))
    near_the_end_of_a_generation(address, 300, header)
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


@pytest.mark.parametrize("parts", [1, 3])
def test_documents_of_two_generations_are_one_index(address: Address, parts: int) -> None:
    address = address._replace(parts=parts)
    end = near_the_end_of_a_generation(address, left=5)
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        assert urls_near(other, 1) == []
        numbers = one.add(documents([1] * 12)).tolist()
        if parts == 1:
            assert numbers == list(range(end - 5, end + 7))
        first, second = one.store.generations
        assert first == Generation(end - FIRST, FIRST_MORE)
        assert (second.start > end) == (parts > 1)
        assert [number >= second.start for number in numbers].count(False) in range(1, 8)
        expected = [f"u{number}" for number in range(12)]
        for index in (one, other):
            assert sorted(urls_near(index, 1), key=lambda url: int(url[1:])) == expected
            matches = index.search(URL, np.arange(12, dtype=np.uint64))
            assert matches.document.tolist() == numbers
        assert list(find_problems(one)) == []
        other.discard(numbers[3:8])
        with closing(RedisIndex(address, HEADER)) as again:
            assert sorted(urls_near(again, 1)) == sorted([*expected[:3], *expected[8:]])
            assert again.gauges()["documents"] == parts * ((FIRST - 5) // parts) + 7


def test_a_crawl_that_does_not_know_of_a_generation_meets_what_it_has(address: Address) -> None:
    near_the_end_of_a_generation(address, left=1)
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        other.add(documents([0xFFFF << 40], 5))  # the last number of the generation
        other.add(documents([1], 6))
        assert len(one.store.generations) == 1
        assert reserve_new(one, documents([1], 7)) is None


def spread(index: RedisIndex) -> tuple[Documents, Documents]:
    """Return two like documents that meet in no part that gives one of them its number."""
    layout, generation, page = index.store.layout, index.store.generations[-1], documents([1], 7)
    buckets = {place.bucket for place in layout.filed(page, generation)}
    for bits in itertools.combinations(range(64), 3):
        like = documents([1 ^ sum(1 << bit for bit in bits)], 5)
        met = {place.part for place in layout.filed(like, generation) if place.bucket in buckets}
        if met and met.isdisjoint((layout.home(page), layout.home(like))):
            return like, page
    raise AssertionError


@pytest.mark.parametrize("behind", [False, True])
def test_a_page_meets_one_that_is_filed_beside_it_in_another_part(
    address: Address, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    address = address._replace(parts=3)
    with closing(RedisIndex(address, HEADER)) as one, closing(RedisIndex(address, HEADER)) as other:
        like, page = spread(one)
        steps = one.store.filing(like)
        said = one.store.ask(next(steps))  # in the part that gives it a number
        if behind:  # which has begun a generation
            prefix, start = one.store.prefixes[said[0] % 3], said[0] + FIRST
            known = one.server.call("GET", prefix + b"g") + b" %d:8" % start
            one.server.call("MSET", prefix + b"g", known, prefix + b"n", start - 1)
        send = other.store._send

        def file_before(calls: Sequence[Call]) -> list[Any]:
            if any(call.arguments[5] for call in calls if call.step == "file") and len(said) == 1:
                # The page has its number, and is not yet in other parts.
                said.append(one.store.ask(steps.send(said)))
            return send(calls)

        monkeypatch.setattr(other.store, "_send", file_before)
        assert reserve_new(other, page) is None
        assert len(said) == 2
        assert other.gauges()["pending"] == 1


def test_a_page_is_filed_as_it_is_judged_to_be(address: Address) -> None:
    page, other = documents([1], 7), documents([0xFFFF << 40], 7)
    with closing(RedisIndex(address, HEADER)) as index:
        reservation = index.reserve_if(page, LOOKUPS, lambda found: Filing(other))
        assert reservation is not None
        reservation.confirm()
        assert (urls_near(index, 1), urls_near(index, 0xFFFF << 40)) == ([], ["u7"])
        assert index.gauges() | {"documents": 1, "pending": 0} == index.gauges()
        with pytest.raises(ZeroDivisionError):
            index.reserve_if(documents([2], 8), LOOKUPS, lambda found: Filing(page, [1 // 0]))
        assert index.gauges() | {"documents": 1, "pending": 0} == index.gauges()
        assert list(find_problems(index)) == []


def test_an_index_that_a_server_has_lost_begins_anew_and_gives_no_number_twice(
    redis_server: RedisServer, redis_url: str
) -> None:
    with closing(open_index(redis_url, HEADER)) as index, closing(open_index(redis_url, HEADER)) as other:
        old = index.add(documents([1, 2, 3]))
        held = reserve(index, documents([0xFFFF << 40], 5))
        redis_server.send("FLUSHALL")
        redis_server.send("SCRIPT FLUSH")
        new = other.add(documents([4, 5, 6], 10))
        assert new.min() > old.max() + 1
        theirs = reserve(other, documents([0xFFF << 20], 11))
        held.confirm()
        index.flush()
        assert urls_near(index, 0xFFFF << 40) == ["u5"]
        assert index.gauges() | {"documents": 4, "pending": 1} == index.gauges()
        theirs.confirm()
        other.flush()
        with closing(open_index(redis_url, None)) as again:
            assert again.header == index.header
            assert again.gauges()["documents"] == 5


def test_a_stock_phrase_is_no_longer_filed_once_it_has_long_been_passed_over(address: Address) -> None:
    lookups = (Lookup(FURTHER, most=64),)
    with closing(RedisIndex(address, HEADER)) as index:
        alike = documents([0] * (CAP + 100))
        alike.keys[0] = np.random.default_rng(1).integers(0, 2**64, CAP + 100, np.uint64)
        alike.keys[2] = 77
        index.add(alike)
        bucket = index.store.layout.places(FURTHER, 77, 0, index.store.generations[-1])[0].bucket
        sizes = []
        for number in (5000, 5001):
            one = documents([5], number)
            one.keys[2] = 77
            reservation = index.reserve_if(one, lookups, lambda found, one=one: Filing(one))  # type: ignore[misc]  # mypy knows no defaults
            assert reservation is not None
            reservation.confirm()
            sizes.append(index.server.call("STRLEN", bucket))
        assert sizes[0] == sizes[1]
        assert len(index.find(one, lookups).documents) == 0
        index.discard(index.find(one, LOOKUPS).documents.tolist())
        assert index.gauges()["documents"] == CAP + 100


def test_old_documents_go_without_a_scan(address: Address) -> None:
    window = 1.0
    with closing(RedisIndex(address, HEADER, window=window)) as index:
        pending = reserve(index, documents([0xFF << 40]))
        index.add(documents([1] * 200, 10))  # more than one group
        time.sleep(2 * window)
        index.add(documents([1] * 200, 2000))
        gauges = index.gauges()
        assert gauges["documents"] <= 330
        assert gauges["pending"] == 0
        found = index.find(documents([1], 9), [Lookup(FINGERPRINT, 3, nearest=256)])
        assert not found.crowded  # what is too old does not count
        pending.confirm()
        index.flush()
        assert urls_near(index, 0xFF << 40) == ["u0"]
        assert index.gauges()["documents"] == gauges["documents"] + 1
        near_the_end_of_a_generation(address, 1)
        index.add(documents([2], 3000))
        time.sleep(2 * window)
        index.add(documents([2] * 129, 4000))
        time.sleep(2 * window)
        newest = index.add(documents([2] * 129, 5000))[-1]
        index.server.call("DEL", index.store.filed(newest, documents([2], 5128))[0].bucket)
        with closing(RedisIndex(address, HEADER)) as other:
            assert len(other.store.generations) == 1
            assert f"document {newest} is missing in the bucket" in "".join(find_problems(other))
            time.sleep(2 * window)
            assert index.server.call("SCAN", 0, "MATCH", address.prefix + b"b*", "COUNT", 10000)[1] == []
            assert list(find_problems(other)) == []


def test_a_search_reads_long_buckets_in_full_and_a_crawl_their_newest_part(address: Address) -> None:
    with closing(RedisIndex(address, HEADER)) as index, closing(RedisIndex(address, HEADER)) as other:
        index.add(documents([5, 6]))
        for place in index.store.layout.places(FINGERPRINT, 5, 0, index.store.generations[0]):
            some = np.random.default_rng(1).integers(0, 256, (30_000, NEAR_BYTES), np.uint8)
            some[:, -4:] = np.frombuffer(
                (index.store.generations[0].start + 50 & 0xFFFFFFFF).to_bytes(4, "little"), np.uint8
            )
            index.server.call("APPEND", place.bucket, some.tobytes())
        index.add(documents([4], 2))
        for each in (index, other, index):
            found = each.find(documents([5], 9), [Lookup(FINGERPRINT, 3, nearest=256)])
            assert (found.stored.urls, found.narrowed) == (["u2"], True)
            matches = each.search(FINGERPRINT, np.array([5], np.uint64), 3)
            assert each.fetch(matches.document).urls == ["u0", "u1", "u2"]
            assert not each.find(documents([5], 1), [Lookup(URL, nearest=256)]).narrowed

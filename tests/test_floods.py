"""Floods of like pages: the work of a lookup has a bound, no page is lost, and equal texts are found."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import Signature
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.matching.matcher import NEAREST
from scrapy_neardup.matching.records import OWN, entries, equal_only
from tests.audit.corpora import text

if TYPE_CHECKING:
    #: Makes n fingerprints or digests, given one of those that are looked up.
    Make = Callable[[int, int], NDArray[np.uint64]]


def equal(value: int, count: int) -> NDArray[np.uint64]:
    return np.full(count, value, np.uint64)


def near(value: int, count: int) -> NDArray[np.uint64]:
    dice = np.random.default_rng(1)
    values = equal(value, count)
    for _ in range(3):
        values ^= np.uint64(1) << dice.integers(0, 64, count).astype(np.uint64)
    return values


def one_bucket(value: int, count: int) -> NDArray[np.uint64]:
    """They share the last 16 bits."""
    others = np.random.default_rng(2).integers(0, 2**64, count, np.uint64)
    return others & ~np.uint64(0xFFFF) | np.uint64(value & 0xFFFF)


FLOODS = pytest.mark.parametrize("make", [equal, near, one_bucket])


def flood(detector: Detector, like: Signature, count: int, make: Make, *, digests: bool = False) -> None:
    """File so many documents that are like one in their fingerprints, or in half of their digests."""
    one = entries([like], ["https://a.example/"], detector.index.header)
    dice = np.random.default_rng(3)
    keys = dice.integers(0, 2**63, (len(one.keys), count), np.uint64)
    records = np.repeat(one.records, count)
    records["digest"] = dice.integers(0, 2**63, count, np.uint64)
    records["sketch"] = dice.integers(0, 256, records["sketch"].shape, np.uint8)
    keys[0 if digests else OWN] = make(int(one.keys[0 if digests else OWN, 0]), count)
    records["fingerprint"] = keys[OWN]
    urls = [f"https://s{number % 97}.example/{number}" for number in range(count)]
    documents = Documents(keys, records, urls, [b""] * len(urls))
    for start in range(0, count, 20_000):
        detector.index.add(documents.take(slice(start, start + 20_000)))


def unlike(like: Signature, seed: int) -> Signature:
    """Return a signature with the same keys, and another text."""
    dice = random.Random(seed)
    return like._replace(digest=dice.randbytes(16), sketch=dice.randbytes(len(like.sketch)))


@FLOODS
def test_a_flood_is_met_in_part_and_no_page_is_lost(make: Make) -> None:
    with Detector.open() as detector:
        victim = detector.signature(text(1, 120))
        flood(detector, victim, 4 * NEAREST, make)
        stored = detector.gauges()["documents"]
        crowded = make is not one_bucket
        (entry,) = (entries([victim], ["https://v.example/"], detector.index.header),)
        found = detector.index.find(entry, detector.matcher.lookups)
        assert (len(found.documents), found.crowded) == ((NEAREST, True) if crowded else (0, False))
        for seed in range(20):
            verdict = detector.add(unlike(victim, seed), f"https://v.example/{seed}")
            assert (verdict.kind, verdict.bounded) == ("unique", crowded)
        assert detector.gauges()["documents"] == stored + 20
        for seed in range(20):  # each is known, wherever it stands in the flood
            copy = detector.check(unlike(victim, seed), "https://copy.example/")
            assert (copy.kind, copy.url) == ("exact", f"https://v.example/{seed}")
            again = detector.check(unlike(victim, seed), f"https://v.example/{seed}")
            assert (again.kind, again.unchanged) == ("revisit", True)
        # The flood does not grow: its pages are filed by digest and URL.
        if crowded:
            again_found = detector.index.find(entry, detector.matcher.lookups)
            assert again_found.documents.tolist() == found.documents.tolist()


def test_a_page_that_was_not_compared_with_all_is_kept_unless_its_text_is_stored() -> None:
    with Detector.open() as detector:
        detector.add(text(1, 120), url="https://a.example/1")
        copy = text(1, 120).replace(" ", ", ", 1) + " today"
        assert detector.check(copy, url="https://b.example/1").kind == "near"
        flood(detector, detector.signature(copy), 2 * NEAREST, equal)
        verdict = detector.add(copy, url="https://b.example/1")
        assert (verdict.kind, verdict.bounded, verdict.url) == ("unique", True, None)
        assert verdict.reservation is not None
        exact = detector.check(copy, url="https://c.example/1")
        assert (exact.kind, exact.url, exact.bounded) == ("exact", "https://b.example/1", True)
        assert detector.check(text(1, 120), url="https://c.example/1").kind == "exact"


# At full size. It takes 10 ms where nothing else runs; here much does. Without its bound it takes far longer.
MOST_SECONDS = 0.025


def seconds(detector: Detector, like: Signature, count: int = 100) -> tuple[float, float]:
    """Return what `check` and `reserve` take in the median, in processor time of this thread."""
    taken: list[list[float]] = [[], []]
    for seed in range(count):
        page = unlike(like, seed)
        for judge, times in zip((detector.check, detector.reserve), taken, strict=True):
            start = time.thread_time()
            judge(page, f"https://v.example/{seed}")
            times.append(time.thread_time() - start)
    check, reserve = (float(np.median(times)) for times in taken)
    return check, reserve


@pytest.mark.slow
@pytest.mark.parametrize(("make", "count"), [(one_bucket, 300_000), (near, 100_000), (equal, 100_000)])
def test_no_flood_holds_the_event_loop(make: Make, count: int, tmp_path: Path) -> None:
    with Detector.open(tmp_path) as detector:
        victim = detector.signature(text(1, 120))
        flood(detector, victim, count, make)
        assert max(seconds(detector, victim)) < MOST_SECONDS


@pytest.mark.slow
def test_a_hundred_thousand_pages_of_one_template_do_not_hold_the_event_loop(tmp_path: Path) -> None:
    """The first page is filed in full, the others by digest and URL alone, as a crawl files them."""
    dice = random.Random(3)
    words = text(77, 280).split()

    def release() -> str:
        for place in range(20, 280, 30):
            words[place] = f"{dice.randint(2, 99_999):,}"
        return " ".join(words)

    with Detector.open(tmp_path) as detector:
        page = detector.signature(release())
        detector.add(page, "https://a.example/")
        one = entries([page], ["https://a.example/"], detector.index.header)
        count = 128_000
        keys = np.random.default_rng(3).integers(0, 2**63, (len(one.keys), count), np.uint64)
        urls = [f"https://a.example/{number}" for number in range(count)]
        others = Documents(keys, np.repeat(one.records, count), urls, [b""] * count)
        detector.index.add(equal_only(others, detector.matcher.scheme))
        kinds, taken = [], []
        for number in range(200):
            page = detector.signature(release())
            start = time.thread_time()
            kinds.append(detector.add(page, f"https://b.example/{number}").kind)
            taken.append(time.thread_time() - start)
        assert set(kinds) <= {"template", "unique"}
        assert kinds.count("template") > 150
        assert np.median(taken) < MOST_SECONDS

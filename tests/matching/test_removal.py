"""What is removed by age, host or URL is that and nothing else, of runs and of the log alike."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.index import Header, LmdbIndex
from scrapy_neardup.index.tables import LAYOUTS, Family
from scrapy_neardup.matching.records import (
    forget_urls,
    of_hosts,
    older_than,
    require_pages,
)
from tests.index.small import HEADER, SMALL, documents
from tests.promises.site import story

if TYPE_CHECKING:
    from pathlib import Path

URLS = [
    "https://a.example/1",
    "http://www.a.example/2",
    "https://b.example:8080/3",
    "https://A.example/4",
    "https://c.example/?from=a.example",
    "https://not-a.example/",
    "",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Documents 0 to 19, of the times 100 to 119: the first 12 in a run, and 2 of all removed."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 12), (12, 20)):
            made = documents(range(start, stop), [f"u{number}" for number in range(start, stop)])
            made.records["time"] = range(100 + start, 100 + stop)
            index.add(made._replace(urls=[URLS[number % 7] for number in range(start, stop)]))
            if not start:
                index.compact()
        index.discard([3, 15])
        index.flush()
    return tmp_path


def test_by_age(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with closing(LmdbIndex(path, None)) as index, index.reading() as reader:
        for oldest in (0, 100, 101, 112, 113.5, 119, 120, 1e12):
            found = older_than(reader, oldest, lambda *_: None)
            assert found == [
                number for number in range(20) if 100 + number < oldest and number not in (3, 15)
            ]
        older_than(reader, 110, lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (20, 20)


@pytest.mark.parametrize(
    ("hosts", "which"),
    [
        ({"a.example"}, {0, 3}),
        ({"www.a.example", "b.example"}, {1, 2}),
        ({"example"}, set()),
        ({"x.y"}, set()),
    ],
)
def test_by_host(path: Path, hosts: set[str], which: set[int]) -> None:
    with closing(LmdbIndex(path, None)) as index, index.reading() as reader:
        found = of_hosts(reader, hosts, lambda *_: None)
    assert found == [number for number in range(20) if number % 7 in which and number not in (3, 15)]


def test_by_url(tmp_path: Path) -> None:
    with Detector.open(tmp_path) as detector:
        for number in range(4):
            detector.add(story(number), url=f"https://a.example/{number}")
    urls = [f"https://a.example/{name}" for name in ("1", "9#x", "3#part", "1", "9")]
    assert forget_urls(tmp_path, urls) == (2, ["https://a.example/9"])
    with Detector.open(tmp_path) as detector:
        kinds = [detector.check(story(number), url=f"https://b.example/{number}").kind for number in range(4)]
    assert kinds == ["exact", "unique", "exact", "unique"]


def test_bare_fingerprints_have_no_pages_to_remove() -> None:
    pages = Header((Family(LAYOUTS[4]),), (("time", "<u4"),), {"features": {}})
    require_pages(pages, "time")
    for header, fields in ((HEADER, ()), (pages, ("time", "site"))):
        with pytest.raises(IndexMismatch, match=r"bare fingerprints.*FingerprintIndex"):
            require_pages(header, *fields)

"""What ``scrapy-neardup index …`` does with an index on a server."""

from __future__ import annotations

from typing import Any

from scrapy_neardup.index.redis.index import all_documents, describe, find_problems, opened
from scrapy_neardup.matching.records import require_pages
from scrapy_neardup.matching.sites import host_of


def info(url: str) -> dict[str, Any]:
    """Return what an index holds."""
    with opened(url) as index:
        return describe(index)


def check(url: str) -> tuple[str, list[str]]:
    """Return the name of an index without secrets, and its problems."""
    with opened(url) as index:
        return index.address.shown, list(find_problems(index))


def prune(url: str, oldest: float, *, dry_run: bool) -> int:
    """Forget the documents stored before the time *oldest*; return how many those are."""
    with opened(url) as index:
        require_pages(index.header, "time")
        found: list[int] = []
        for numbers, documents in all_documents(index):
            found += numbers[documents.records["time"] < oldest].tolist()
        if not dry_run:
            index.discard(found)
    return len(found)


def forget_hosts(url: str, hosts: set[str]) -> int:
    """Forget the documents of *hosts*; return how many those are."""
    found: list[int] = []
    with opened(url) as index:
        require_pages(index.header)
        for numbers, documents in all_documents(index) if hosts else ():
            rows = zip(numbers.tolist(), documents.urls, strict=True)
            found += [number for number, each in rows if host_of(each) in hosts]
        index.discard(found)
    return len(found)

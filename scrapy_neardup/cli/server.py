"""What ``scrapy-neardup index …`` does with an index on a server."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import open_index
from scrapy_neardup.index.redis.index import all_documents, describe, find_problems, opened
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.records import DIGEST, OWN, TEMPLATE, require_pages
from scrapy_neardup.matching.sites import host_of

if TYPE_CHECKING:
    from pathlib import Path

#: Documents written at a time.
AT_ONCE = 10_000


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


def export(url: str, directory: Path) -> int:
    """Copy an index into a new one in *directory*; return how many documents that were."""
    copied = 0
    with opened(url) as index, closing(open_index(directory, index.header)) as target:
        if target.header.uuid != index.header.uuid or target.gauges()["documents"]:
            raise ConfigurationError(f"There is an index in {directory}: name a new directory.")
        for numbers, documents in all_documents(index):
            target.add(documents)
            copied += len(numbers)
    return copied


def import_(url: str, directory: Path) -> int:
    """Copy the index in *directory* to a new one; return how many documents that were."""
    from scrapy_neardup.audit.reading import all_documents as documents_of
    from scrapy_neardup.audit.reading import reading_index

    with reading_index(directory) as (header, reader):
        numbers, documents = documents_of(header, reader)
    # Pages of a template but the first are found by their digest alone, see `records.as_template`.
    templates = documents.records["flags"] & TEMPLATE != 0
    if header.keys > OWN + 1 and not header.families[OWN].equal:
        templates &= (documents.keys[OWN + 1 :] == NO_KEY).all(axis=0)
        documents.keys[OWN, templates] = documents.keys[DIGEST, templates]
    with closing(open_index(url, header)) as target:
        if target.header.uuid != header.uuid or target.gauges()["documents"]:
            raise ConfigurationError(f"There is an index in {target.address.shown}: use another name.")  # type: ignore[attr-defined]
        for start in range(0, len(numbers), AT_ONCE):
            target.add(documents.take(np.arange(start, min(start + AT_ONCE, len(numbers)))))
    return len(numbers)

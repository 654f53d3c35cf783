"""What ``scrapy-neardup index …`` does with an index on a server."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.arrays import places
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import Documents, Stored, open_index
from scrapy_neardup.index.lmdb.commands import opened as opened_directory
from scrapy_neardup.index.lmdb.snapshot import live_documents, reading
from scrapy_neardup.index.redis.index import all_documents, describe, find_problems, opened
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.records import DIGEST, OWN, TEMPLATE, URL, require_pages, url_keys
from scrapy_neardup.matching.sites import host_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header
    from scrapy_neardup.index.lmdb.snapshot import Snapshot

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
    with opened_directory(directory) as (environment, header):
        require_pages(header, "sketch", "tokens")
        with reading(environment, header) as reader:
            numbers, documents = _documents_of(header, reader)
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


def _documents_of(header: Header, reader: Snapshot) -> tuple[NDArray[np.int64], Documents]:
    """Return the numbers of all documents, ascending, and the documents with their keys.

    Permuted keys are left out. Keys are nowhere but in the tables, so they are put together from these. Takes
    about 400 bytes a document.
    """
    parts = list(live_documents(reader, lambda done, total: None))
    numbers = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    empty = Stored(np.empty(0, header.dtype), [], [])
    stored = Stored.concatenate([empty, *(part for _, part in parts)])
    keys = np.full((header.keys, len(numbers)), NO_KEY)
    keys[header.rows[URL]] = url_keys(stored.urls, header.seed)
    for family in (DIGEST, *range(URL + 1, len(header.families))):
        rows = header.rows[family]
        if header.families[family].equal:
            keys[rows] = _keys(reader, family, numbers)
        else:
            keys[rows] = stored.records["fingerprint"]
    for first, documents in reader.log(reader.state.flushed):
        among = np.flatnonzero((numbers >= first) & (numbers < first + len(documents.urls)))
        keys[:, among] = documents.keys[:, numbers[among] - first]
    return numbers, Documents(keys, *stored)


def _keys(reader: Snapshot, family: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the keys of the documents *numbers* (int64[n]) in a family of equal keys: uint64[keys, n]."""
    described, table = reader.header.families[family], reader.header.first_table[family]
    keys = np.full((described.keys, len(numbers)), NO_KEY)
    for run in reader.state.runs:
        cut = run.cut(described)
        entries = [reader.partition(run, cut, table, part).entries for part in range(1 << cut)]
        documents = np.concatenate([each.documents for each in entries]).astype(np.int64)
        filed = np.concatenate([each.keys for each in entries])
        order = np.argsort(documents, kind="stable")
        documents, filed = documents[order], filed[order]
        known = np.isin(documents, numbers)
        keys[places(documents)[known], np.searchsorted(numbers, documents[known])] = filed[known]
    return keys

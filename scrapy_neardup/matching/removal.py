"""Removes documents from an index: by their age, their host or their URL."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.index import open_index
from scrapy_neardup.index.lmdb.snapshot import live_documents

from .records import filed_url, find_urls
from .sites import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from scrapy_neardup.index import Header
    from scrapy_neardup.index.lmdb.snapshot import Snapshot


def require_pages(header: Header, *fields: str) -> None:
    """Raise `IndexMismatch` for an index of bare fingerprints, or of records without *fields*."""
    if "features" not in header.parameters or not {*fields} <= {*(header.dtype.names or ())}:
        raise IndexMismatch(
            "The index holds bare fingerprints, without URLs and times: remove them by their numbers, "
            "with FingerprintIndex.forget."
        )


def older_than(reader: Snapshot, oldest: float, progress: Callable[[int, int], None]) -> list[int]:
    """Return the numbers of documents stored before *oldest* (seconds since 1970)."""
    found: list[int] = []
    for numbers, documents in live_documents(reader, progress):
        found += numbers[documents.records["time"] < oldest].tolist()
    return found


def of_hosts(reader: Snapshot, hosts: set[str], progress: Callable[[int, int], None]) -> list[int]:
    """Return the numbers of documents whose URL has one of *hosts* (in lower case)."""
    # Most URLs have none of the names in them, and parsing each would take much longer. Some spell a host
    # otherwise: one beyond ASCII, and an address in brackets.
    somewhere = re.compile(rf"[^\0-\x7F]|\[|{'|'.join(map(re.escape, hosts))}", re.IGNORECASE)
    found: list[int] = []
    for numbers, documents in live_documents(reader, progress):
        rows = zip(numbers.tolist(), documents.urls, strict=True)
        found += [number for number, url in rows if somewhere.search(url) and host_of(url) in hosts]
    return found


def forget_all(path: Path, numbers: Sequence[int], *, merge: bool = False) -> None:
    """Remove documents by their numbers from the index in *path*, and wait until that is on disk."""
    with contextlib.closing(open_index(path, None)) as index:
        index.discard(numbers)
        index.flush()
        if merge:
            index.compact()


def forget_urls(path: Path | str, urls: Sequence[str]) -> tuple[int, list[str]]:
    """Remove the documents of *urls*; return how many they were, and which of *urls* had none."""
    with contextlib.closing(open_index(path, None)) as index:
        numbers, known = find_urls(index, urls)
        index.discard(numbers)
        index.flush()
    unknown = (filed_url(url) for url in urls if not {url, filed_url(url)} & known)
    return len(numbers), list(dict.fromkeys(unknown))


def bare_host(text: str) -> str:
    """Return the host in *text*, which may be a URL, or have a port; in lower case."""
    return host_of(text if "//" in text else f"//{text}") or text.lower()

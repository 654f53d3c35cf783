"""Going through the documents of an index, and forgetting some."""

from __future__ import annotations

import contextlib
import re
import struct
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from scrapy_neardup.candidates import filed_url, find_urls
from scrapy_neardup.errors import IndexCorrupted, IndexMismatch
from scrapy_neardup.index import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header, Stored
    from scrapy_neardup.index.snapshot import Snapshot


def live_documents(
    reader: Snapshot, progress: Callable[[int, int], None]
) -> Iterator[tuple[NDArray[np.int64], Stored]]:
    """Yield the numbers (int64[n]) and contents of all that was stored and not removed, block by block.

    The log keeps what was removed: only the runs know what is left.
    """
    state = reader.state
    ranges = [(run.start, run.stop, run) for run in state.runs]
    oldest = state.runs[0].start if state.runs else state.folded
    for start, stop, run in (*ranges, (state.folded, state.next, None)):
        alive = np.ones(stop - start, bool) if run is None else reader.held(run).copy()
        alive[reader.dead[(reader.dead >= start) & (reader.dead < stop)] - start] = False
        for first, documents in sound_blocks(reader, start, stop):
            rows = np.flatnonzero(alive[first - start : first - start + len(documents.urls)])
            yield rows + first, documents.take(rows)
            progress(first + len(documents.urls) - oldest, state.next - oldest)


def sound_blocks(reader: Snapshot, start: int, stop: int) -> Iterator[tuple[int, Stored]]:
    """Yield what `Snapshot.blocks` does. Raises `IndexCorrupted` for whatever cannot be a block."""
    try:
        yield from reader.blocks(start, stop)
    except (ValueError, struct.error) as error:
        raise IndexCorrupted(
            f"A block of documents cannot be decoded ({error}): run `scrapy-neardup index check`."
        ) from error


def count_documents(reader: Snapshot) -> int:
    """Return how many documents are stored and not removed."""
    state = reader.state
    return sum(run.documents for run in state.runs) + state.next - state.folded - len(reader.dead)


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
    somewhere = re.compile("|".join(map(re.escape, hosts)), re.IGNORECASE)  # parsing takes much longer
    found: list[int] = []
    for numbers, documents in live_documents(reader, progress):
        rows = zip(numbers.tolist(), documents.urls, strict=True)
        found += [number for number, url in rows if somewhere.search(url) and host_of(url) in hosts]
    return found


def forget_all(path: Path, numbers: Sequence[int], *, merge: bool = False) -> None:
    """Remove documents by their numbers from the index in *path*; on return that is on disk."""
    with contextlib.closing(open_index(path, None)) as index:
        index.discard(numbers)
        index.flush()
        if merge:
            index.compact()


def forget_urls(path: Path, urls: Sequence[str]) -> tuple[int, list[str]]:
    """Remove the documents of *urls*; returns how many they were, and which of *urls* had none."""
    with contextlib.closing(open_index(path, None)) as index:
        numbers = find_urls(index, urls)
        known = set(index.fetch(np.array(numbers, np.int64)).urls)
        index.discard(numbers)
        index.flush()
    return len(numbers), [url for url in map(filed_url, dict.fromkeys(urls)) if url not in known]


def bare_host(text: str) -> str:
    """Return the host in *text*, which may be a URL, or have a port; in lower case."""
    return host_of(text if "//" in text else f"//{text}") or text.lower()


def host_of(url: str) -> str | None:
    """Return the host of *url* in lower case, without a port."""
    try:
        return urlsplit(url).hostname
    except ValueError:  # such as an unclosed bracket
        return None

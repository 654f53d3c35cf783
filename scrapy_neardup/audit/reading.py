"""Reads the sources of an audit into its store.

Texts are signed in a pool of processes. HTML goes to other processes, which extract its main text and sign
that, and which can be killed. Both go on at once, and few pages are in memory at a time.
"""

from __future__ import annotations

import contextlib
import stat
from collections import Counter, deque
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scrapy_neardup import extraction

from .signing import Filer, Unsigned, spread
from .sources import Source, read_source
from .sources.records import BrokenRecord, Options, Origin, Skipped
from .sources.responses import read_head
from .store import StoredPage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from .model import Input
    from .settings import AuditOptions
    from .sources.records import CrawledPage, Record
    from .store import Store

#: Pages that wait for each extracting process.
_WAITING = 8


def _stamp(path: str | Path) -> str:
    """Return size and time of change of a file, which tell whether it has changed; "" for a folder."""
    with contextlib.suppress(OSError):
        found = Path(path).stat()
        return "" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} {found.st_mtime_ns}"
    return ""


def fill(
    store: Store, inputs: Sequence[Input], settings: AuditOptions, advance: Callable[[Origin, int], None]
) -> None:
    """Store all pages of *inputs* that are not stored yet.

    *advance* is called with the place and number of each page.
    """
    reader = Reader(store, settings, advance)
    with closing(reader), closing(reader.signed(inputs)) as pages:
        for page in pages:
            store.add(page)
    store.finish()


class Sink(Protocol):
    """What pages go into; `Store` describes the methods."""

    @property
    def directory(self) -> Path | None: ...
    def has(self, origin: Origin, stamp: str) -> bool: ...
    def add(self, page: StoredPage) -> None: ...
    def add_problem(self, origin: Origin, reason: str) -> None: ...
    def add_skipped(self, reason: str, count: int) -> None: ...


class Reader:
    """Reads sources one after the other; it owns the processes that extract.

    What is no text to sign, such as HTML once it is extracted, is added to *store*.
    """

    def __init__(
        self,
        store: Sink,
        settings: AuditOptions,
        advance: Callable[[Origin, int], None],
        filer: Filer | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._advance = advance
        self._done = 0
        self._filer = filer or Filer(settings.fingerprinter, settings.header)
        self._workers: extraction.Workers | None = None
        self._extracting: deque[tuple[StoredPage, Future[extraction.Extraction]]] = deque()
        self._texts: deque[StoredPage] = deque()
        self._skipped = Counter[str]()
        self._stamp = lru_cache(maxsize=1)(_stamp)
        # Results may be written into a folder that is read.
        self._is_result = lru_cache(maxsize=1)(lambda path: store.directory in Path(path).resolve().parents)

    def close(self) -> None:
        if self._workers is not None:
            self._workers.close()

    def signed(self, inputs: Sequence[Input]) -> Generator[StoredPage, None, None]:
        """Yield every new page once its signature is known, or the reason why it has none."""
        settings = self._settings
        options = Options(settings.text_field, settings.url_field, settings.base_url)
        return self._signed(
            (name, record)
            for name, kind in inputs
            for record in read_source(Source(Path(name), kind), options)
        )

    def signed_records(self, root: str, records: Iterable[Record]) -> Generator[StoredPage, None, None]:
        """Yield what `signed` does, for *records* of a source called *root*."""
        return self._signed((root, record) for record in records)

    def _signed(self, records: Iterable[tuple[str, Record]]) -> Generator[StoredPage, None, None]:
        with closing(spread(self._unsigned(records), self._filer, self._settings.processes)) as every:
            for filed in every:
                page = self._texts.popleft()
                page.filed = filed
                yield page
                while self._extracting and self._extracting[0][1].done():
                    yield self._extracted()
        while self._extracting:
            yield self._extracted()
        for reason, count in self._skipped.items():
            self._store.add_skipped(reason, count)

    def _unsigned(self, records: Iterable[tuple[str, Record]]) -> Iterator[Unsigned]:
        """Yield the texts of new pages. HTML goes to the extracting processes, what is no page is noted."""
        most = self._settings.max_body_size
        for root, record in records:
            origin = record.origin
            if self._is_result(origin.path):
                continue
            if isinstance(record, BrokenRecord):
                self._store.add_problem(origin, record.reason)
                continue
            if isinstance(record, Skipped):
                self._skipped[record.reason] += 1
                continue
            self._done += 1
            self._advance(origin, self._done)
            if len(record.text or record.body or "") > most:
                self._store.add_problem(origin, f"more than {most:,} bytes")
                continue
            stamp = self._stamp(origin.path) or _stamp(Path(origin.path, origin.place, "response_body"))
            if self._store.has(origin, stamp):
                continue
            page = StoredPage(root, stamp, replace(record, text=None, body=None))
            if record.text is not None:
                self._texts.append(page)
                yield Unsigned(record.text, record.title, page.of_site)
            elif record.body is not None:
                self._extract(page, record, record.body)
            else:
                self._store.add(page)

    def _extract(self, page: StoredPage, record: CrawledPage, body: bytes) -> None:
        settings = self._settings
        if self._workers is None:
            self._workers = extraction.Workers(
                self._filer.fingerprinter,
                settings.extractor,
                processes=settings.processes,
                timeout=settings.extract_timeout,
                memory=settings.extract_memory,
                keep_text=True,
                area=settings.area,
            )
        job = self._workers.submit(extraction.Page(body, record.url, record.content_type))
        head = read_head(body, record.content_type, record.url)
        noindex = head.indexing.noindex or record.indexing.noindex
        page.record = replace(page.record, title=head.title, indexing=replace(head.indexing, noindex=noindex))
        self._extracting.append((page, job))
        if len(self._extracting) > _WAITING * settings.processes:
            self._store.add(self._extracted())

    def _extracted(self) -> StoredPage:
        page, job = self._extracting.popleft()
        done = job.result()
        page.reason = done.reason
        if done.signature is not None:
            (page.filed,) = self._filer.filed(
                [done.signature], [done.text], [page.record.title], [page.of_site]
            )
        return page

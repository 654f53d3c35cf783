"""Reads the sources of an audit into its store.

Texts are signed in a pool of processes. HTML goes to other processes, which extract its main text and sign
that, and which can be killed. Both go on at once, and few pages are in memory at a time.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scrapy_neardup import extraction
from scrapy_neardup.matching.records import TEMPLATE

from .signing import Filed, Filer, Unsigned, characters, spread
from .sources import BrokenRecord, CrawledPage, Options, Origin, find_sources, read_source
from .sources.head import read_head
from .sources.index import all_documents, reading_index
from .store import StoredPage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from .model import Input
    from .settings import AuditOptions
    from .sources import Record
    from .store import Store


class Stamps:
    """Returns the stamp of a file, its size and time of change.

    A file with the same stamp is taken for unchanged.
    """

    def __init__(self) -> None:
        self._path = ""
        self._stamp: str | None = None

    def of(self, origin: Origin) -> str:
        """Return the stamp of the file that *origin* is in."""
        if origin.path != self._path:
            self._path = origin.path
            path = Path(origin.path)
            self._stamp = None if path.is_dir() else _stamp(path)
        if self._stamp is not None:
            return self._stamp
        return _stamp(Path(origin.path, origin.place, "response_body"))


def _stamp(path: Path) -> str:
    with contextlib.suppress(OSError):
        found = path.stat()
        return f"{found.st_size} {found.st_mtime_ns}"
    return ""


#: Pages that wait for each extracting process.
_WAITING = 8


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
    def add_problem(self, root: str, origin: Origin, reason: str) -> None: ...
    def add_skipped(self, root: str, reason: str, count: int) -> None: ...


class Reader:
    """Reads sources one after the other; it owns the processes that extract.

    What is no text to sign, such as HTML once it is extracted, is added to *store*.
    """

    def __init__(self, store: Sink, settings: AuditOptions, advance: Callable[[Origin, int], None]) -> None:
        self._store = store
        self._settings = settings
        self._advance = advance
        self._done = 0
        self._file, self._own = "", False
        self._stamps = Stamps()
        self._filer = Filer(settings.fingerprinter, settings.header)
        self._options = Options(settings.text_field, settings.url_field, settings.base_url)
        self._workers: extraction.Workers | None = None
        self._extracting: deque[tuple[StoredPage, Future[extraction.Extraction]]] = deque()
        self._texts: deque[StoredPage] = deque()
        self._skipped: Counter[tuple[str, str]] = Counter()

    def close(self) -> None:
        if self._workers is not None:
            self._workers.close()

    def signed(self, inputs: Sequence[Input]) -> Generator[StoredPage, None, None]:
        """Yield every new page once its signature is known, or the reason why it has none."""
        return self._signed(self._sort_out(inputs))

    def signed_records(self, root: str, records: Iterable[Record]) -> Generator[StoredPage, None, None]:
        """Yield what `signed` does, for *records* of a source called *root*."""
        return self._signed(self._sort_records(root, records))

    def _signed(self, texts: Iterator[Unsigned]) -> Generator[StoredPage, None, None]:
        with closing(spread(texts, self._filer, _characters, self._settings.processes)) as every:
            for filed in every:
                page = self._texts.popleft()
                page.filed = filed
                yield page
                while self._extracting and self._extracting[0][1].done():
                    yield self._extracted()
        while self._extracting:
            yield self._extracted()
        for (root, reason), count in sorted(self._skipped.items()):
            self._store.add_skipped(root, reason, count)

    def _sort_out(self, inputs: Sequence[Input]) -> Iterator[Unsigned]:
        """Yield the texts of new pages.

        HTML is handed to the extracting processes, and what is no page is noted.
        """
        for name, kind in inputs:
            if kind == "index":
                self._copy_index(name)
                continue
            (source,) = find_sources([name])
            yield from self._sort_records(name, read_source(source, self._options))

    def _sort_records(self, name: str, records: Iterable[Record]) -> Iterator[Unsigned]:
        for record in records:
            if self._is_result(record.origin.path) or (found := self._noted(name, record)) is None:
                continue
            page, text = found
            self._texts.append(page)
            yield text

    def _is_result(self, path: str) -> bool:
        """Tell whether a file is a result of this audit.

        That happens if the results are written into a folder that is read.
        """
        if path != self._file:
            own = self._store.directory
            self._file, self._own = path, own is not None and own in Path(path).resolve().parents
        return self._own

    def _noted(self, root: str, record: Record) -> tuple[StoredPage, Unsigned] | None:
        """Return a page and its text if *record* is a new page that has a text.

        Every other record is handled here, and None is returned.
        """
        if isinstance(record, BrokenRecord):
            self._store.add_problem(root, record.origin, record.reason)
            return None
        if not isinstance(record, CrawledPage):
            self._skipped[root, record.reason] += 1
            return None
        self._done += 1
        self._advance(record.origin, self._done)
        size = len(record.text if record.text is not None else record.body or b"")
        if size > self._settings.max_body_size:
            self._store.add_problem(root, record.origin, f"more than {self._settings.max_body_size:,} bytes")
            return None
        stamp = self._stamps.of(record.origin)
        if self._store.has(record.origin, stamp):
            return None
        page = StoredPage(root, record.origin, stamp, record.url, record.fetched, body_digest=record.digest)
        page.note = record.note
        if record.revisit_of is not None:
            page.refers_digest, page.refers_url = record.revisit_of.digest, record.revisit_of.url
            self._store.add(page)
        elif record.body is not None:
            self._extract(page, record)
        else:
            page.indexing = record.indexing
            return page, Unsigned(record.extracted or record.text or "", record.title, page.of_site)
        return None

    def _extract(self, page: StoredPage, record: CrawledPage) -> None:
        assert record.body is not None
        settings = self._settings
        if self._workers is None:
            self._workers = extraction.Workers(
                settings.fingerprinter,
                settings.extractor,
                processes=settings.processes,
                timeout=settings.extract_timeout,
                memory=settings.extract_memory,
                keep_text=True,
                area=settings.area,
            )
        job = self._workers.submit(extraction.Page(record.body, record.url, record.content_type))
        head = read_head(record.body, record.content_type, record.url)
        page.title, page.indexing = head.title, head.indexing | record.indexing
        self._extracting.append((page, job))
        if len(self._extracting) > _WAITING * settings.processes:
            self._store.add(self._extracted())

    def _extracted(self) -> StoredPage:
        page, job = self._extracting.popleft()
        done = job.result()
        page.reason = done.reason
        if done.signature is not None:
            (page.filed,) = self._filer.filed([done.signature], [done.text], [page.title], [page.of_site])
        return page

    def _copy_index(self, name: str) -> None:
        with reading_index(Path(name)) as (header, snapshot):
            numbers, documents = all_documents(header, snapshot)
        times = documents.records["time"].tolist()
        for field in ("scope", "time"):  # they are of no account in an audit
            documents.records[field] = 0
        documents.records["flags"] &= ~TEMPLATE & 0xFF  # nor are these
        rows = zip(numbers.tolist(), documents.urls, times, documents.keys.T, documents.records, strict=True)
        for number, url, time, keys, record in rows:
            origin = Origin(name, f"document {number}")
            self._done += 1
            self._advance(origin, self._done)
            if not self._store.has(origin, header.uuid):
                page = StoredPage(name, origin, header.uuid, url, time or None)
                page.filed = Filed("", keys.tobytes(), record.tobytes())
                self._store.add(page)


def _characters(text: Unsigned) -> int:
    return characters(text.text)

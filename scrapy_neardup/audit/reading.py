"""Reads the sources of an audit into its store: texts are signed, HTML is extracted, each in processes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from scrapy_neardup import extraction

from .model import Input
from .options import AuditOptions
from .signing import Filer, Unsigned, spread
from .sources import read_sources
from .sources.records import BrokenRecord, Origin, PageRecord, Record, Skipped
from .sources.responses import read_head
from .store import Row, row_of

#: Pages that wait for each extracting process.
_WAITING = 8


def _stamp(path: str) -> str:
    """Return size and time of change of a file, which tell whether it has changed; "" for a folder."""
    try:
        found = Path(path).stat()
    except OSError:
        return ""
    return "" if Path(path).is_dir() else f"{found.st_size} {found.st_mtime_ns}"


class Reader:
    """Adds to *sink* (see `Store`) each new page with its signature, or why it has none; tells *advance*."""

    def __init__(
        self,
        sink: Any,
        settings: AuditOptions,
        advance: Callable[[Origin, int], None] = lambda origin, done: None,
        filer: Filer | None = None,
    ) -> None:
        self._sink, self._settings, self._advance = sink, settings, advance
        self._filer = filer or Filer(settings.fingerprinter, settings.header)
        self._workers: extraction.Workers | None = None
        self._extracting: deque[tuple[Row, Future[extraction.Extraction]]] = deque()
        self._texts: deque[Row] = deque()
        self._done = 0
        self._skipped = Counter[str]()
        self._stamp = lru_cache(maxsize=1)(_stamp)

    def read_all(self, inputs: Iterable[Input]) -> None:
        """Add all pages of *inputs*."""
        for _ in self.read(read_sources(inputs, self._settings)):
            pass

    def read(self, records: Iterable[tuple[str, Record]]) -> Iterator[None]:
        """Add the pages among *records*, which come with the name of their source; yield now and then."""
        try:
            with closing(spread(self._unsigned(records), self._filer, self._settings.processes)) as every:
                for filed in every:
                    self._sink.add(self._texts.popleft() | filed)
                    while self._extracting and self._extracting[0][1].done():
                        self._add_extracted()
                    yield
            while self._extracting:
                self._add_extracted()
                yield
        finally:
            if self._workers is not None:
                self._workers.close()
        self._sink.add_skipped(self._skipped)

    def _unsigned(self, records: Iterable[tuple[str, Record]]) -> Iterator[Unsigned]:
        """Yield the texts of new pages. HTML goes to the extracting processes, what is no page is noted."""
        most = self._settings.max_body_size
        for root, record in records:
            origin = record.origin
            if isinstance(record, BrokenRecord):
                self._sink.add_problem(origin, record.reason)
                continue
            if isinstance(record, Skipped):
                self._skipped[record.reason] += 1
                continue
            self._done += 1
            self._advance(origin, self._done)
            if len(record.text or record.body or "") > most:
                self._sink.add_problem(origin, f"more than {most:,} bytes")
                continue
            # Of a cache each response is a folder.
            stamp = self._stamp(origin.path) or _stamp(str(Path(origin.path, origin.place, "response_body")))
            if self._sink.has(origin, stamp):
                continue
            row = row_of(record, root, stamp)
            if record.text is not None:
                self._texts.append(row)
                yield Unsigned(record.text, record.title, _of_site(row))
            elif record.body is not None:
                self._extract(row, record, record.body)
            else:
                self._sink.add(row)

    def _extract(self, row: Row, record: PageRecord, body: bytes) -> None:
        settings = self._settings
        if self._workers is None:
            self._workers = settings.extracting(self._filer.fingerprinter, keep_text=True)
        job = self._workers.submit(extraction.Page(body, record.url, record.content_type), row["root"])
        head = read_head(body, record.content_type, record.url)
        row |= head | {"noindex": head["noindex"] or record.noindex}
        self._extracting.append((row, job))
        if len(self._extracting) > _WAITING * settings.processes:
            self._add_extracted()

    def _add_extracted(self) -> None:
        row, job = self._extracting.popleft()
        done = job.result()
        row["reason"] = done.reason
        if done.signature is not None:
            (filed,) = self._filer.filed([done.signature], [done.text], [row["title"]], [_of_site(row)])
            row |= filed
        self._sink.add(row)


def _of_site(row: Row) -> str:
    """Return the URL that says which site a page is of: of one that was saved to a file, what it names."""
    return str(row["url"] if row["url"].startswith(("http://", "https://")) else row["declared"])

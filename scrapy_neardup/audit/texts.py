"""Documents to evaluate on: texts, or pages that the configured extractor makes texts of, each once."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import sqlite3
import zlib
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import WHOLE_PAGE, ContentArea, Page, TextOnly, Workers, load_extractor
from scrapy_neardup.extraction.decoding import decode
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.processors import processors

from .sources import CrawledPage, Options, Origin, find_sources, kind_of_file, read_source
from .sources.feeds import Fields
from .sources.head import canonical_url
from .sources.records import Stream, Unreadable, head

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from scrapy_neardup.extraction import Extraction

#: Seconds to wait for another evaluation that writes to the cache.
_PATIENCE = 10.0


class TextCache:
    """Texts of pages by a hash of the page and of what extracted it.

    While others keep it locked, or the disk is full, nothing is known and nothing is remembered.
    """

    def __init__(self, path: Path | None, extractor: str) -> None:
        self._extractor, self._path = extractor, path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Each text is committed by itself: nothing is lost with the process, and nobody has to wait for long.
        try:
            self._database = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=_PATIENCE)
        except sqlite3.OperationalError as error:
            raise ConfigurationError(f"The cache {path} cannot be opened ({error}): name another.") from error
        self.close = self._database.close
        self._run("PRAGMA synchronous=OFF")
        columns = "key BLOB PRIMARY KEY, text TEXT, title TEXT, details TEXT"
        self._run(f"CREATE TABLE IF NOT EXISTS main_texts ({columns}) WITHOUT ROWID")

    def get(self, html: str) -> tuple[bytes, MainText | None]:
        """Return the key of a page, and its text if that is known."""
        data = f"{self._extractor}\n{html}".encode("utf-8", "replace")
        key = hashlib.blake2b(data, digest_size=16).digest()
        rows = self._run("SELECT text, title, details FROM main_texts WHERE key = ?", key)
        return key, MainText(*map(str, rows[0])) if rows else None

    def put(self, key: bytes, text: MainText) -> None:
        """Remember a text."""
        parts = [part.encode("utf-8", "replace").decode() for part in text]
        self._run("INSERT OR REPLACE INTO main_texts VALUES (?, ?, ?, ?)", key, *parts)

    def _run(self, command: str, *values: bytes | str) -> list[Any]:
        try:
            return self._database.execute(command, values).fetchall()
        except sqlite3.OperationalError:
            self._database.execute("PRAGMA busy_timeout = 0")  # waiting again would not help
            return []
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"The cache {self._path} cannot be used ({error}): delete it."
            ) from error


_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error, Unreadable)
_ITEMS = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")


class Text(NamedTuple):
    """A document by its main text."""

    id: str
    text: str
    #: Where it is from; empty if that is unknown.
    url: str
    #: As `MainText` has them.
    title: str = ""
    details: str = ""

    @property
    def main(self) -> MainText:
        """What a fingerprint is made of."""
        return MainText(self.text, self.title, self.details)


class _Source(NamedTuple):
    """A document without its text, and the text, or else the page that it is in."""

    document: Text
    main: MainText | None
    html: str = ""

    def with_text(self, main: MainText) -> Text:
        return self.document._replace(text=main.text, title=main.title, details=main.details)


def read_texts(
    path: Path,
    wanted: Collection[str] | None,
    *,
    extractor: str,
    timeout: float,
    memory: int,
    area: ContentArea = WHOLE_PAGE,
    cache: Path | None,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[str, Text]:
    """Read JSON lines with ``id``, ``text`` or ``html``, or any source of an audit, where URLs are the ids.

    A line may have a ``url`` or a ``host``, and a text a ``title``. Only the documents *wanted* (by id; None:
    all) are kept. HTML goes through *extractor* on all cores, which looks in the *area* of the page, a page
    in *timeout* seconds and *memory* bytes; a page without main text has the text "". Where a page has no URL
    its canonical link serves. Texts extracted before are taken from the file *cache*, if there is one.
    *advance* is told how many documents are done. Raises `ConfigurationError` for a line that is no document.
    """
    texts: dict[str, Text] = {}
    waiting: deque[tuple[_Source, bytes, Future[Extraction]]] = deque()
    limits: dict[str, Any] = {"processes": processors(), "timeout": timeout, "memory": memory}
    workers = Workers(TextOnly(), extractor, keep_text=True, area=area, **limits)
    known = TextCache(cache, area.identity(load_extractor(extractor).identity))
    with closing(known), closing(workers):

        def settle() -> None:
            source, key, future = waiting.popleft()
            extraction = future.result()
            # Whether a page meets a limit depends on the machine and the moment: that is not remembered.
            if extraction.reason in (None, "no_text", "not_text", "failed"):
                known.put(key, extraction.text or MainText(""))
            texts[source.document.id] = source.with_text(extraction.text or MainText(""))
            advance(len(texts))

        for source in _read(path):
            document, main, html = source
            if document.id in texts or (wanted is not None and document.id not in wanted):
                continue
            if main is None:
                url = document.url or canonical_url(html) or ""
                source = _Source(document._replace(url=url), None)
                key, main = known.get(html)
            if main is None:
                page = Page(html.encode("utf-8", "replace"), url, "text/html; charset=utf-8")
                waiting.append((source, key, workers.submit(page)))
                if len(waiting) > 8 * processors():
                    settle()
            else:
                texts[document.id] = source.with_text(main)
                advance(len(texts))
        while waiting:
            settle()
    return texts


def _read(path: Path) -> Iterator[_Source]:
    """Yield the documents of a file of documents, or of a source of an audit, whose URLs are the ids."""
    kind = "folder" if path.is_dir() else kind_of_file(path)
    if kind not in (None, "json", "json lines") or _is_feed(path):
        return _read_source(path)
    return _read_documents(path)


def _is_feed(path: Path) -> bool:
    """Tell whether it is an array of items, or its first line an item with a URL and no identifier."""
    if _ITEMS.match(head(path)):
        return True
    try:
        line = next((line for _, line in Stream(path).lines()), None)
        fields = json.loads(line or b"null")
    except (*_BROKEN, ValueError, RecursionError):
        return False  # `_read_documents` says what is wrong
    if not isinstance(fields, dict) or "id" in fields:
        return False
    nowhere = Origin(path.name)
    page = Fields(Options()).page(fields, nowhere)
    return isinstance(page, CrawledPage) and page.url != str(nowhere)


def _read_source(path: Path) -> Iterator[_Source]:
    for source in find_sources([path]):
        for record in read_source(source, Options()):
            if isinstance(record, CrawledPage) and record.revisit_of is None:
                html = "" if record.body is None else decode(record.body, record.content_type)
                main = None
                if record.text is not None:
                    main = main_text(record.text)._replace(title=record.title)
                yield _Source(Text(record.url, "", record.url), main, html)


def _read_documents(path: Path) -> Iterator[_Source]:
    stream, number = Stream(path), 0
    try:
        for number, line in stream.lines():
            if line is None:
                raise Unreadable("the next line is too long")
            yield _document(line, f"{path}, line {number}")
            stream.rewarded()
    except _BROKEN as error:
        raise ConfigurationError(
            f"{path}, after line {number}: the file cannot be read on ({error}): get a whole copy."
        ) from None


def _document(line: bytes, where: str) -> _Source:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: it is not JSON ({error}).") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), (str, int)):
        raise ConfigurationError(f'{where}: a document is an object with "id" and "text" or "html".')
    said = {name: value for name, value in fields.items() if isinstance(value, str)}
    if "text" not in said and (fields.get("text") is not None or "html" not in said):
        raise ConfigurationError(f'{where}: the document {fields["id"]!r} has neither "text" nor "html".')
    url, html = said.get("url", ""), said.get("html", "")
    if "//" not in url:
        url = f"//{said['host']}/" if said.get("host") else ""
    main = main_text(said["text"])._replace(title=said.get("title", "")) if "text" in said else None
    return _Source(Text(str(fields["id"]), "", url), main, html)

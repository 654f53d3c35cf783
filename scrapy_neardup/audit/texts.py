"""Documents to evaluate on: texts, or pages that the configured extractor makes texts of, each once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import WHOLE_PAGE, ContentArea, Page, TextOnly, Workers, load_extractor
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.processors import processors

from .sources.records import DAMAGE, Stream, Unreadable
from .sources.responses import read_head

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
    """Read JSON lines with ``id`` (or else the ``url`` is it) and ``text`` or ``html``; packed or not.

    A line may have a ``url`` or a ``host``, and a text a ``title``. Only the documents *wanted* (by id; None:
    all) are kept. HTML goes through *extractor* on all cores, which looks in the *area* of the page, a page
    in *timeout* seconds and *memory* bytes; a page without main text has the text "". Where a page has no URL
    its canonical link serves. Texts extracted before are taken from the file *cache*, if there is one.
    *advance* is told how many documents are done. Raises `ConfigurationError` for a line that is no document.
    """
    texts: dict[str, Text] = {}
    waiting: deque[tuple[Text, bytes, Future[Extraction]]] = deque()
    limits: dict[str, Any] = {"processes": processors(), "timeout": timeout, "memory": memory}
    workers = Workers(TextOnly(), extractor, keep_text=True, area=area, **limits)
    known = TextCache(cache, area.identity(load_extractor(extractor).identity))

    def keep(document: Text, main: MainText) -> None:
        texts[document.id] = document._replace(text=main.text, title=main.title, details=main.details)
        advance(len(texts))

    def settle() -> None:
        document, key, future = waiting.popleft()
        extraction = future.result()
        # Whether a page meets a limit depends on the machine and the moment: that is not remembered.
        if extraction.reason in (None, "no_text", "not_text", "failed"):
            known.put(key, extraction.text or MainText(""))
        keep(document, extraction.text or MainText(""))

    with closing(known), closing(workers):
        for document, main, html in _read(path):
            if document.id in texts or (wanted is not None and document.id not in wanted):
                continue
            if main is None:
                said = read_head(html.encode("utf-8", "replace"), "text/html; charset=utf-8", document.url)
                document = document._replace(url=document.url or said.indexing.declared)
                key, main = known.get(html)
            if main is not None:
                keep(document, main)
                continue
            page = Page(html.encode("utf-8", "replace"), document.url, "text/html; charset=utf-8")
            waiting.append((document, key, workers.submit(page)))
            if len(waiting) > 8 * processors():
                settle()
        while waiting:
            settle()
    return texts


def _read(path: Path) -> Iterator[tuple[Text, MainText | None, str]]:
    """Yield the documents without their texts, and the texts, or else the pages that they are in."""
    stream, number = Stream(path), 0
    try:
        for number, line in stream.lines():
            if line is None:
                raise Unreadable("the next line is too long")
            yield _document(line, f"{path}, line {number}")
            stream.rewarded()
    except DAMAGE as error:
        raise ConfigurationError(
            f"{path}, after line {number}: the file cannot be read on ({error}): get a whole copy."
        ) from None


def _document(line: bytes, where: str) -> tuple[Text, MainText | None, str]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: it is not JSON ({error}).") from None
    name = fields.get("id", fields.get("url")) if isinstance(fields, dict) else None
    if not isinstance(name, (str, int)):
        raise ConfigurationError(f'{where}: a document is an object with "id" and "text" or "html".')
    said = {key: value for key, value in fields.items() if isinstance(value, str)}
    if "text" not in said and (fields.get("text") is not None or "html" not in said):
        raise ConfigurationError(f'{where}: the document {name!r} has neither "text" nor "html".')
    url = said.get("url", "")
    if "//" not in url:
        url = f"//{said['host']}/" if said.get("host") else ""
    main = main_text(said["text"])._replace(title=said.get("title", "")) if "text" in said else None
    return Text(str(name), "", url), main, said.get("html", "")

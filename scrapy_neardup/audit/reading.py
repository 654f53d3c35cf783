"""Reads the sources of an audit into its store: texts are signed, HTML is extracted, in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

import mmh3
import numpy as np

from scrapy_neardup import extraction
from scrapy_neardup.errors import NearDupError
from scrapy_neardup.fingerprint import Fingerprinter, Signature
from scrapy_neardup.fingerprint.main_text import MainText, length, main_text
from scrapy_neardup.index import Header
from scrapy_neardup.matching.records import entries
from scrapy_neardup.options import processors

from .model import Input
from .options import AuditOptions
from .sources import read_sources
from .sources.records import MAX_URL, BrokenRecord, Origin, PageRecord, Record, Skipped
from .sources.responses import read_head
from .store import Row, packed_text, row_of

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
        deque(self.read(read_sources(inputs, self._settings)), 0)

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
            if len(record.url) > MAX_URL:
                self._sink.add_problem(origin, f"its URL has {len(record.url):,} characters")
                continue
            # Of a cache each response is a folder.
            stamp = self._stamp(origin.path)
            if not stamp and origin.place:
                stamp = _stamp(str(Path(origin.path, origin.place, "response_body")))
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
        if done.signature is not None and done.text is not None:
            (filed,) = self._filer.filed([done.signature], [done.text], [row["title"]], [_of_site(row)])
            row |= filed
        self._sink.add(row)


def _of_site(row: Row) -> str:
    """Return the URL that says which site a page is of: of one that was saved to a file, what it names."""
    return str(row["url"] if row["url"].startswith(("http://", "https://")) else row["declared"])


_Item = TypeVar("_Item", bound=tuple[str, ...])
_Result = TypeVar("_Result")

#: How many texts, and about how many characters, a process gets at a time; behind so many parts of these
#: others than this process are started.
CHUNK, CHARACTERS, ALONE = 64, 1 << 20, 16
#: Characters of the words that stand for the title of a text, and those among which they are looked for.
_TITLE, _BEGINNING = 100, 800
#: A paragraph is long if it has so many words, or letters (see `length`) if it has some beyond ASCII.
WORDS, LETTERS = 20, 120
#: What no line has whose words are divided by single blanks.
_UNTIDY = ("  ", *(each for each in map(chr, range(0x3001)) if each.isspace() and each not in " \n"))
#: What a signing process does with a part of the texts; set as it starts.
_work: Callable[[list[Any]], Iterable[Any]]


class SignerDied(NearDupError):
    """A signing process has ended before its work."""


class Unsigned(NamedTuple):
    """A text to file, the title that its source gives it, the URL that says its site; "" for none."""

    text: str
    title: str
    url: str


#: Columns of the store: ``title``, and the signature as an index holds it, ``keys`` (the bytes of
#: uint64[keys]), ``record`` and ``wall``; of the text ``headline``, its title in UTF-8, ``paragraphs``, the
#: keys of the long ones, each once (bytes of uint64[n]), and ``text``, see `packed_text`.
Filed: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Filer:
    """Files texts as *header* says; they are signed with *fingerprinter*. Goes to other processes."""

    fingerprinter: Fingerprinter
    header: Header
    #: Whether bare signatures are wanted in place of all that, which are compared with an index.
    signatures: bool = False

    def __call__(self, texts: Sequence[Unsigned]) -> list[Filed]:
        """Sign texts and file them."""
        mains = [main_text(each.text)._replace(title=each.title) for each in texts]
        titles = [
            each.title or " ".join(main.text[:_BEGINNING].split(maxsplit=_TITLE // 2))[:_TITLE]
            for each, main in zip(texts, mains, strict=True)
        ]
        signatures = [*self.fingerprinter.signatures(mains)]
        return self.filed(signatures, mains, titles, [each.url for each in texts])

    def filed(
        self,
        signatures: Sequence[Signature],
        texts: Sequence[MainText],
        titles: Sequence[str],
        urls: Sequence[str],
    ) -> list[Filed]:
        """File *texts* with their *signatures*, the *titles* of their pages and *urls* that say the site."""
        if self.signatures:
            return [{"signature": each} for each in signatures]
        documents = entries(signatures, urls, self.header)
        return [
            {
                "title": title,
                "keys": documents.keys[:, number].tobytes(),
                "record": documents.records[number].tobytes(),
                "wall": signature.wall,
                "headline": text.title.replace("\0", " ").encode("utf-8", "surrogatepass"),
                "paragraphs": np.array(sorted({*paragraph_keys(text.text)}), np.uint64).tobytes(),
                "text": packed_text(text),
            }
            for number, (signature, text, title) in enumerate(zip(signatures, texts, titles, strict=True))
        ]


def paragraph_keys(text: str) -> list[int]:
    """Return the key of each long paragraph of *text*: a 64-bit hash of its words, whatever their case."""
    keys, tidy = list[int](), not any(map(text.__contains__, _UNTIDY))
    for line in text.split("\n"):
        if len(line) < LETTERS // 3:  # no character counts for more than three letters
            continue
        words = (line.strip() if tidy else " ".join(line.split())).casefold()
        if words.count(" ") >= WORDS - 1 or (not line.isascii() and length(line) >= LETTERS):
            keys.append(mmh3.hash64(words.encode("utf-8", "surrogatepass"), signed=False)[0])
    return keys


def spread(
    items: Iterable[_Item], work: Callable[[list[_Item]], Iterable[_Result]], processes: int = 0
) -> Generator[_Result, None, None]:
    """Yield what *work* makes of each of *items* (tuples of texts), in their order, holding few at a time.

    *processes* (0: one a core) do it; closing the generator ends them. Raises `SignerDied`.
    """
    count = processes or processors()
    # A program that was frozen into an executable would start itself.
    alone = count == 1 or getattr(sys, "frozen", False)
    waiting: deque[Future[list[_Result]]] = deque()
    starting: list[Future[list[_Result]]] = []
    pool: ProcessPoolExecutor | None = None
    try:
        for number, part in enumerate(_parts(items)):
            if number == ALONE and not alone:
                # Processes that are forked would have the locks of this one's threads.
                pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin, (work,))
                with _spawning():
                    starting = [pool.submit(_do, []) for _ in range(count)]
            if pool is None or not any(each.done() for each in starting):  # that takes as long as thousands
                yield from work(part)
                continue
            with _spawning():
                waiting.append(pool.submit(_do, part))
            if len(waiting) >= 4 * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise SignerDied(
            "A signing process was ended, as by a lack of memory: run the audit again, and it goes on."
        ) from error
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _parts(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    part: list[_Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += sum(map(len, item))
        if len(part) == CHUNK or total >= CHARACTERS:
            yield part
            part, total = [], 0
    if part:
        yield part


@contextmanager
def _spawning() -> Iterator[None]:
    """Hide the script that has started the audit, which a spawned process would run once more.

    Such a process leaves Ctrl-C to its parent from its first moment on.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,)) if os.name == "posix" else ()
    main = sys.modules["__main__"].__dict__
    hidden: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(hidden)
        if os.name == "posix":
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: Callable[[list[Any]], Iterable[Any]]) -> None:
    """Make a signing process ready: it ends with its parent, also if that is killed."""
    global _work
    _work = work
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was spawned
    parent.join()
    os._exit(0)


def _do(items: list[Any]) -> list[Any]:
    return [*_work(items)]

"""The pages of an audit with their signatures and texts, in one SQLite file."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np

from scrapy_neardup.arguments import escaped
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index import Header

if TYPE_CHECKING:
    from .sources.records import Origin, PageRecord

#: The file in the folder of an audit that holds its pages.
FILE = "signatures.sqlite"
#: The columns of the table, with their types in SQLite; "?": they may be empty.
COLUMNS = {
    "run": "integer", "root": "text", "source": "text", "place": "text", "stamp": "text", "url": "text",
    "fetched": "real?", "declared": "text", "alternates": "text", "title": "text", "noindex": "integer",
    "body_digest": "text?", "refers_digest": "text?", "refers_url": "text?", "reason": "text?",
    "wall": "integer", "keys": "blob?", "record": "blob?", "note": "blob", "headline": "blob?",
    "paragraphs": "blob?", "text": "blob?",
}  # fmt: skip
# SQLite checks these as values are written, and once more when it looks for damage.
_CHECKS = ", ".join(
    f"{name} CHECK (typeof({name}) IN ('{kind.rstrip('?')}'{', ' + repr('null') if '?' in kind else ''}))"
    for name, kind in COLUMNS.items()
)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, {_CHECKS}, UNIQUE (source, place));
CREATE TABLE IF NOT EXISTS problems (source TEXT, place TEXT, reason TEXT);
"""
_INSERT = f"INSERT OR REPLACE INTO pages ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
#: Pages and seconds between two commits: as much is lost if the audit is killed.
_BATCH, _PAUSE = 1000, 1.0
#: A page as a row of the table, by column: what is not there is not known.
Row: TypeAlias = dict[str, Any]


def row_of(page: PageRecord, root: str, stamp: str) -> Row:
    """Return what is stored of *page*, from the source *root* and a file with this *stamp*, but its text."""
    return {
        "root": root, "source": page.origin.path, "place": page.origin.place, "stamp": stamp, "url": page.url,
        "fetched": None if page.fetched is None else float(page.fetched), "declared": "", "alternates": "",
        "title": page.title, "noindex": page.noindex, "body_digest": page.digest,
        "refers_digest": page.refers_digest, "refers_url": page.refers_url, "wall": False, "note": page.note,
    }  # fmt: skip


def packed_text(text: MainText) -> bytes:
    """Return *text* with all its parts behind a checksum; to compress it would take a sixth of an audit."""
    whole = "\0".join([part.replace("\0", " ") for part in text]).encode("utf-8", "surrogatepass")
    return crc32(whole).to_bytes(4, "little") + whole


def unpacked(packed: bytes) -> MainText:
    """Return the text that `packed_text` has packed; raises ValueError or TypeError."""
    if crc32(whole := packed[4:]).to_bytes(4, "little") != packed[:4]:
        raise ValueError("a text has another checksum")
    return MainText(*whole.decode("utf-8", "surrogatepass").split("\0"))


class Store:
    """The pages of an audit in the file *path*, or None for a while; `ConfigurationError` for a bad file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._waiting, self._committed = 0, time.monotonic()
        self._run = 0
        with self.trusting():
            self._database = sqlite3.connect(path or "", check_same_thread=False, timeout=1)
            try:
                self._database.executescript(f"PRAGMA locking_mode=EXCLUSIVE; {_SCHEMA}")
                ((problem, *_), *_) = self._database.execute("PRAGMA quick_check(1)").fetchall()
                if problem != "ok":
                    raise ValueError(problem)
            except BaseException:
                self._database.close()
                raise

    def meta(self, name: str) -> Any:
        """Return a value, None if there is none."""
        rows = self._read("SELECT value FROM meta WHERE name = ?", name)
        with self.trusting():
            return json.loads(rows[0][0]) if rows else None

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a value that JSON can write."""
        self._write("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, json.dumps(value))

    def begin(self, identity: dict[str, Any]) -> None:
        """Begin a run. Pages of another *identity*, see `AuditOptions.identity`, are removed."""
        self._run = (self.meta("run") or 0) + 1
        if self.meta("identity") != identity:  # another version may have had other columns
            for table in ("pages", "problems"):
                self._write(f"DROP TABLE {table}")
            self._database.executescript(_SCHEMA)
        self._write("DELETE FROM problems")
        # Whether a page meets a limit depends on the machine and the moment: it is tried once more.
        self._write("DELETE FROM pages WHERE reason IN ('timeout', 'crash', 'memory')")
        #: Files of which pages were stored before.
        self._known = {source for (source,) in self._read("SELECT DISTINCT source FROM pages")}
        start = {"run": self._run, "identity": identity, "complete": False, "skipped": {}}
        for each in start.items():
            self.set_meta(*each)
        self.commit()

    def signed(self) -> int:
        """Return how many of the stored pages have a signature."""
        return int(self._read("SELECT count(*) FROM pages WHERE record IS NOT NULL")[0][0])

    def has(self, origin: Origin, stamp: str) -> bool:
        """Whether the page at *origin* is stored as it is now; if so, it belongs to this run."""
        if escaped(origin.path) not in self._known:  # as most are not
            return False
        where = (escaped(origin.path), escaped(origin.place), stamp)
        met = "UPDATE pages SET run = ? WHERE source = ? AND place = ? AND stamp = ?"
        return self._write(met, self._run, *where) > 0

    def add(self, row: Row) -> None:
        """Store a page, with the next batch."""
        values = map({**row, "run": self._run}.get, COLUMNS)
        self._write(_INSERT, *(escaped(each) if isinstance(each, str) else each for each in values))

    def add_problem(self, origin: Origin, reason: str) -> None:
        """Note what could not be read."""
        row = map(escaped, (origin.path, origin.place, reason))
        self._write("INSERT INTO problems VALUES (?, ?, ?)", *row)

    def add_skipped(self, counts: Counter[str]) -> None:
        """Note how many records are no pages, by reason."""
        self.set_meta("skipped", counts)

    def commit(self) -> None:
        """Put what was added on disk."""
        with self.trusting():
            self._database.commit()
        self._waiting, self._committed = 0, time.monotonic()

    def finish(self) -> None:
        """End the run. Pages that it has not met are no longer in the sources, and are removed."""
        self._write("DELETE FROM pages WHERE run <> ?", self._run)
        self.set_meta("complete", True)
        self.commit()

    def load(self, header: Header) -> SimpleNamespace:
        """Return all n pages but for where they were read, and their texts: a column each, ordered by ``id``.

        ``keys`` and ``record`` are signatures as an index with *header* has them (uint64[n, keys],
        records[n]), zero for none. Numbers are arrays, all else lists; NaN and None are not known.
        """
        names = ("id", "root", *[*COLUMNS][5:-3])  # all in one pass, and those of long texts are the last
        columns: dict[str, Any] = {name: [] for name in names}
        sizes = {"keys": np.dtype((np.uint64, header.keys)), "record": header.dtype}
        columns |= {name: bytearray() for name in sizes}
        roots: dict[str, str] = {}
        with self.trusting():
            pages = self._database.execute(f"SELECT {', '.join(names)} FROM pages ORDER BY id")  # noqa: S608
            while rows := pages.fetchmany(_BATCH):
                some: dict[str, Any] = dict(zip(names, zip(*rows, strict=True), strict=True))
                some["root"] = [roots.setdefault(each, each) for each in some["root"]]
                for name, dtype in sizes.items():
                    blank = bytes(dtype.itemsize)
                    some[name] = b"".join([each or blank for each in some[name]])
                for name, column in columns.items():
                    column.extend(some[name])
            for name, kind in (("id", np.int64), ("fetched", float), ("noindex", bool), ("wall", bool)):
                columns[name] = np.array(columns[name], kind)
            for name, dtype in sizes.items():
                columns[name] = np.frombuffer(columns[name], dtype)
                if len(columns[name]) != len(columns["id"]):
                    raise ValueError("signatures have other sizes")
        return SimpleNamespace(**columns)

    def main_text(self, page: int) -> MainText | None:
        """Return the main text of the page with that id; None if it is not kept."""
        rows = self._read("SELECT text FROM pages WHERE id = ? AND text IS NOT NULL", page)
        with self.trusting():
            return unpacked(rows[0][0]) if rows else None

    def paragraphs(self) -> dict[int, tuple[str, bytes]]:
        """Return by id the headline of each page with a text, and the keys of its long paragraphs."""
        rows = self._read("SELECT id, headline, paragraphs FROM pages WHERE paragraphs IS NOT NULL")
        with self.trusting():
            return {page: (title.decode("utf-8", "surrogatepass"), keys) for page, title, keys in rows}

    def places(self) -> list[tuple[str, str, str]]:
        """Return file, place and URL of each page."""
        return self._read("SELECT source, place, url FROM pages")

    def problems(self) -> list[tuple[str, str, str]]:
        """Return file, place (the shorter first) and reason of all that could not be read or extracted."""
        return self._read(
            "SELECT * FROM (SELECT source, place, reason FROM problems UNION ALL "
            "SELECT source, place, 'no main text: ' || reason FROM pages "
            "WHERE reason IS NOT NULL AND reason <> 'no_text') ORDER BY source, length(place), place, reason"
        )

    def skipped(self) -> dict[str, int]:
        """Return how many records were no pages, by reason."""
        return dict(sorted(self.meta("skipped").items()))

    def close(self) -> None:
        """Keep what was added."""
        try:
            self.commit()
        finally:
            self._database.close()

    def _read(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of *query*."""
        with self.trusting():
            return self._database.execute(query, values).fetchall()

    def _write(self, command: str, *values: Any) -> int:
        """Run *command* and commit now and then; return how many rows it has changed."""
        with self.trusting():
            changed = self._database.execute(command, values).rowcount
        self._waiting += 1
        if self._waiting >= _BATCH or time.monotonic() > self._committed + _PAUSE:
            self.commit()
        return changed

    @contextlib.contextmanager
    def trusting(self) -> Iterator[None]:
        """Raise `ConfigurationError` for a damaged or locked file, OSError for one that is not written."""
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, ConfigurationError):
                raise
            said = str(error)
            if "locked" in said:
                said = f"{self.path} is in use: wait for the other audit, or name another directory."
            elif "closed database" in said:  # JSON is "enclosed", too
                said = "The audit is closed: read its texts before."
            elif isinstance(error, sqlite3.OperationalError) and not ("decode" in said or "no such" in said):
                remedy = "look at the disk and its permissions."
                raise OSError(f"{self.path} cannot be written ({said}): {remedy}") from error
            else:
                said = f"{self.path} is damaged ({said}): delete it to start anew."
            raise ConfigurationError(said) from error

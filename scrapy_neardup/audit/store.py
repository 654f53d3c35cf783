"""The pages of an audit with their signatures and texts, in one SQLite file.

So an audit that was interrupted can go on, and pages can be compared with other settings without reading them
again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from array import array
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .packing import ERRORS, unpacked
from .signing import Filed
from .sources.index import AUDIT
from .sources.records import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint.main_text import MainText
    from scrapy_neardup.index import Header

    from .sources.records import Indexing, Origin


@contextlib.contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Turn errors of the database in *path*, and of code that reads damaged values, into one line.

    A damaged or locked file raises `ConfigurationError`, one that cannot be written `OSError`.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except sqlite3.OperationalError as error:
        if "decode" in str(error) or "no such" in str(error):  # of a text, of a column
            raise _damaged(path, error) from error
        if "locked" in str(error):
            raise ConfigurationError(
                f"{path} is in use: wait for the other audit, or name another directory."
            ) from error
        raise OSError(f"{path} cannot be written ({error}): look at the disk and its permissions.") from error
    except sqlite3.ProgrammingError as error:
        if "closed" in str(error):
            raise ConfigurationError("The audit is closed: read its texts before.") from error
        raise _damaged(path, error) from error
    except (sqlite3.DatabaseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, error) from error
    except ERRORS as error:
        raise _damaged(path, error) from error


def _damaged(path: Path | None, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{path} is damaged ({error}): delete it to start anew.")


#: The columns of the table, in the order of `row_of`, with their types in SQLite.
COLUMNS = {
    "run": "INTEGER", "root": "TEXT", "source": "TEXT", "place": "TEXT", "stamp": "TEXT", "url": "TEXT",
    "fetched": "REAL", "declared": "TEXT", "alternates": "TEXT", "title": "TEXT", "noindex": "INTEGER",
    "body_digest": "TEXT", "refers_digest": "TEXT", "refers_url": "TEXT", "reason": "TEXT", "wall": "INTEGER",
    "keys": "BLOB", "record": "BLOB", "headline": "BLOB", "paragraphs": "BLOB", "text": "BLOB",
    "note": "BLOB",
}  # fmt: skip
CREATE = (
    "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    + ", UNIQUE (source, place));"
)
INSERT = (
    f"INSERT OR REPLACE INTO pages ({', '.join(COLUMNS)}) "  # noqa: S608  # names of our own
    f"VALUES ({', '.join('?' * len(COLUMNS))})"
)


@dataclass(slots=True)
class StoredPage:
    """A page as it is stored.

    It has a signature, or refers to the page that it is a revisit of, or has a reason why it has no text.
    """

    #: The source that the user named.
    root: str
    #: The file and the place in it.
    origin: Origin
    #: Size and time of change of that file.
    stamp: str
    url: str
    fetched: float | None
    title: str = ""
    #: What it tells search engines.
    indexing: Indexing = SILENT
    body_digest: str | None = None
    refers_digest: str | None = None
    refers_url: str | None = None
    #: What its item says, see `notes`.
    note: bytes = b""
    #: Why there is no main text; see `extraction.Reason`.
    reason: str | None = None
    #: Its signature and its text.
    filed: Filed | None = None

    @property
    def of_site(self) -> str:
        """The URL that says which site it is of: of a page that was saved to a file, what the page names."""
        return self.url if self.url.startswith(("http://", "https://")) else self.indexing.declared


class StoredColumns(NamedTuple):
    """The n pages of a store without their texts: a column each, in the order of their numbers."""

    #: int64[n].
    id: NDArray[np.int64]
    root: list[str]
    url: list[str]
    #: In seconds since 1970, NaN if not known: float64[n].
    fetched: NDArray[np.float64]
    declared: list[str]
    alternates: list[str]
    title: list[str]
    #: bool[n].
    noindex: NDArray[np.bool_]
    body_digest: list[str | None]
    refers_digest: list[str | None]
    refers_url: list[str | None]
    reason: list[str | None]
    #: bool[n].
    wall: NDArray[np.bool_]
    #: Signatures as an index holds them, zero for a page without one: uint64[n, keys], and records[n].
    keys: NDArray[np.uint64]
    record: NDArray[Any]
    #: What items say, see `notes`; empty for a page that is no item.
    note: list[bytes]

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]], header: Header) -> StoredColumns:
        """Make columns of *rows*, which have their fields.

        Raises ValueError unless all values are of the types, and of the sizes, that *header* asks for.
        """
        numbers: dict[str, array[Any]] = {name: array(code) for name, code in _NUMBERS.items()}
        signatures = {"keys": bytearray(), "record": bytearray()}
        sizes = {"keys": 8 * header.keys, "record": header.dtype.itemsize}
        texts: dict[str, list[Any]] = {name: [] for name in cls._fields if name not in (numbers | signatures)}
        known: dict[str, str] = {}
        rest = iter(rows)
        while part := [*islice(rest, _ROWS)]:
            for name, values in zip(cls._fields, zip(*part, strict=True), strict=True):
                if not {*map(type, values)} <= {*_TYPES[name]}:
                    raise ValueError(f"the column {name} holds values of other types")
                if name in signatures:
                    if not {len(value) for value in values if value is not None} <= {sizes[name]}:
                        raise ValueError(f"the column {name} holds values of other sizes")
                    blank = bytes(sizes[name])
                    signatures[name] += b"".join(blank if value is None else value for value in values)
                elif name in numbers:
                    numbers[name].extend(nan if value is None else value for value in values)
                elif name in _FEW:
                    texts[name] += (value and known.setdefault(value, value) for value in values)
                else:
                    texts[name] += values
        columns: dict[str, Any] = {**texts}
        columns |= {name: np.frombuffer(values, values.typecode) for name, values in numbers.items()}
        columns |= {name: columns[name] != 0 for name in ("noindex", "wall")}
        columns["keys"] = np.frombuffer(signatures["keys"], np.uint64).reshape(-1, header.keys)
        columns["record"] = np.frombuffer(signatures["record"], header.dtype)
        return cls(**columns)


class Paragraphs(NamedTuple):
    """The long paragraphs of the pages that have texts, and the titles of these, in the order of pages."""

    #: The numbers of the pages: int64[n].
    id: NDArray[np.int64]
    headline: list[str]
    #: The keys of all paragraphs, see `paragraph_keys`: uint64[m]. Those of the page in row i are from
    #: ``ends[i]`` up to ``ends[i + 1]``: int64[n + 1].
    keys: NDArray[np.uint64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, bytes, bytes]]) -> Paragraphs:
        """Make columns of *rows*: numbers of pages, titles in UTF-8, keys. Raises ValueError for others."""
        ids, ends = array("q"), array("q", [0])
        headlines: list[str] = []
        keys = bytearray()
        for number, headline, own in rows:
            ids.append(number)
            headlines.append(headline.decode("utf-8", "surrogatepass"))
            keys += own
            ends.append(len(keys) // 8)
        numbers = (np.frombuffer(each, np.int64) for each in (ids, ends))
        return cls(next(numbers), headlines, np.frombuffer(keys, np.uint64), next(numbers))

    def often(self, least: int) -> Paragraphs:
        """Return the same without the paragraphs that fewer than *least* pages have, most of them."""
        keys = np.sort(self.keys)
        wanted = np.unique(keys[least - 1 :][keys[least - 1 :] == keys[: max(len(keys) - least + 1, 0)]])
        found = [np.empty(0, np.int64)]
        for start in range(0, len(keys) if len(wanted) else 0, _PART):
            part = self.keys[start : start + _PART]
            places = np.minimum(np.searchsorted(wanted, part), len(wanted) - 1)
            found.append(start + np.flatnonzero(wanted[places] == part))
        kept = np.concatenate(found)
        return self._replace(keys=self.keys[kept], ends=np.searchsorted(kept, self.ends))


_NONE = type(None)
#: The types that a column of `StoredColumns` may hold. Others show that the file is damaged.
_TYPES: dict[str, tuple[type, ...]] = {
    "id": (int,), "root": (str,), "url": (str,), "fetched": (float, _NONE), "declared": (str,),
    "alternates": (str,), "title": (str,), "noindex": (int,), "body_digest": (str, _NONE),
    "refers_digest": (str, _NONE), "refers_url": (str, _NONE), "reason": (str, _NONE), "wall": (int,),
    "keys": (bytes, _NONE), "record": (bytes, _NONE), "note": (bytes,),
}  # fmt: skip
#: The columns of numbers, with the types of their arrays; columns of few different texts, each kept once.
_NUMBERS = {"id": "q", "fetched": "d", "noindex": "q", "wall": "q"}
_FEW = ("root", "reason", "declared")
#: Rows that are read at a time; keys that are looked up at a time.
_ROWS, _PART = 1000, 1 << 18
#: What is stored of a page without a signature.
_UNSIGNED = Filed("", None, None)


def row_of(page: StoredPage, run: int) -> tuple[Any, ...]:
    """Return *page* as a row of the table that `INSERT` stores, met in the run of that number."""
    indexing = page.indexing
    alternates = json.dumps(dict(indexing.alternates)) if indexing.alternates else ""
    filed = page.filed or _UNSIGNED
    return (
        run, encodable(page.root), encodable(page.origin.path), encodable(page.origin.place), page.stamp,
        encodable(page.url), page.fetched, encodable(indexing.declared), encodable(alternates),
        encodable(page.title or filed.title), indexing.noindex, page.body_digest, page.refers_digest,
        page.refers_url, page.reason, filed.wall, filed.keys, filed.record, filed.headline, filed.paragraphs,
        filed.text, page.note,
    )  # fmt: skip


def encodable(text: str) -> str:
    """Return *text* with escapes for what UTF-8 cannot write."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


#: Name of the file in the directory of the results.
FILE = AUDIT
#: Pages and seconds between two commits: as much is lost if the audit is killed.
BATCH, PAUSE = 1000, 1.0
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
{CREATE}
CREATE TABLE IF NOT EXISTS problems (root TEXT, source TEXT, place TEXT, reason TEXT);
CREATE TABLE IF NOT EXISTS skipped (
  root TEXT, reason TEXT, count INTEGER, PRIMARY KEY (root, reason)) WITHOUT ROWID;
"""


class Store:
    """The pages of an audit, in the file *path* or, with None, one that vanishes with the process.

    Raises `ConfigurationError` if the file is in use or none of ours.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._waiting: list[StoredPage] = []
        self._seen: list[tuple[int]] = []
        self._committed = time.monotonic()
        self.run = 0
        #: Nothing was stored when the run began.
        self._empty = True
        with self.trusting():
            self._database = sqlite3.connect(
                path or "", isolation_level=None, check_same_thread=False, timeout=1
            )
            try:
                self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=NORMAL")
                self._database.executescript(_SCHEMA)
            except BaseException:
                self._database.close()
                raise

    @property
    def directory(self) -> Path | None:
        """Where the file is, if there is one."""
        return None if self._path is None else self._path.resolve().parent

    def meta(self, name: str) -> Any:
        """Return a value, None if there is none."""
        rows = self._read("SELECT value FROM meta WHERE name = ?", (name,))
        with self.trusting():
            return json.loads(rows[0][0]) if rows else None

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a value that JSON can write."""
        with self.trusting():
            self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def begin(self, identity: dict[str, Any]) -> str:
        """Begin a run. Pages that were made with another *identity* are removed, see `AuditOptions.identity`.

        Returns "new" for an empty store, "resumed" if its pages are used, "anew" if they were removed.
        """
        identity = json.loads(json.dumps(identity))
        before = self.meta("identity")
        with self.trusting():
            self._database.execute("BEGIN IMMEDIATE")
            for table in ("problems", "skipped"):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608
            if before != identity:  # another version may have had other columns
                self._database.execute("DROP TABLE pages")
                self._database.execute(CREATE)
            # Whether a page meets a limit depends on the machine and the moment: it is tried once more.
            self._database.execute("DELETE FROM pages WHERE reason IN ('timeout', 'crash', 'memory')")
            self.run = (self.meta("run") or 0) + 1
            self.set_meta("run", self.run)
            self.set_meta("identity", identity)
            self.set_meta("complete", False)
            self._database.execute("COMMIT")
            self._empty = not len(self)
            self._database.execute("BEGIN IMMEDIATE")
        return "new" if before is None else "resumed" if before == identity else "anew"

    def __len__(self) -> int:
        """Return how many pages are stored."""
        return int(self._read("SELECT count(*) FROM pages")[0][0])

    def signed(self) -> int:
        """Return how many of the stored pages have a signature."""
        return int(self._read("SELECT count(*) FROM pages WHERE record IS NOT NULL")[0][0])

    def has(self, origin: Origin, stamp: str) -> bool:
        """Whether the page at *origin* is stored as it is now; if so, it belongs to this run."""
        if self._empty:
            return False
        rows = self._read(
            "SELECT id FROM pages WHERE source = ? AND place = ? AND stamp = ?",
            (encodable(origin.path), encodable(origin.place), stamp),
        )
        if not rows:
            return False
        self._seen += rows
        if len(self._seen) >= BATCH:
            self.flush()
        return True

    def add(self, page: StoredPage) -> None:
        """Store a page, with the next batch."""
        self._waiting.append(page)
        if len(self._waiting) >= BATCH or time.monotonic() > self._committed + PAUSE:
            self.flush()

    def add_problem(self, root: str, origin: Origin, reason: str) -> None:
        """Note what could not be read."""
        row = (root, origin.path, origin.place, reason)
        with self.trusting():
            self._database.execute("INSERT INTO problems VALUES (?, ?, ?, ?)", [*map(encodable, row)])

    def add_skipped(self, root: str, reason: str, count: int) -> None:
        """Note how many records of a source are no pages, and why."""
        with self.trusting():
            self._database.execute(
                "INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", (encodable(root), reason, count)
            )

    def flush(self) -> None:
        """Commit what was added."""
        with self.trusting():
            # A keyboard interrupt may have come between two transactions.
            if not self._database.in_transaction:
                self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(INSERT, [row_of(page, self.run) for page in self._waiting])
            self._database.executemany(f"UPDATE pages SET run = {self.run} WHERE id = ?", self._seen)  # noqa: S608
            self._database.execute("COMMIT")
            self._database.execute("BEGIN IMMEDIATE")
        self._committed = time.monotonic()
        self._waiting.clear()
        self._seen.clear()

    def finish(self) -> None:
        """End the run. Pages that it has not met are no longer in the sources, and are removed."""
        self.flush()
        with self.trusting():
            self._database.execute("DELETE FROM pages WHERE run <> ?", (self.run,))
            self.set_meta("complete", True)
            self._database.execute("COMMIT")

    def load(self, header: Header) -> StoredColumns:
        """Return all pages but for their texts; they are filed as *header* says."""
        names = ", ".join(StoredColumns._fields)
        with self.trusting():
            rows = self._database.execute(f"SELECT {names} FROM pages ORDER BY id")  # noqa: S608
            return StoredColumns.of(rows, header)

    def text(self, page: int) -> str | None:
        """Return the main text of the page with that id, and its title and short lines, to be read."""
        text = self.main_text(page)
        return None if text is None else text.shown

    def main_text(self, page: int) -> MainText | None:
        """Return the main text of the page with that id; None if it is not kept."""
        rows = self._read("SELECT text FROM pages WHERE id = ?", (page,))
        if not rows or rows[0][0] is None:
            return None
        with self.trusting():
            return unpacked(rows[0][0])

    def paragraphs(self) -> Paragraphs:
        """Return the long paragraphs of all pages."""
        query = "SELECT id, headline, paragraphs FROM pages WHERE paragraphs IS NOT NULL ORDER BY id"
        with self.trusting():
            return Paragraphs.of(self._database.execute(query))

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Yield file, place and reason of all that could not be read or extracted, in the order of these.

        Places end in numbers as a rule: of two the shorter comes first.
        """
        yield from self._read(
            "SELECT * FROM (SELECT source, place, reason FROM problems UNION ALL "
            "SELECT source, place, 'no main text: ' || reason FROM pages "
            "WHERE reason IS NOT NULL AND reason <> 'no_text') ORDER BY source, length(place), place, reason"
        )

    def skipped(self) -> dict[str, int]:
        """Return how many records were no pages, by reason."""
        return dict(self._read("SELECT reason, sum(count) FROM skipped GROUP BY reason ORDER BY reason"))

    def close(self) -> None:
        """Keep what was added; leave a single file behind."""
        try:
            if self._waiting or self._seen:
                self.flush()
            with self.trusting():
                if self._database.in_transaction:
                    self._database.execute("COMMIT")
                if self._path is not None:
                    self._database.execute("PRAGMA journal_mode=DELETE")
        finally:
            self._database.close()

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of *query*."""
        with self.trusting():
            return self._database.execute(query, values).fetchall()

    def trusting(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that turns the errors of code that reads the file into one line about it."""
        return explained(self._path)

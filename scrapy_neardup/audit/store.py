"""The pages of an audit with their signatures and texts, in one SQLite file.

So an audit that was interrupted can go on, and pages can be compared with other settings without reading them
again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from .packing import unpacked
from .sources.index import AUDIT
from .store_errors import explained
from .stored import CREATE, INSERT, Paragraphs, StoredColumns, StoredPage, encodable, row_of

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_neardup.fingerprint.main_text import MainText
    from scrapy_neardup.index import Header

    from .sources import Origin

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

"""Texts of pages that were extracted before, in a file that several processes may use at once."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import MainText

if TYPE_CHECKING:
    from pathlib import Path

#: Seconds to wait for another evaluation that writes to the cache.
_PATIENCE = 10.0


class TextCache:
    """Texts of pages by a hash of the page and of what extracted it.

    While others keep it locked, nothing is known.
    """

    def __init__(self, path: Path | None, extractor: str) -> None:
        self._extractor = extractor
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Each text is committed by itself: nothing is lost with the process, and nobody has to wait for long.
        try:
            self._database = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=_PATIENCE)
        except sqlite3.OperationalError as error:
            raise ConfigurationError(f"The cache {path} cannot be opened ({error}): name another.") from error
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

    def close(self) -> None:
        """Close."""
        self._database.close()

    def _run(self, command: str, *values: bytes | str) -> list[Any]:
        """Return the rows that *command* finds; an empty list if it cannot be run now."""
        try:
            return self._database.execute(command, values).fetchall()
        except sqlite3.OperationalError:
            # It is locked, on a full disk, or read-only: pages are extracted once more.
            self._database.execute("PRAGMA busy_timeout = 0")  # waiting again would not help
            return []
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"The cache {self._path} cannot be used ({error}): delete it."
            ) from error

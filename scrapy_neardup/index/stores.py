"""Opening an index by its name: a directory, or a URL whose scheme says which back-end holds it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_neardup.arguments import require_path, require_whole, whole_numbers
from scrapy_neardup.errors import ConfigurationError

from .header import Header
from .lmdb.index import open_directory
from .protocol import Documents, Index
from .search import Matches
from .tables import DISTANCE, LAYOUTS, TABLES, Family, PermutedTables

if TYPE_CHECKING:
    from typing_extensions import Self


#: The schemes of URLs of indexes on a server.
SERVERS = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
#: Those of all back-ends that are named by URLs.
BACKENDS = ("memory", *SERVERS)
#: What is taken for a URL: a scheme that is known, or any with two slashes.
_URL = re.compile(rf"(?:file|{'|'.join(map(re.escape, BACKENDS))}):|[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_index(
    where: str | os.PathLike[str] | None,
    wanted: Header | None,
    *,
    ignore: Collection[str] = (),
    window: float = 0,
    reset: bool = False,
) -> Index:
    """Open the index *where*: a directory, ``file:///directory``, ``redis://…``; None, ``memory:``: scratch.

    It must have the header *wanted*, but for the parameters to *ignore*, and is made with it if it is not
    there; None: any. *reset* deletes it first. Documents whose ``time`` is more than *window* seconds ago may
    go, unless that is 0. Raises `ConfigurationError`, `IndexUnavailable`, `IndexCorrupted`, `IndexMismatch`.
    """
    if wanted is not None and isinstance(where, str) and where[:7].lower() == "memory:":
        where = None
    where = None if where is None else located(where)
    if isinstance(where, str):
        from .redis import Address, RedisIndex

        return RedisIndex(Address.parse(where), wanted, ignore=ignore, window=window, reset=reset)
    return open_directory(where, wanted, ignore=ignore, window=window, reset=reset)


def located(where: str | os.PathLike[str]) -> Path | str:
    """Return the directory that *where* names; a URL on a server as it is. Raises `ConfigurationError`."""
    require_path(where)
    if not isinstance(where, str) or not _URL.match(where):
        return Path(where)
    scheme, host, path, query, fragment = urlsplit(where)
    if scheme in SERVERS:
        return where
    if scheme != "file" or host not in ("", "localhost") or path[:1] != "/" or query or fragment:
        raise ConfigurationError(
            f"No index can be opened by the URL {where}: use the path of a directory of this machine, or "
            f"file:///the/directory, {', '.join(f'{name}:' for name in sorted(BACKENDS))}"
        )
    return Path(url2pathname(path))


class FingerprintIndex(AbstractContextManager["FingerprintIndex"]):
    """An index of bare 64-bit fingerprints: finds all within a Hamming distance, exactly.

    >>> with FingerprintIndex.open(None) as index:
    ...     numbers = index.add([0b0000, 0b1111])
    ...     index.search([0b0111], distance=3)
    Matches(query=array([0, 0]), document=array([0, 1]), distance=array([3, 1], dtype=uint8))
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        *,
        tables: int | PermutedTables = TABLES,
        reset: bool = False,
    ) -> Self:
        """Open the index at *path*, see `open_index`; *tables* is 4, 10 or 20, or any layout."""
        if not isinstance(tables, PermutedTables):
            if tables not in LAYOUTS:
                raise ConfigurationError(f"tables is {tables!r}: use one of {sorted(LAYOUTS)}.")
            tables = LAYOUTS[tables]
        return cls(open_index(path, Header((Family(tables),), (("fingerprint", "<u8"),)), reset=reset))

    def add(self, fingerprints: ArrayLike) -> NDArray[np.int64]:
        """Store *fingerprints* (uint64[n]), on disk on return; returns the number of each, int64[n]."""
        keys = _row("Fingerprints", fingerprints, np.uint64)
        records = keys.astype(self._index.header.dtype)
        return self._index.add(Documents(keys[np.newaxis], records, [""] * len(keys), [b""] * len(keys)))

    def search(self, fingerprints: ArrayLike, distance: int = DISTANCE) -> Matches:
        """Find all within *distance* bits of *fingerprints* (uint64[n]), or raise `ConfigurationError`."""
        require_whole("distance", distance, 0, self._index.header.families[0].tables.max_distance)
        return self._index.search(0, _row("Fingerprints", fingerprints, np.uint64), distance)

    def fingerprints(self, numbers: ArrayLike) -> NDArray[np.uint64]:
        """Return the fingerprints under *numbers*: uint64[n]. Raises as `add`, or `IndexCorrupted`."""
        row = _row("Numbers", _row("Numbers", numbers, np.uint64), np.int64)
        fingerprints: NDArray[np.uint64] = self._index.fetch(row).records["fingerprint"]
        return fingerprints

    def forget(self, numbers: ArrayLike) -> None:
        """Remove the fingerprints with these *numbers*."""
        self._index.discard(_row("Numbers", numbers, np.int64).tolist())

    def gauges(self) -> dict[str, int]:
        """Return numbers on size and health."""
        return self._index.gauges()

    def flush(self) -> None:
        """Return once everything is on disk."""
        self._index.flush()

    def close(self) -> None:
        """Close the index."""
        if not self._closed:  # it counts its users
            self._closed = True
            self._index.close()

    def __exit__(self, *exception: object) -> None:
        self.close()


def _row(name: str, values: ArrayLike, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    if type(values) is int and dtype is np.uint64 and 0 <= values < 1 << 64:  # what takes least
        return np.array([values], dtype)
    row = np.atleast_1d(whole_numbers(name, values, dtype))
    if row.ndim > 1:
        raise ConfigurationError(f"{name} come in an array of 1 dimension, not of {row.ndim}.")
    return row

"""An index of bare 64-bit fingerprints, for those who have their own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.arguments import require_path, require_whole, whole_numbers
from scrapy_neardup.errors import ConfigurationError

from .header import Header
from .protocol import Documents, Index
from .stores import open_index
from .tables import DISTANCE, LAYOUTS, TABLES, Family, PermutedTables

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from .search import Matches


class FingerprintIndex(AbstractContextManager["FingerprintIndex"]):
    """Finds every stored fingerprint within a Hamming distance, exactly.

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
        """Open the index in directory *path*, or the one that *path* names as a URL, see `open_index`.

        With None it is an index on disk that vanishes when it is closed. *tables* is 4, 10 or 20, or any
        layout. *reset* empties the index first. Raises `ConfigurationError` and what `open_index` does.
        """
        if path is not None:
            require_path(path)
        if not isinstance(tables, PermutedTables):
            if tables not in LAYOUTS:
                raise ConfigurationError(f"tables is {tables!r}: use one of {sorted(LAYOUTS)}.")
            tables = LAYOUTS[tables]
        return cls(open_index(path, Header((Family(tables),), (("fingerprint", "<u8"),)), reset=reset))

    def add(self, fingerprints: ArrayLike) -> NDArray[np.int64]:
        """Store *fingerprints* (uint64[n]); returns the number of each, int64[n]. They are on disk on return.

        Raises `ConfigurationError` for what is no whole number from 0 to 2⁶⁴ - 1.
        """
        keys = _row("Fingerprints", fingerprints, np.uint64)
        records = keys.astype(self._index.header.dtype)
        return self._index.add(Documents(keys[np.newaxis, :], records, [""] * len(keys), [b""] * len(keys)))

    def search(self, fingerprints: ArrayLike, distance: int = DISTANCE) -> Matches:
        """Find what is stored within *distance* bits of each of *fingerprints* (uint64[n]).

        Raises `ConfigurationError` for a distance that the tables do not find in full, and as `add` does.
        """
        require_whole("distance", distance, 0, self._index.header.families[0].tables.max_distance)
        return self._index.search(0, _row("Fingerprints", fingerprints, np.uint64), distance)

    def forget(self, numbers: ArrayLike) -> None:
        """Remove the fingerprints with these *numbers*."""
        self._index.discard(_row("Numbers of documents", numbers, np.int64).tolist())

    def fingerprints(self, numbers: ArrayLike) -> NDArray[np.uint64]:
        """Return the fingerprints stored under *numbers*, as `add` and `search` gave them: uint64[n].

        Raises `IndexCorrupted` for a number that neither has given, `ConfigurationError` for one below 0.
        """
        name = "Numbers of documents"
        row = _row(name, _row(name, numbers, np.uint64), np.int64)
        fingerprints: NDArray[np.uint64] = self._index.fetch(row).records["fingerprint"]
        return fingerprints

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
    row = np.atleast_1d(whole_numbers(name, values, dtype))
    if row.ndim > 1:
        raise ConfigurationError(f"{name} come in an array of 1 dimension, not of {row.ndim}.")
    return row

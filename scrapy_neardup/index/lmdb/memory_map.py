"""The file of an index, mapped into memory by LMDB: opened, mapped in another size, opened again.

Each of these moves the map. Nobody may read it meanwhile, or hold a view of it: `Environment` sees to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup.errors import IndexUnavailable

from .data_file import DATA
from .opening import open_environment

if TYPE_CHECKING:
    from pathlib import Path

    from .tuning import Tuning


class MemoryMap:
    """The map of the index file in directory *path*. Without *sync*, commits do not wait for the disk.

    Raises `IndexUnavailable` or `IndexCorrupted` if the file cannot be opened.
    """

    def __init__(self, path: Path, tuning: Tuning, *, sync: bool) -> None:
        self._path = path
        self._tuning = tuning
        self._sync = sync
        self._bytes = tuning.map_bytes
        #: Whether the file was closed and could not be opened again.
        self.lost = False
        self._open()

    def adopt(self) -> None:
        """Map as much as another process has."""
        try:
            self.env.set_mapsize(0)
        except lmdb.Error:  # LMDB has let go of the map; perhaps what is in use can be mapped
            self.reopen()

    def grow(self) -> None:
        """Double the map. If the system refuses, the old size is mapped again and the error is raised."""
        size = int(self.env.info()["map_size"])
        try:
            self.env.set_mapsize(2 * size)
        except lmdb.Error:
            self._bytes = size
            self.reopen()
            raise
        self._bytes = 2 * size

    def reopen(self) -> None:
        """Close the file and open it again. Raises `IndexUnavailable` if it is gone."""
        self.lost = True
        self.env.close()
        if not (self._path / DATA).is_file():  # LMDB would make a new one
            raise IndexUnavailable(
                f"The file of the index in {self._path} is gone: close the index and open it again."
            )
        self._open()
        self.lost = False

    def _open(self) -> None:
        self.env, self.databases, self._bytes = open_environment(
            self._path, self._bytes, self._tuning.min_map_bytes, sync=self._sync
        )

"""What an index on disk holds at the moment: the memtable and the runs of a snapshot, read as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.index.decoding import decoding
from scrapy_neardup.index.search import closest, search_all
from scrapy_neardup.index.sorted_arrays import is_member

from .equal_keys import is_known
from .memtable import Memtable
from .search import search_one, search_runs
from .snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.matches import Matches
    from scrapy_neardup.index.protocol import Lookup, Stored
    from scrapy_neardup.index.search import Met

    from .environment import Environment


class Contents:
    """The documents of the index in *environment*: the memtable of this process over what is committed.

    All methods need the lock of the environment. Those that read raise `IndexCorrupted`.
    """

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        self.memtable = Memtable(header, environment.tuning)
        self.snapshot = Snapshot(environment, header)
        #: The error that keeps later commits from being seen; None if all are seen.
        self.behind: lmdb.Error | None = None
        self.snapshot.refresh()
        self.memtable.follow(self.snapshot)

    # Keeping up with other processes

    def catch_up(self) -> None:
        """Take in what other processes have committed, as far as that can be seen at the moment."""
        self.look()
        self.memtable.follow(self.snapshot)  # the snapshot moves on by itself when the memory map moves

    def look(self) -> None:
        """Move on to the newest commit, unless one of this process is under way."""
        if self.memtable.committing or self._environment.last_transaction() == self.snapshot.commit:
            return
        try:
            self.snapshot.refresh(wait=False)
        except lmdb.Error as error:
            if not self.snapshot.attached:
                raise
            self.behind = error  # the older view has to do until the map can be moved
            return
        self.memtable.follow(self.snapshot)
        self.behind = None

    # Reading

    def search(self, family: int, keys: NDArray[np.uint64], distance: int, most: int, first: int) -> Matches:
        """Return the documents of a *family* within *distance* bits of one of *keys* (uint64[n]), each once.

        For *most* see `search_all`, for *first* `search_runs`.
        """
        with decoding("A partition"):
            return search_all(
                (
                    lambda some: search_runs(self.snapshot, family, some, distance, most, first),
                    lambda some: self.memtable.columns.search(family, some, distance, most, first),
                ),
                keys,
                most,
            )

    def search_closest(self, lookup: Lookup, keys: NDArray[np.uint64]) -> Met:
        """Look up the only one of *keys* (uint64[1]) within the bounds of *lookup*."""
        family, distance, *_, compared = lookup
        with decoding("A partition"):
            in_runs, narrowed = search_one(self.snapshot, family, int(keys[0]), distance, compared)
            in_memory = self.memtable.columns.search(family, keys, distance)
            dead = self.snapshot.dead
            gone = (lambda documents: is_member(documents, dead)) if len(dead) else None
            found = closest([*in_runs, *in_memory], lookup.nearest, gone)
        return found._replace(narrowed=True) if narrowed else found

    def is_known(self, family: int, keys: list[int]) -> bool:
        """Whether any document, perhaps a removed one, has one of *keys* of a family of equal keys."""
        with decoding("A partition"):
            return self.memtable.columns.is_known(family, keys) or is_known(self.snapshot, family, keys)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents* (int64[n]), in their order."""
        return self.memtable.fetch(documents, self.snapshot)

    def count(self) -> int:
        """Return how many documents are stored and not removed, but for pending ones."""
        state = self.snapshot.state
        removed = int(np.searchsorted(self.snapshot.dead, state.flushed))
        in_runs = sum(run.documents for run in state.runs) - removed
        return in_runs + len(self.memtable.columns) - self.memtable.pending

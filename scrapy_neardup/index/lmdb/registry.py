"""The indexes that this process has open, each once.

Scrapy gives every crawler components of its own, but LMDB does not allow a process to open a file twice.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from .index import LmdbIndex

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy_neardup.index.header import Header

_open: dict[Path, SharedIndex] = {}
_lock = threading.Lock()
#: In a child: what the parent had open, kept so that it is never finalised.
_inherited: list[SharedIndex] = []


def _after_fork_in_child() -> None:
    """Begin with nothing open: the lock may be taken, and a child must not use its parent's indexes."""
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_open.values())
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class SharedIndex(LmdbIndex):
    """An `LmdbIndex` with several users, which closes when the last of them closes it."""

    #: How many calls of `open_directory` have returned it and were not followed by a `close`.
    users = 0

    def close(self) -> None:
        """Close the index if this is its last user. Otherwise only write what is confirmed."""
        if self._environment.forked:
            return
        with _lock:
            self.users -= 1
            if self.users == 0:
                if self.path is not None:
                    _open.pop(self.path, None)
                super().close()
                return
        self.flush()


def open_directory(
    path: str | os.PathLike[str] | None,
    wanted: Header | None,
    *,
    ignore: Collection[str],
    window: float,
    reset: bool,
) -> SharedIndex:
    """Open the index in directory *path*, or return the one that this process has open.

    With None it is a new scratch index. Each call needs its own `close`. For the other arguments and for
    errors see `LmdbIndex`. The *window* of an index that is open already stays as it is.
    """
    where = None if path is None else Path(path).expanduser().resolve()
    with _lock:
        index = _open.get(where) if where is not None and not reset else None
        if index is None:
            index = SharedIndex(where, wanted, ignore=ignore, window=window, reset=reset)
            if where is not None:
                _open[where] = index
        else:
            index.require_open()
            if wanted is not None:
                index.header.require(wanted, str(where), ignore)
        index.users += 1
        return index

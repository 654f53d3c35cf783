"""Each index once a process: Scrapy gives every crawler its own components, and LMDB refuses a second opening."""

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
_inherited: list[SharedIndex] = []


def _after_fork_in_child() -> None:
    """Begin anew: another thread may have held the lock, and what the parent has open is not for its children."""
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_open.values())  # never to be finalised here
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class SharedIndex(LmdbIndex):
    """An `LmdbIndex` that closes with the last of its users."""

    users = 0

    def close(self) -> None:
        """Leave the index; the last one closes it, the others only write what is confirmed."""
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


def open_index(
    path: str | os.PathLike[str] | None,
    wanted: Header | None,
    *,
    ignore: Collection[str] = (),
    window: float = 0,
    reset: bool = False,
) -> SharedIndex:
    """Open the index in directory *path*, or a scratch index; see `LmdbIndex`. Each call needs its own `close`."""
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

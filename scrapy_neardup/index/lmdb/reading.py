"""Reading much of an index at once, for maintenance, checks, audits and commands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import lmdb

from .faults import unavailable
from .snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.index.header import Header

    from .environment import Environment


@contextlib.contextmanager
def reading(environment: Environment, header: Header) -> Iterator[Snapshot]:
    """Yield a snapshot of the newest commit, and keep other threads from moving the memory map meanwhile.

    Raises `IndexUnavailable` or `IndexCorrupted`.
    """
    environment.require_same_process()  # a forked child would wait for its lock for ever
    with environment.scan_lock:
        reader = Snapshot(environment, header)
        try:
            environment.reader_check()
            reader.refresh()
            yield reader
        except (lmdb.Error, MemoryError) as error:
            raise unavailable(environment.path, error, "read") from error
        finally:
            reader.close()

"""Opening the file of an index with LMDB.

With ``sync=True`` and ``metasync=False`` a power cut undoes at most the last commit. ``sync=False`` or
``writemap=True`` can corrupt the file in a power cut, so only a scratch index, which nobody opens again, does
without sync.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any

import lmdb

from scrapy_neardup.errors import IndexUnavailable

from .faults import unavailable
from .forks import FORKED, environments

if TYPE_CHECKING:
    from pathlib import Path

#: The databases of an index, see `layout`.
DATABASES = ("meta", "log", "documents", "runs", "dead")
#: So many processes and threads can read an index at a time.
MAX_READERS = 1024
#: Opening the file is tried at most so often in all …
TRIES = 60
#: … of which so many may fail because another process opens or closes it at the same moment.
BUSY_TRIES = 50


def open_environment(
    path: Path, map_bytes: int, min_map_bytes: int, *, sync: bool
) -> tuple[lmdb.Environment, dict[str, Any], int]:
    """Open the LMDB environment in directory *path*; returns it, its databases by name, and the bytes mapped.

    Where the system does not allow so much address space, about a quarter of what it allows is mapped, since
    threads and all else of the program need some, too, but no less than *min_map_bytes*. Raises
    `IndexUnavailable` or `IndexCorrupted`.
    """
    environment, allowed_bytes = _open_file(path, map_bytes, min_map_bytes, sync)
    try:
        if allowed_bytes < map_bytes:
            map_bytes = max(allowed_bytes // 4, min_map_bytes)
            environment.set_mapsize(map_bytes)
            map_bytes = int(environment.info()["map_size"])  # more, if the file is larger
        environment.reader_check()
        return environment, {name: environment.open_db(name.encode()) for name in DATABASES}, map_bytes
    except lmdb.Error as error:
        environment.close()
        raise unavailable(path, error, "written") from error


def _open_file(path: Path, map_bytes: int, min_map_bytes: int, sync: bool) -> tuple[lmdb.Environment, int]:
    """Open the file; try again with a smaller map, or a moment later if another process is just at it."""
    for attempt in range(TRIES):
        try:
            environment = lmdb.open(
                os.fsencode(path),  # which takes names that are no text, too
                map_size=map_bytes,
                max_dbs=len(DATABASES),
                max_readers=MAX_READERS,
                sync=sync,
                metasync=False,
                writemap=False,
                meminit=False,
                readahead=False,
                lib_version=0,
            )
        except (lmdb.Error, OSError, MemoryError) as error:  # noqa: PERF203
            if isinstance(error, (lmdb.MemoryError, MemoryError)) and map_bytes > min_map_bytes:
                map_bytes //= 2  # there is a limit on address space
            elif isinstance(error, lmdb.InvalidParameterError) and attempt < BUSY_TRIES:
                time.sleep(random.uniform(0.001, 0.02))
            elif any(other.forked and other.path == path for other in list(environments)):
                # LMDB takes the parent's environment for one that this process has open.
                raise IndexUnavailable(FORKED) from error
            else:
                raise unavailable(path, error, "opened") from error
        else:
            return environment, map_bytes
    raise AssertionError

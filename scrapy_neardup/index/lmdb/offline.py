"""Opening an existing index for a command: without a memtable, and without the thread that writes."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexUnavailable

from .check import find_problems
from .creation import read_header
from .data_file import DATA, corrupted, is_unfinished
from .directory import USERS, file_lock, read_sidecar, shared_use
from .environment import Environment
from .recognition import is_index, is_noted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_neardup.index import Header

#: So many bytes are read ahead at a time.
READ_AHEAD_BYTES = 1 << 22
#: The folder of a Scrapy project in which a relative NEARDUP_DIR is.
PROJECT = ".scrapy"


def require_index(path: Path) -> None:
    """Raise `IndexUnavailable` or `IndexCorrupted` unless there is an index in *path*. Nothing is created."""
    try:
        known = read_sidecar(path) if is_noted(path) else None
        exists = (path / DATA).is_file()
        filled = exists and (path / DATA).stat().st_size > 0 and not is_unfinished(path)
    except OSError as error:
        raise IndexUnavailable(
            f"The index in {path} cannot be read ({error.strerror}): change its permissions."
        ) from error
    if not filled and known is not None:
        state = "empty" if exists else "missing"
        raise corrupted(path / DATA, f"it is {state} and should hold {known} documents")
    if not filled or (known is None and not is_index(path)):
        there = path.parent / PROJECT / path.name
        remedy = f"name {there}" if (there / DATA).is_file() else "name the directory of an index"
        raise IndexUnavailable(f"There is no index in {path}: {remedy}.")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the index in directory *path*, which other processes may use meanwhile, but not this one."""
    require_index(path)
    with (
        shared_use(path, reset=False),
        environment_of(path) as (environment, header),
        reading_ahead(path / DATA),
    ):
        yield environment, header


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep all others from opening the index in *path*. Raises `IndexUnavailable` if it is open somewhere."""
    require_index(path)
    with file_lock(path / USERS, wait=False) as held:
        if not held:
            raise IndexUnavailable(
                f"The index in {path} is in use: stop the crawls and commands that use it first."
            )
        yield


def require_sound(environment: Environment, header: Header, progress: Callable[[int, int], None]) -> None:
    """Check the index, and raise `IndexCorrupted` for its first problem: merging could make it worse."""
    problem = next(find_problems(environment, header, progress), None)
    if problem is not None:
        raise corrupted(environment.path / DATA, f"{problem.where}: {problem.what.rstrip('.')}")


@contextlib.contextmanager
def reading_ahead(data: Path) -> Iterator[None]:
    """Read the file *data* in another thread from beginning to end, so that the system has it in memory.

    LMDB opens it without read-ahead, which suits look-ups, but makes going through a whole file that is not
    in memory ten times slower.
    """

    def read() -> None:
        # What cannot be read now is an error of those who need it.
        with contextlib.suppress(OSError), data.open("rb", buffering=0) as file:
            while not stop.is_set() and file.read(READ_AHEAD_BYTES):
                pass

    stop = threading.Event()
    thread = threading.Thread(target=read, name="neardup-read-ahead", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextlib.contextmanager
def environment_of(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the environment of the index in *path*; the caller has seen to it that it may be used."""
    environment = Environment(path)
    try:
        with environment.read() as transaction:
            header = read_header(environment, transaction)
        if header is None:
            raise corrupted(path / DATA, "it has no header")
        yield environment, header
    finally:
        environment.close()

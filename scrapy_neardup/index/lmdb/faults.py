"""What goes wrong in LMDB, on the disk or in what is stored, as the errors of the library: a sentence with a remedy."""

from __future__ import annotations

import errno
import struct
import zlib
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable, NearDupError

from .directory import DATA, corrupted

if TYPE_CHECKING:
    from pathlib import Path

#: What LMDB says of a file whose pages contradict each other.
DAMAGED = (
    lmdb.BadChecksumError,
    lmdb.BadDbiError,
    lmdb.BadValsizeError,
    lmdb.CorruptedError,
    lmdb.CursorFullError,
    lmdb.IncompatibleError,
    lmdb.InvalidError,
    lmdb.PageFullError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
)
#: What reading a damaged value raises.
UNREADABLE = (
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
MEMORY = "raise the limit on the address space of the process (ulimit -v), or use a smaller index"
SPACE = "free space on its disk, or set NEARDUP_DIR to another directory"
RIGHTS = "change its permissions, or set NEARDUP_DIR to another directory"
REMEDIES = {
    errno.ENOMEM: MEMORY,
    errno.ENOSPC: SPACE,
    errno.EDQUOT: SPACE,
    errno.EFBIG: SPACE,
    errno.EIO: SPACE,  # which LMDB says of a write that was cut short
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
    errno.EROFS: RIGHTS,
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the limit on open files (ulimit -n)",
}


def remedy(error: BaseException) -> str:
    """Return what can be done about an *error* of LMDB or of the disk."""
    if isinstance(error, (lmdb.MemoryError, MemoryError, lmdb.MapFullError)):
        return MEMORY
    if isinstance(error, (lmdb.DiskError, lmdb.PanicError)):
        return SPACE
    if isinstance(error, lmdb.ReadersFullError):
        return "stop some of the processes that use it"
    if isinstance(error, lmdb.ReadonlyError):
        return RIGHTS
    if isinstance(error, lmdb.LockError):
        return "let processes in different containers share a PID namespace, or each have an index of its own"
    if "already open in this process" in str(error):
        return "use the one that is open, or close it first"
    code = error.errno if isinstance(error, OSError) else getattr(error, "code", None)
    return REMEDIES.get(
        code or 0, "open it again, and run `scrapy-neardup index check` if that does not help"
    )


def reason(error: BaseException) -> str:
    """Return what an *error* says, in brackets, and what can be done: the end of a sentence on an index."""
    if isinstance(error, NearDupError):
        if error.__cause__ is None:
            return f"({error})"
        error = error.__cause__
    said = error.strerror if isinstance(error, OSError) else None
    return f"({said or str(error) or type(error).__name__}): {remedy(error)}."


def unavailable(path: Path, error: Exception, what: str) -> IndexUnavailable:
    """Return the error to raise in the place of *error*, which has kept the index in *path* from being *what*."""
    if isinstance(error, DAMAGED):
        return corrupted(path / DATA, str(error))
    return IndexUnavailable(f"The index in {path} cannot be {what} {reason(error)}")


class translated:  # noqa: N801  # a generator would take each search longer
    """Raise `IndexUnavailable` or `IndexCorrupted` for whatever LMDB or the disk keeps the index from being *what*."""

    def __init__(self, path: Path, what: str = "used") -> None:
        self._path, self._what = path, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (lmdb.Error, OSError, MemoryError)):
            raise unavailable(self._path, error, self._what) from error


class decoding:  # noqa: N801
    """Raise `IndexCorrupted` for a value that cannot be read; *what* begins the sentence."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UNREADABLE):
            raise IndexCorrupted(
                f"{self._what} cannot be read ({error}): run `scrapy-neardup index check`."
            ) from error

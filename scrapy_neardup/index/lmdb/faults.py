"""What fails: errors of LMDB and of the disk as sentences that say what can be done; when to try again."""

from __future__ import annotations

import errno
import logging
import time
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup import clock
from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable, NearDupError

if TYPE_CHECKING:
    from pathlib import Path


#: The file of an index.
DATA = "data.mdb"
#: The errors that LMDB raises for a file whose pages contradict each other.
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
MEMORY = "raise the limit on the address space of the process (ulimit -v), or use a smaller index"
SPACE = "free space on its disk, or set NEARDUP_DIR to another directory"
RIGHTS = "change its permissions, or set NEARDUP_DIR to another directory"
REMEDIES = {
    errno.ENOMEM: MEMORY,
    errno.ENOSPC: SPACE,
    errno.EDQUOT: SPACE,
    errno.EFBIG: SPACE,
    errno.EIO: SPACE,  # LMDB says this when a write was cut short
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
    """Return the end of a sentence on an index: what *error* says, in brackets, and what can be done."""
    if isinstance(error, NearDupError):
        if error.__cause__ is None:
            return f"({error})"
        error = error.__cause__
    said = error.strerror if isinstance(error, OSError) else None
    return f"({said or str(error) or type(error).__name__}): {remedy(error)}."


def unavailable(path: Path, error: Exception, what: str) -> IndexUnavailable:
    """Return what to raise in the place of *error*: the index in *path* could not be *what*, as "opened"."""
    if isinstance(error, DAMAGED):
        return corrupted(path / DATA, str(error))
    return IndexUnavailable(f"The index in {path} cannot be {what} {reason(error)}")


class translated:  # noqa: N801  # as a generator it would make each search slower
    """A block in which errors of LMDB and of the disk become `IndexUnavailable` or `IndexCorrupted`.

    *what* says in the sentence what the index in *path* could not be, such as "written".
    """

    def __init__(self, path: Path, what: str = "used") -> None:
        self._path, self._what = path, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (lmdb.Error, OSError, MemoryError)):
            raise unavailable(self._path, error, self._what) from error


def corrupted(data: Path, why: str) -> IndexCorrupted:
    """Return the error for the damaged file *data*; *why* is put in brackets."""
    return IndexCorrupted(
        f"The index file {data} is damaged ({why}): restore it from a copy, save what can be read "
        "(`scrapy-neardup index repair`), set NEARDUP_DIR to another directory, or delete the directory to "
        "start anew (NEARDUP_RESET = True)."
    )


logger = logging.getLogger(__name__)


class Retry:
    """The failures in a row of one kind of work.

    The first is logged with *complaint*, and followed by a wait of *first_seconds*; each further one by a
    wait twice as long, up to *last_seconds*.
    """

    def __init__(self, complaint: str, first_seconds: float, last_seconds: float) -> None:
        self._complaint = complaint
        self._first_seconds = first_seconds
        self._last_seconds = last_seconds
        self._next_seconds = first_seconds
        #: The error of the last try, None if it succeeded.
        self.error: Exception | None = None
        #: The time, by `time.monotonic`, from which on to try again.
        self.at = clock.LONG_AGO

    def failed(self, error: Exception) -> None:
        """Keep *error*, and set the time of the next try.

        It is logged with a traceback unless it is one that a disk or LMDB may raise.
        """
        if self.error is None:
            expected = isinstance(error, (NearDupError, lmdb.Error, OSError, MemoryError))
            logger.error("%s %s", self._complaint, reason(error), exc_info=not expected)
        self.error = error
        self.at = time.monotonic() + self._next_seconds
        self._next_seconds = min(self._last_seconds, 2 * self._next_seconds)

    def succeeded(self) -> None:
        """Begin anew."""
        self.error = None
        self._next_seconds = self._first_seconds

    def at_once(self) -> None:
        """Try again without a wait."""
        self.at = clock.LONG_AGO

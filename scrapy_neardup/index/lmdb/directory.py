"""The directory of an index and its data file: what they must be, whose they are, what fails with them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import lmdb

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable, NearDupError

DATA, LOCK, USERS, MERGE = "data.mdb", "lock.mdb", "users.lock", "merge.lock"
#: A data file that is being made. One that is still there was left by a process that died.
NEW = f"{DATA}.new"

#: The folder of a Scrapy project in which a relative NEARDUP_DIR is.
PROJECT = ".scrapy"
#: The errors that LMDB raises for a file whose pages contradict each other.
DAMAGED = (
    lmdb.BadChecksumError, lmdb.BadDbiError, lmdb.BadValsizeError, lmdb.CorruptedError, lmdb.CursorFullError,
    lmdb.IncompatibleError, lmdb.InvalidError, lmdb.NotFoundError, lmdb.PageFullError,
    lmdb.PageNotFoundError, lmdb.VersionMismatchError,
)  # fmt: skip
#: What can be done about errors, by their type or code.
_REMEDIES: dict[str, set[object]] = {
    "raise the limit on the address space of the process (ulimit -v), or use a smaller index": {
        errno.ENOMEM, MemoryError, lmdb.MemoryError, lmdb.MapFullError, lmdb.MapResizedError,
    },
    "free space on its disk, or use another directory (NEARDUP_DIR)": {
        # LMDB says EIO when a write was cut short.
        errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, lmdb.DiskError, lmdb.PanicError,
    },
    "change its permissions, or use another directory (NEARDUP_DIR)": {
        errno.EACCES, errno.EPERM, errno.EROFS, lmdb.ReadonlyError,
    },
    "name a directory that can be made (NEARDUP_DIR)": {errno.EEXIST, errno.ENOTDIR, errno.ENOENT},
    "raise the limit on open files (ulimit -n)": {errno.EMFILE, errno.ENFILE},
    "stop some of the processes that use it": {lmdb.ReadersFullError},
    "let processes in different containers share a PID namespace, or each have its own index": {
        lmdb.LockError
    },
}  # fmt: skip


def remedy(error: BaseException) -> str:
    """Return what can be done about an *error* of LMDB or of the disk."""
    if "already open in this process" in str(error):
        return "use the one that is open, or close it first"
    causes = {type(error), error.errno if isinstance(error, OSError) else getattr(error, "code", None)}
    known = [advice for advice, of in _REMEDIES.items() if of & causes]
    return known[0] if known else "open it again, and run `scrapy-neardup index check` if that does not help"


def reason(error: BaseException) -> str:
    """Return the end of a sentence on an index: what *error* says, in brackets, and what can be done."""
    if isinstance(error, NearDupError):
        if error.__cause__ is None:
            return f"({error})"
        error = error.__cause__
    said = error.strerror if isinstance(error, OSError) else None
    return f"({said or str(error) or type(error).__name__}): {remedy(error)}."


def corrupted(data: Path, why: str) -> IndexCorrupted:
    """Return the error for the damaged file *data*; *why* is put in brackets."""
    return IndexCorrupted(
        f"The index file {data} is damaged ({why}): restore it from a copy, use another directory "
        "(NEARDUP_DIR), or start anew (NEARDUP_RESET = True)."
    )


class translated(contextlib.AbstractContextManager[Any]):  # noqa: N801  # as a generator it would make each search slower
    """A block in which errors of LMDB and of the disk become ours: *path* could not be *what*."""

    def __init__(self, path: Path, what: str = "used") -> None:
        self._path, self._what = path, what

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DAMAGED):
            raise corrupted(self._path / DATA, str(error)) from error
        if isinstance(error, (lmdb.Error, OSError, MemoryError)):
            raise IndexUnavailable(
                f"The index in {self._path} cannot be {self._what} {reason(error)}"
            ) from error


#: Two meta pages of LMDB, of the largest size that a page can have.
META_BYTES = 1 << 17
#: What each meta page begins with behind its page header: magic and version of LMDB 0.9.
_MAGIC = struct.pack("=II", 0xBEEFC0DE, 1)
#: Where what LMDB writes into a meta page ends: the last page in use, and the number of the commit.
_META_END = 152


def check_data_file(data: Path) -> None:
    """Raise `IndexCorrupted` for a file that is not of LMDB, or was cut short, which would kill Python."""
    head: bytes | None = None
    while True:  # others may write meanwhile
        before = head
        try:
            with data.open("rb") as file:
                # The size is read after the head, because the file never shrinks.
                head = file.read(META_BYTES)
                problem = _problem(head, os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            raise corrupted(data, "it is missing and should hold an index") from None
        if problem is None:
            return
        if head == before:
            raise corrupted(data, problem)


def last_commit(data: Path, page: int) -> Callable[[], int]:
    """Return what tells the number of the last commit to *data*, a file with pages of so many bytes."""
    with data.open("rb") as file:
        metas = memoryview(mmap.mmap(file.fileno(), 2 * page, access=mmap.ACCESS_READ))
    # LMDB tells it, too, but lets go of the interpreter, which a thread at work then keeps for 5 ms.
    commits = metas[_META_END - 8 : page + _META_END].cast("Q")
    return lambda: max(commits[0], commits[-1])


def reserve(lock: Path, size: int) -> None:
    """Give a new file *lock* its *size* bytes: LMDB maps it, which kills Python if the disk is full."""
    # One that is in use is let be: to close it would end the locks that this process has on it.
    if hasattr(os, "posix_fallocate") and not (lock.exists() and lock.stat().st_size):
        with lock.open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def _problem(head: bytes, size: int) -> str | None:
    """Say why a file of *size* bytes that begins with *head* is no whole file of LMDB 0.9 (mdb.c), or None.

    It begins with two meta pages, written by turns, that of an even number first. A new file has twice 0.
    """
    if len(head) < _META_END:
        return "it is too short and should hold an index"
    if head[16:24] != _MAGIC:
        return "it is not an LMDB 0.9 file"
    (page,) = struct.unpack_from("=I", head, 40)
    if not 256 <= page <= 65536 or page & (page - 1) or len(head) < 2 * page:
        return "its page size cannot be"
    metas = [struct.unpack_from("=QQ", head, start + _META_END - 16) for start in (0, page)]
    first, second = (commit for _, commit in metas)
    if (first or second) and (first % 2 or abs(first - second) != 1):
        return "its two meta pages are not those of the last two commits"
    needed = (metas[second > first][0] + 1) * page
    return f"it has {size} bytes and should have {needed}" if size < needed else None


#: LMDB needs file locks and memory maps, which these file systems do not provide reliably.
NETWORK_FILE_SYSTEMS = frozenset({
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre",
    "ncpfs", "beegfs", "davfs", "fuse.davfs2", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone",
    "fuse.goofys",
})  # fmt: skip


def check_directory(path: Path) -> None:
    """Make the directory *path*, unless it is there. Raises `IndexUnavailable` if LMDB cannot use it."""
    path.mkdir(parents=True, exist_ok=True)
    if (kind := file_system(path)) in NETWORK_FILE_SYSTEMS:
        raise IndexUnavailable(
            f"The index directory {path} is on a network file system ({kind}), where LMDB loses data: "
            "use a directory on a local disk (NEARDUP_DIR)."
        )


def file_system(path: Path) -> str:
    """Return the type of the file system of *path*, such as "ext4"; "" where the system does not tell."""
    best, kind = "", ""
    with (
        contextlib.suppress(OSError),
        Path("/proc/self/mountinfo").open(encoding="utf-8", errors="replace") as mounts,
    ):
        real = f"{path.resolve()}/"
        for line in mounts:
            left, _, right = line.partition(" - ")
            mount = left.split(" ")[4].replace("\\040", " ").rstrip("/") + "/"
            if real.startswith(mount) and len(mount) >= len(best):
                best, kind = mount, right.split(" ")[0]
    return kind


def is_index(path: Path) -> bool:
    """Whether there is an index in *path*: a file of LMDB may be another program's. Raises OSError."""
    return (path / USERS).is_file()


def require_index(path: Path) -> None:
    """Raise `IndexUnavailable` unless there is an index in *path*. Nothing is created."""
    with translated(path, "read"):
        known = is_index(path)
    if not known:
        there = path.parent / PROJECT / path.name
        remedy = f"name {there}" if (there / DATA).is_file() else "name the directory of an index"
        raise IndexUnavailable(f"There is no index in {path}: {remedy}.")


@contextlib.contextmanager
def renamed(part: Path, path: Path, *, sync: bool = False, new: bool = False) -> Iterator[Path]:
    """Let the file *part* take the place of *path* once it is written, with *sync* on disk, or vanish.

    Raises OSError; FileExistsError if *path* is to be *new*, and is not.
    """
    part.unlink(missing_ok=True)
    try:
        yield part
        if sync:
            with part.open("rb") as file:
                os.fsync(file)
        if new and path.exists():
            raise FileExistsError(path)
        part.replace(path)
        if sync:
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def shared_use(path: Path, *, reset: bool) -> Iterator[None]:
    """Count as a user of the index in *path* for a while. With *reset*, delete the index first.

    Raises `IndexUnavailable` also if it has other users.
    """
    check_directory(path)
    with (path / USERS).open("ab") as file:
        alone = _lock(file)
        if alone and reset:
            for name in (DATA, LOCK):
                (path / name).unlink(missing_ok=True)
        elif reset:
            raise IndexUnavailable(
                f"The index in {path} is in use and cannot be reset: stop the other crawl first."
            )
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of file *path*, perhaps after a *wait*, as long as the process lives; yields whether."""
    with path.open("ab") as file:
        yield _lock(file, wait=wait)


def _lock(file: IO[bytes], *, wait: bool = False) -> bool:
    """Take the lock of an open file for this process alone; returns False if another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True

"""The directory of an index and its data file: what they must be, whose they are, what fails with them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable, NearDupError
from scrapy_neardup.index.header import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

DATA, LOCK, USERS, MERGE = "data.mdb", "lock.mdb", "users.lock", "merge.lock"
#: The note that is beside the file once something was written, and how many bytes it has at most.
SIDECAR, _NOTE_BYTES = "index.json", 1 << 12


# Errors of LMDB and of the disk, as sentences that say what can be done

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
_MEMORY = "raise the limit on the address space of the process (ulimit -v), or use a smaller index"
_SPACE = "free space on its disk, or set NEARDUP_DIR to another directory"
_RIGHTS = "change its permissions, or set NEARDUP_DIR to another directory"
_FILES = "raise the limit on open files (ulimit -n)"
_REMEDIES: dict[object, str] = {
    errno.ENOMEM: _MEMORY,
    lmdb.MemoryError: _MEMORY,
    MemoryError: _MEMORY,
    lmdb.MapFullError: _MEMORY,
    lmdb.MapResizedError: _MEMORY,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EIO: _SPACE,  # LMDB says this when a write was cut short
    lmdb.DiskError: _SPACE,
    lmdb.PanicError: _SPACE,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _RIGHTS,
    lmdb.ReadonlyError: _RIGHTS,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    lmdb.ReadersFullError: "stop some of the processes that use it",
    lmdb.LockError: "let processes in different containers share a PID namespace, or each have its own index",
}


def remedy(error: BaseException) -> str:
    """Return what can be done about an *error* of LMDB or of the disk."""
    if "already open in this process" in str(error):
        return "use the one that is open, or close it first"
    code = error.errno if isinstance(error, OSError) else getattr(error, "code", None)
    return _REMEDIES.get(type(error)) or _REMEDIES.get(
        code, "open it again, and run `scrapy-neardup index check` if that does not help"
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


def corrupted(data: Path, why: str) -> IndexCorrupted:
    """Return the error for the damaged file *data*; *why* is put in brackets."""
    return IndexCorrupted(
        f"The index file {data} is damaged ({why}): restore it from a copy, set NEARDUP_DIR to another "
        "directory, or start anew (NEARDUP_RESET = True)."
    )


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


# The data file

#: Two meta pages of LMDB, of the largest size that a page can have.
META_BYTES = 1 << 17
#: What each meta page begins with behind its page header: magic and version of LMDB 0.9.
_MAGIC = struct.pack("=II", 0xBEEFC0DE, 1)
#: Where what LMDB writes into a meta page ends.
_META_END = 152
#: In the tree of free pages: the root of an empty tree, sizes of heads, flags of pages and of nodes.
NO_PAGE = (1 << 64) - 1
_PAGE_HEAD, _NODE_HEAD = 16, 8
_BRANCH, _BIG_DATA = 0x01, 0x01


def check_data_file(data: Path) -> None:
    """Raise `IndexCorrupted` for a file that is not one of LMDB, or has been cut short.

    A file that is missing or empty raises nothing. LMDB maps the file into memory, and reading past the end
    of a truncated file would kill the interpreter.
    """
    try:
        with data.open("rb") as file:
            while True:
                head = file.read(META_BYTES)
                problem = _problem(file, head)
                file.seek(0)
                if problem is None or file.read(META_BYTES) == head:
                    break
                file.seek(0)  # others have written meanwhile
    except FileNotFoundError:
        return
    except OSError as error:
        raise IndexUnavailable(
            f"The index file {data} cannot be read ({error.strerror}): {_RIGHTS}."
        ) from error
    if problem is not None:
        raise corrupted(data, problem)


def _problem(file: BinaryIO, head: bytes) -> str | None:
    """Say why this is no whole file of LMDB that begins with *head*; None if it is one, or empty."""
    # The size is read after the head: others may write meanwhile, and the file never shrinks.
    size = os.fstat(file.fileno()).st_size
    if not size:
        return None  # only the caller knows whether something should be there
    try:
        page, (first, second), root, last_page = _read_head(head)
    except ValueError as error:
        return str(error)
    # LMDB writes them by turns, that of an even number first in the file. A new file has twice 0.
    if (first or second) and (first % 2 or abs(first - second) != 1):
        return "its two meta pages are not those of the last two commits"
    pages = size // page
    if pages > last_page:
        return None
    # A page that a transaction has taken from the end and given back is free and was never written.
    with contextlib.suppress(struct.error, ValueError):
        free = free_pages(file, page, root)
        if last_page < pages + len(free) and free.issuperset(range(pages, last_page + 1)):
            return None
    return f"it has {size} bytes and should have {(last_page + 1) * page}"


def _read_head(head: bytes) -> tuple[int, tuple[int, int], int, int]:
    """Read the two meta pages that a file of LMDB 0.9 begins with (mdb.c).

    Each has a page header of 16 bytes, then magic, version, address, map size, two database records of 48
    bytes (the first is of the free pages; it begins with the page size, and ends with its root), last page
    and number of its commit. Returns the bytes of a page, the commits of both, then by the newer of the two
    the root of the tree of free pages and the last page. Raises ValueError that says what is wrong.
    """
    if len(head) < _META_END:
        raise ValueError("it is too short to be an index")
    if head[16:24] != _MAGIC:
        raise ValueError("it is not an LMDB 0.9 file")
    (page,) = struct.unpack_from("=I", head, 40)
    if not 256 <= page <= 65536 or page & (page - 1) or len(head) < 2 * page:
        raise ValueError("its page size cannot be")
    metas = [struct.unpack_from("=Q48xQQ", head, start + 80) for start in (0, page)]
    root, last_page, _ = metas[metas[1][2] > metas[0][2]]
    return page, (metas[0][2], metas[1][2]), root, last_page


def free_pages(file: BinaryIO, page_bytes: int, root: int) -> set[int]:
    """Return the numbers of the free pages that the tree with this *root* in *file* lists (mdb.c).

    Its leaves map the number of a commit to a list of the pages that it has freed. Raises struct.error or
    ValueError if it is no such tree.
    """

    def read(page: int, size: int) -> bytes:
        if page >= file.seek(0, os.SEEK_END) // page_bytes:
            raise ValueError(f"there is no page {page}")
        file.seek(page * page_bytes)
        return file.read(size)

    free: set[int] = set()
    seen: set[int] = set()
    to_read = [] if root == NO_PAGE else [root]
    while to_read:
        number = to_read.pop()
        if number in seen:
            raise ValueError(f"page {number} comes twice")
        seen.add(number)
        page = read(number, page_bytes)
        flags, lower = struct.unpack_from("=HH", page, 10)
        for place in struct.unpack_from(f"={(lower - _PAGE_HEAD) // 2}H", page, _PAGE_HEAD):
            low, high, node_flags, key_bytes = struct.unpack_from("=4H", page, place)
            if flags & _BRANCH:
                to_read.append(low | high << 16 | node_flags << 32)
                continue
            pages = page[place + _NODE_HEAD + key_bytes :]
            if node_flags & _BIG_DATA:
                (first,) = struct.unpack_from("=Q", pages)
                pages = read(first, _PAGE_HEAD + (low | high << 16))[_PAGE_HEAD:]
            (count,) = struct.unpack_from("=Q", pages)
            free.update(struct.unpack_from(f"={count}Q", pages, 8))
    return free


def is_unfinished(path: Path) -> bool:
    """Return whether LMDB has begun to make the data file in *path*, and nothing was ever written to it.

    Such a file has two meta pages that name no page but themselves. A full disk may have cut them short, or
    left zeros.
    """
    try:
        with (path / DATA).open("rb") as file:
            head = file.read(2 * mmap.PAGESIZE + 1)
    except OSError:  # the error is raised when the file is opened
        return False
    if (path / SIDECAR).exists() or not 0 < len(head) <= 2 * mmap.PAGESIZE:
        return False
    ends = [end for end in (_META_END, mmap.PAGESIZE + _META_END) if end <= len(head)]
    last_pages = [struct.unpack_from("=Q", head, end - 16)[0] for end in ends]
    return not any(head) or (head[16:24] == _MAGIC and max(last_pages, default=1) <= 1)


# The directory

#: LMDB needs file locks and memory maps, which these file systems do not provide reliably.
NETWORK_FILE_SYSTEMS = frozenset({
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre",
    "ncpfs", "beegfs", "davfs", "fuse.davfs2", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone",
    "fuse.goofys",
})  # fmt: skip


def check_directory(path: Path) -> None:
    """Make the directory *path*, unless it is there. Raises `IndexUnavailable` if LMDB cannot use it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        is_file = isinstance(error, (FileExistsError, NotADirectoryError))
        advice = "set NEARDUP_DIR to a directory" if is_file else _REMEDIES.get(error.errno, _RIGHTS)
        raise IndexUnavailable(
            f"The index directory {path} cannot be written ({error.strerror}): {advice}."
        ) from error
    kind = file_system(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise IndexUnavailable(
            f"The index directory {path} is on a network file system ({kind}), where LMDB loses data: "
            "set NEARDUP_DIR to a directory on a local disk."
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
    """Return whether there is or was an index in *path*: the note of one, even if its data file is gone.

    A file of LMDB alone may be another program's, which opening it would change. Raises OSError.
    """
    if not (path / SIDECAR).is_file():
        return False
    with (path / SIDECAR).open("rb") as file:
        try:
            found = json.loads(file.read(_NOTE_BYTES + 1))
        except (ValueError, RecursionError):
            return False
    return isinstance(found, dict) and found.keys() >= {"uuid", "documents"}


def read_sidecar(path: Path) -> int | None:
    """Return how many documents the index had when it was last closed.

    None if there is no note, 0 if it cannot be read. Raises OSError.
    """
    try:
        return int(json.loads((path / SIDECAR).read_bytes())["documents"])
    except FileNotFoundError:
        return None
    except UNREADABLE:
        return 0


def write_sidecar(path: Path, uuid: str, documents: int) -> None:
    """Write the note beside the data file which says that there is an index.

    LMDB takes an empty file for a new one: the note shows that documents were lost. Raises OSError.
    """
    part = path / f"{SIDECAR}.{os.getpid()}"
    try:
        part.write_text(json.dumps({"uuid": uuid, "documents": documents}) + "\n")
        part.replace(path / SIDECAR)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def shared_use(path: Path, *, reset: bool) -> Iterator[None]:
    """Count as a user of the index in *path* for a while. With *reset*, delete the index first.

    A data file that was never finished, as on a full disk, is deleted, too. Raises `IndexUnavailable` if
    *path* cannot be used, or if the index should be deleted and has other users.
    """
    check_directory(path)
    descriptor = os.open(path / USERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if reset or is_unfinished(path):
            if _lock(descriptor):
                # The note goes first: alone it would say, after a kill in between, that the index was lost.
                for name in (SIDECAR, DATA, LOCK):
                    (path / name).unlink(missing_ok=True)
            elif reset:
                raise IndexUnavailable(
                    f"The index in {path} is in use and cannot be reset: stop the other crawl first."
                )
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of file *path*, which the system frees if the process dies; yields whether it is held.

    If another process holds it, this yields False, or waits for it with *wait*.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield _lock(descriptor, wait=wait)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Take the lock of an open file for this process alone; returns False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True

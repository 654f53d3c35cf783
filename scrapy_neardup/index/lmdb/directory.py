"""The directory of an index: what is verified before LMDB opens it, its locks, the note beside the data."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .freelist import free_pages

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

DATA, LOCK = "data.mdb", "lock.mdb"
SIDECAR, USERS, MERGE = "index.json", "users.lock", "merge.lock"
#: Two meta pages of LMDB, of the largest size that a page can have.
META_BYTES = 1 << 17

#: LMDB needs file locks and memory maps, which these file systems do not provide reliably.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "fuse.sshfs",
    }
    | {"fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.goofys", "davfs", "fuse.davfs2", "ncpfs", "beegfs"}
)


def check_directory(path: Path) -> None:
    """Make the directory *path*, unless it is there. Raises `IndexUnavailable` if LMDB cannot use it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise IndexUnavailable(
            f"The index directory {path} cannot be written ({error.strerror}): "
            "change its permissions, or set NEARDUP_DIR to another directory."
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
            f"The index file {data} cannot be read ({error.strerror}): change its permissions, "
            "or set NEARDUP_DIR to another directory."
        ) from error
    if problem is not None:
        raise corrupted(data, problem)


def _problem(file: BinaryIO, head: bytes) -> str | None:
    """Say why this is no whole file of LMDB; None if it is one, or empty.

    The *head* of a file has two meta pages. Each has a page header of 16 bytes, then magic, version, address,
    map size, two database records of 48 bytes (the first is of the free pages; it begins with the page size,
    and ends with its root), last page and transaction number (LMDB 0.9, mdb.c).
    """
    # The size is read after the head: others may write meanwhile, and the file never shrinks.
    size = os.fstat(file.fileno()).st_size
    if not size:
        return None  # only the caller knows whether something should be there
    if len(head) < 152:
        return "it is too short to be an index"
    magic, version = struct.unpack_from("=II", head, 16)
    if magic != 0xBEEFC0DE or version != 1:
        return "it is not an LMDB 0.9 file"
    page = struct.unpack_from("=I", head, 40)[0]
    if not 256 <= page <= 65536 or page & (page - 1) or len(head) < 2 * page:
        return "its page size cannot be"
    # The root of the tree of free pages, last page, transaction number.
    metas = [struct.unpack_from("=Q48xQQ", head, start + 80) for start in (0, page)]
    root, last_page, _ = max(metas, key=lambda meta: meta[-1])
    pages = size // page
    if pages > last_page:
        return None
    with contextlib.suppress(struct.error, ValueError):
        free = free_pages(file, page, root)
        if last_page < pages + len(free) and free.issuperset(range(pages, last_page + 1)):
            return None  # these pages were never written
    return f"it has {size} bytes and should have {(last_page + 1) * page}"


def is_unfinished(path: Path) -> bool:
    """Return whether LMDB has begun to make the data file in *path*, and nothing was ever written to it.

    Such a file consists of two meta pages that name no page but themselves. A full disk may have cut them
    short, or left zeros.
    """
    try:
        with (path / DATA).open("rb") as file:
            head = file.read(META_BYTES + 1)
    except OSError:  # the error is raised when the file is opened
        return False
    if (path / SIDECAR).exists() or not 0 < len(head) <= META_BYTES:
        return False
    if not any(head):
        return True
    if len(head) < 152:
        return struct.pack("=II", 0xBEEFC0DE, 1) == head[16:24]
    magic, version, _, _, page = struct.unpack_from("=IIQQI", head, 16)
    metas = [struct.unpack_from("=QQ", head, start + 136) for start in (0, page) if len(head) >= start + 152]
    fresh = all(last_page <= 1 and number <= 1 for last_page, number in metas)
    return (magic, version) == (0xBEEFC0DE, 1) and len(head) <= 2 * page and fresh


def corrupted(data: Path, why: str) -> IndexCorrupted:
    """Return the error for the damaged file *data*; *why* is put in brackets."""
    return IndexCorrupted(
        f"The index file {data} is damaged ({why}): restore it from a copy, set NEARDUP_DIR to another "
        "directory, "
        "or delete the directory to start anew (NEARDUP_RESET = True)."
    )


def read_sidecar(path: Path) -> int | None:
    """Return how many documents the index had when it was last closed.

    None if there is no note, 0 if it cannot be read. Raises OSError.
    """
    try:
        return int(json.loads((path / SIDECAR).read_bytes())["documents"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
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
                for name in (DATA, LOCK, SIDECAR):
                    (path / name).unlink(missing_ok=True)
            elif reset:
                raise IndexUnavailable(
                    f"The index in {path} is in use and cannot be reset: stop the other crawl first."
                )
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock of an open file for this process alone; returns False if another process holds it."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of file *path*, which the system frees if the process dies; yields whether it is held.

    If another process holds it, this yields False, or waits for it with *wait*.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
        yield True
    finally:
        os.close(descriptor)

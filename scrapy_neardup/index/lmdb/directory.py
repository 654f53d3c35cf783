"""The directory of an index: what it must allow, its locks, and the note beside the data."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.decoding import UNREADABLE

from .data_file import DATA, SIDECAR, is_unfinished
from .faults import REMEDIES, RIGHTS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK, USERS, MERGE = "lock.mdb", "users.lock", "merge.lock"

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
        remedy = "set NEARDUP_DIR to a directory" if is_file else REMEDIES.get(error.errno or 0, RIGHTS)
        raise IndexUnavailable(
            f"The index directory {path} cannot be written ({error.strerror}): {remedy}."
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
        if fcntl is not None:
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
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
    return True

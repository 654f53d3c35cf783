"""The data file of an index before LMDB opens it: whether it is one, is whole, or was just begun."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .freelist import free_pages

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

#: The file, and the note that is beside it once something was written.
DATA, SIDECAR = "data.mdb", "index.json"
#: Two meta pages of LMDB, of the largest size that a page can have.
META_BYTES = 1 << 17
#: What each meta page begins with behind its page header: magic and version of LMDB 0.9.
_MAGIC = (0xBEEFC0DE, 1)
#: Where the number of its commit is in a meta page, and where what LMDB writes into the page ends.
_COMMIT, _META_END = 144, 152
#: No file is so large, in bytes.
LARGEST = 1 << 44


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
    if (problem := _head_problem(head)) is not None:
        return problem
    if not _fit(*_commits(head)):
        return "its two meta pages are not those of the last two commits"
    page, root, last_page = _newest(head)
    pages = size // page
    if pages > last_page:
        return None
    with contextlib.suppress(struct.error, ValueError):
        free = free_pages(file, page, root)
        if last_page < pages + len(free) and free.issuperset(range(pages, last_page + 1)):
            return None  # these pages were never written
    return f"it has {size} bytes and should have {(last_page + 1) * page}"


def _head_problem(head: bytes) -> str | None:
    """Say why this is not the *head* of a file of LMDB; None if it is one."""
    if len(head) < _META_END:
        return "it is too short to be an index"
    if struct.unpack_from("=II", head, 16) != _MAGIC:
        return "it is not an LMDB 0.9 file"
    page = _page_size(head)
    if not 256 <= page <= 65536 or page & (page - 1) or len(head) < 2 * page:
        return "its page size cannot be"
    return None


def _page_size(head: bytes) -> int:
    size: int = struct.unpack_from("=I", head, 40)[0]
    return size


def _commits(head: bytes) -> tuple[int, int]:
    """Return, for each of the two meta pages in *head*, the number of the commit that has written it."""
    places = (0, _page_size(head))
    first, second = (struct.unpack_from("=Q", head, start + _COMMIT)[0] for start in places)
    return first, second


def _fit(first: int, second: int) -> bool:
    """Return whether these can be the numbers of the commits in the two meta pages.

    LMDB writes them by turns, that of an even number first in the file. A new file has twice 0.
    """
    return first == second == 0 or (first % 2 == 0 and abs(first - second) == 1)


def _newest(head: bytes) -> tuple[int, int, int]:
    """Return the page size, the root of the tree of free pages, and the last page; by the newer meta page."""
    page = _page_size(head)
    first, second = _commits(head)
    root, last_page = struct.unpack_from("=Q48xQ", head, (page if second > first else 0) + 80)
    return page, root, last_page


def whole_size(data: Path) -> int:
    """Return how many bytes the file *data* should have by what its head says, or has if that is more.

    Raises `IndexCorrupted` if the head cannot be true.
    """
    with data.open("rb") as file:
        head, size = file.read(META_BYTES), os.fstat(file.fileno()).st_size
    if (problem := _head_problem(head)) is not None:
        raise corrupted(data, problem)
    page, _, last_page = _newest(head)
    if (last_page + 1) * page > LARGEST:
        raise corrupted(data, "its last page cannot be")
    return max(size, (last_page + 1) * page)


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
    if head[16:24] != struct.pack("=II", *_MAGIC):
        return False
    if len(head) < _META_END:
        return True
    page = _page_size(head)
    # The last page and the number of the commit, of each meta page that is there.
    metas = [
        struct.unpack_from("=QQ", head, start + _COMMIT - 8)
        for start in (0, page)
        if len(head) >= start + _META_END
    ]
    return len(head) <= 2 * page and all(last_page <= 1 and commit <= 1 for last_page, commit in metas)


def corrupted(data: Path, why: str) -> IndexCorrupted:
    """Return the error for the damaged file *data*; *why* is put in brackets."""
    return IndexCorrupted(
        f"The index file {data} is damaged ({why}): restore it from a copy, save what can be read "
        "(`scrapy-neardup index repair`), set NEARDUP_DIR to another directory, or delete the directory to "
        "start anew (NEARDUP_RESET = True)."
    )

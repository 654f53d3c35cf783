"""The free pages of an LMDB file, read from the file itself, as LMDB does not tell them.

A page that a transaction has taken from the end of the file and given back is free without ever having been
written. So a whole file may be shorter than its last page says, and these pages have to be free. The layout
is that of LMDB 0.9 (mdb.c): a B-tree whose leaves map the number of a transaction to a list of the pages that
it has freed.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

#: The root of an empty tree.
NO_PAGE = (1 << 64) - 1
PAGE_HEAD_BYTES, NODE_HEAD_BYTES = 16, 8
#: Flags of pages and of nodes.
BRANCH, BIG_DATA = 0x01, 0x01


def free_pages(file: BinaryIO, page_bytes: int, root: int) -> set[int]:
    """Return the numbers of the free pages that the tree with this *root* in *file* lists.

    Raises struct.error or ValueError if it is no such tree.
    """
    free: set[int] = set()
    seen: set[int] = set()
    to_read = [] if root == NO_PAGE else [root]
    while to_read:
        number = to_read.pop()
        if number in seen:
            raise ValueError(f"page {number} comes twice")
        seen.add(number)
        page = _read(file, page_bytes, number, page_bytes)
        flags, lower = struct.unpack_from("=HH", page, 10)
        for place in struct.unpack_from(f"={(lower - PAGE_HEAD_BYTES) // 2}H", page, PAGE_HEAD_BYTES):
            low, high, node_flags, key_bytes = struct.unpack_from("=4H", page, place)
            if flags & BRANCH:
                to_read.append(low | high << 16 | node_flags << 32)
                continue
            pages = page[place + NODE_HEAD_BYTES + key_bytes :]
            if node_flags & BIG_DATA:
                (first,) = struct.unpack_from("=Q", pages)
                size = PAGE_HEAD_BYTES + (low | high << 16)
                pages = _read(file, page_bytes, first, size)[PAGE_HEAD_BYTES:]
            (count,) = struct.unpack_from("=Q", pages)
            free.update(struct.unpack_from(f"={count}Q", pages, 8))
    return free


def _read(file: BinaryIO, page_bytes: int, page: int, size: int) -> bytes:
    """Read *size* bytes from the start of a page, or as many as there are.

    Raises ValueError if there are none.
    """
    if page >= file.seek(0, os.SEEK_END) // page_bytes:
        raise ValueError(f"there is no page {page}")
    file.seek(page * page_bytes)
    return file.read(size)

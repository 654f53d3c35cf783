"""The check of the blocks of an index: each document is in one, and each block matches its checksum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import UNREADABLE

from .blocks import decode_block, decode_logged
from .damage import Problem
from .layout import key_number, number_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header


@dataclass(frozen=True, slots=True)
class View:
    """An index as one transaction sees it, to be checked."""

    transaction: lmdb.Transaction
    databases: dict[str, Any]
    header: Header
    #: Called with how many more entries or documents were read.
    advance: Callable[[int], None]


def find_block_problems(view: View, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
    """Yield the problems of the blocks of database *name* from document *start* on.

    *mask* (bool[n]) says which documents must be in a block; others may be.
    """
    expected, stop = start, start + len(mask)
    found = np.zeros(len(mask), bool)
    decode = decode_logged if name == "log" else decode_block
    with view.transaction.cursor(view.databases[name]) as cursor:
        more = len(mask) > 0 and cursor.set_range(number_key(start))
        while more and (first := key_number(cursor.key())) < stop:
            try:
                end = first + len(decode(cursor.value(), view.header, check=True).urls)
            except IndexCorrupted as error:
                broken = isinstance(error.__cause__, UNREADABLE)
                what = (
                    f"It cannot be decoded ({error.__cause__})."
                    if broken
                    else "It does not match its checksum."
                )
                yield Problem(f"{name}, block {first}", what)
            else:
                if first < expected or end > stop:
                    yield Problem(f"{name}, block {first}", "It overlaps the next or the previous.")
                expected = end
                found[first - start : end - start] = True
                view.advance(int(mask[first - start : end - start].sum()))
            more = cursor.next()
    missing = np.flatnonzero(mask & ~found)
    if len(missing):
        what = f"{len(missing)} documents cannot be read, the first {start + missing[0]}."
        yield Problem(name, what)

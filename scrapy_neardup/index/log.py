"""The log: where documents are once they are committed, block by block, until a run holds them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .blocks import encode_logged
from .removed import add_removed
from .storage import key_number, number_key, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lmdb

    from .base import Documents
    from .environment import Environment
    from .storage import State

#: Numbers of documents have 32 bits, and so has the number after the last one.
MAX_DOCUMENTS = (1 << 32) - 1


def append(environment: Environment, documents: Documents, removals: Sequence[int] = ()) -> State:
    """Commit documents, and removals of others; returns the state that this leads to."""

    def work(transaction: lmdb.Transaction) -> State:
        state = read_state(environment, transaction)
        put_block(environment, transaction, state.next, documents)
        # Not np.unique, which imports for 0.1 s when it is first used.
        numbers = np.array(sorted(set(removals)), np.int64)
        add_removed(transaction, environment.databases["dead"], numbers)
        stop = state.next + len(documents.urls)
        newer = replace(state, next=stop, removals=state.removals + bool(removals))
        write_state(environment, transaction, newer)
        return newer

    return environment.write(work)


def put_block(
    environment: Environment, transaction: lmdb.Transaction, first: int, documents: Documents
) -> None:
    """Append *documents*, whose numbers begin with *first*. Raises `IndexUnavailable` if the index is full."""
    require_room(first, documents)
    if len(documents.urls) and not transaction.put(
        number_key(first), encode_logged(documents), append=True, db=environment.databases["log"]
    ):
        raise IndexCorrupted(
            "The log has documents that its state does not know: run `scrapy-neardup index check`."
        )


def clear(environment: Environment, transaction: lmdb.Transaction, stop: int) -> None:
    """Delete the blocks of all documents before *stop*, where one begins."""
    with transaction.cursor(environment.databases["log"]) as cursor:
        cursor.first()
        while (key := bytes(cursor.key())) and key_number(key) < stop:
            cursor.delete()


def require_room(first: int, documents: Documents) -> None:
    """Raise `IndexUnavailable` if there are too few numbers left for *documents*."""
    if first + len(documents.urls) > MAX_DOCUMENTS:
        raise IndexUnavailable("The index is full (2**32 - 1 documents): start another one (NEARDUP_DIR).")

"""Making an index on disk, or making sure that the one there is the one wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexUnavailable

from .directory import DATA, corrupted, read_sidecar, write_sidecar
from .header import Header
from .storage import State, write_state

if TYPE_CHECKING:
    from collections.abc import Collection

    import lmdb

    from .environment import Environment


def open_header(environment: Environment, wanted: Header | None, ignore: Collection[str]) -> Header:
    """Return the header of the index, written first if the index is new.

    Raises `IndexMismatch`, `IndexCorrupted`, or `IndexUnavailable` if there is none and nothing is *wanted*.
    """

    def work(transaction: lmdb.Transaction) -> Header:
        stored = transaction.get(b"header", db=environment.databases["meta"])
        if stored is not None:
            return Header.from_json(bytes(stored))
        if known is not None:
            raise corrupted(environment.path / DATA, f"it is empty and should hold {known} documents")
        if wanted is None:
            raise IndexUnavailable(
                f"There is no index in {environment.path}: name the directory of an index."
            )
        transaction.put(b"header", wanted.to_json(), db=environment.databases["meta"])
        write_state(environment, transaction, State())
        return wanted

    known = None if environment.scratch else read_sidecar(environment.path)
    with environment.read() as transaction:
        new = transaction.get(b"header", db=environment.databases["meta"]) is None
        header = None if new else work(transaction)
    if header is None:
        header = environment.write(work)
        if not environment.scratch:
            write_sidecar(environment.path, header.uuid, 0)
    if wanted is not None:
        header.require(wanted, str(environment.path), ignore)
    return header

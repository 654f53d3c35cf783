"""Making a new index on disk, or verifying that the one that is there is the one wanted."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.header import Header

from .data_file import DATA, corrupted
from .directory import read_sidecar, write_sidecar
from .layout import State, write_state

if TYPE_CHECKING:
    from collections.abc import Collection

    import lmdb

    from .environment import Environment


def open_header(environment: Environment, wanted: Header | None, ignore: Collection[str]) -> Header:
    """Return the header of the index. A new index gets the header *wanted* and an empty state first.

    Raises `IndexMismatch` if the header differs from *wanted* in more than the parameters named in *ignore*,
    `IndexCorrupted` if it cannot be read, `IndexUnavailable` if there is none and *wanted* is None.
    """

    def work(transaction: lmdb.Transaction) -> Header:
        stored = read_header(environment, transaction)
        if stored is not None:
            return stored
        if known is not None:
            raise corrupted(environment.path / DATA, f"it is empty and should hold {known} documents")
        if wanted is None:
            raise IndexUnavailable(
                f"There is no index in {environment.path}: name the directory of an index."
            )
        data = wanted.to_json()
        transaction.put(b"header", data, db=environment.databases["meta"])
        transaction.put(b"checksum", b"%08x" % zlib.crc32(data), db=environment.databases["meta"])
        write_state(environment, transaction, State())
        return wanted

    known = None if environment.scratch else read_sidecar(environment.path)
    with environment.read() as transaction:
        header = read_header(environment, transaction)
    if header is None:
        header = environment.write(work)
        if not environment.scratch:
            # Without this a power cut may leave the note beside a file without a header, as damage does.
            environment.sync()
            write_sidecar(environment.path, header.uuid, 0)
    if wanted is not None:
        header.require(wanted, str(environment.path), ignore)
    return header


def read_header(environment: Environment, transaction: lmdb.Transaction) -> Header | None:
    """Return the header, None if there is none yet.

    Raises `IndexCorrupted`, or `IndexMismatch` for another format.
    """
    data = transaction.get(b"header", db=environment.databases["meta"])
    if data is None:
        return None
    header = Header.from_json(bytes(data))
    # An index that was made by a version without checksums of headers has none.
    checksum = transaction.get(b"checksum", db=environment.databases["meta"])
    if checksum is not None and bytes(checksum) != b"%08x" % zlib.crc32(data):
        raise corrupted(environment.path / DATA, "its header does not match its checksum")
    return header

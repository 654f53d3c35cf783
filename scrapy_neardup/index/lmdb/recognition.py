"""Whether a directory is that of an index.

Other programs write files called index.json and data.mdb, too, so their contents are looked at.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup.errors import IndexCorrupted

from .data_file import DATA, SIDECAR, check_data_file

if TYPE_CHECKING:
    from pathlib import Path

#: The note beside an index has at most so many bytes.
_NOTE_BYTES = 1 << 12


def is_index(path: Path) -> bool:
    """Return whether there is or was an index in *path*: there is a note, or an LMDB file with a header."""
    return is_noted(path) or ((path / DATA).is_file() and _has_header(path))


def is_noted(path: Path) -> bool:
    """Return whether there is the note of an index in *path*, even if its data file is gone.

    Raises OSError.
    """
    note = path / SIDECAR
    if not note.is_file():
        return False
    with note.open("rb") as file:
        content = file.read(_NOTE_BYTES + 1)
    return _is_object(content, {"uuid", "documents"})


def _has_header(path: Path) -> bool:
    """Return whether the LMDB file in *path* has the header of an index; False if it cannot be read.

    Writes nothing.
    """
    try:
        check_data_file(path / DATA)
        with (
            lmdb.open(
                os.fsencode(path), readonly=True, create=False, lock=False, max_dbs=1, lib_version=0
            ) as environment,
            environment.begin() as transaction,
        ):
            meta = environment.open_db(b"meta", transaction, create=False)
            return _is_object(transaction.get(b"header", b"", db=meta), {"format", "uuid", "families"})
    except (lmdb.Error, IndexCorrupted):
        return False


def _is_object(content: bytes, names: set[str]) -> bool:
    """Return whether *content* is a JSON object that has all of *names*, and perhaps others."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= names

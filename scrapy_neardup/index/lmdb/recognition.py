"""Whether a directory is that of an index: other programs, too, write files called index.json and data.mdb."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup.errors import IndexCorrupted

from .directory import DATA, SIDECAR, check_data_file

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes of the note at most.
_NOTE = 1 << 12


def is_index(path: Path) -> bool:
    """Whether there is an index in *path*, or was: by the note beside its file, failing that by the header in it."""
    return is_noted(path) or ((path / DATA).is_file() and _has_header(path))


def is_noted(path: Path) -> bool:
    """Whether an index has left its note in *path*, which outlives the file. Raises OSError."""
    note = path / SIDECAR
    if not note.is_file():
        return False
    with note.open("rb") as file:
        content = file.read(_NOTE + 1)
    return _is_object(content, {"uuid", "documents"})


def _has_header(path: Path) -> bool:
    """Whether the LMDB file in *path* is an index; False if it cannot be read. Nothing is written."""
    try:
        check_data_file(path / DATA)
        with (
            lmdb.open(
                str(path), readonly=True, create=False, lock=False, max_dbs=1, lib_version=0
            ) as environment,
            environment.begin() as transaction,
        ):
            meta = environment.open_db(b"meta", transaction, create=False)
            return _is_object(transaction.get(b"header", b"", db=meta), {"format", "uuid", "families"})
    except (lmdb.Error, IndexCorrupted):
        return False


def _is_object(content: bytes, names: set[str]) -> bool:
    """Whether *content* is a JSON object with these *names*, others aside."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= names

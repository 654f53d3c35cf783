"""What this package has written as a source: an earlier audit; an index, whose documents have no texts."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.arrays import places
from scrapy_neardup.audit.packing import unpacked
from scrapy_neardup.index import Documents, Stored
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.records import DIGEST, URL, url_keys

from .records import BrokenRecord, CrawledPage, Indexing, Origin, Revisit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header
    from scrapy_neardup.index.lmdb.snapshot import Snapshot

    from .records import Options, Record

#: The file in the folder of an audit that holds its pages.
AUDIT = "signatures.sqlite"
_QUERY = (
    "SELECT id, url, fetched, noindex, declared, alternates, body_digest, refers_digest, refers_url, text, "
    "title, reason, {note} FROM pages WHERE reason IS NULL OR reason = 'no_text' ORDER BY id"
)


@contextlib.contextmanager
def reading_index(path: Path) -> Iterator[tuple[Header, Snapshot]]:
    """Open the index in *path* beside its other users.

    Raises `IndexUnavailable`, `IndexCorrupted`, and `IndexMismatch` for an index of bare fingerprints.
    """
    from scrapy_neardup.index.lmdb.commands import opened
    from scrapy_neardup.index.lmdb.snapshot import reading
    from scrapy_neardup.matching.removal import require_pages

    with opened(path) as (environment, header):
        require_pages(header, "sketch", "tokens")
        with reading(environment, header) as reader:
            yield header, reader


def all_documents(header: Header, reader: Snapshot) -> tuple[NDArray[np.int64], Documents]:
    """Return the numbers of all documents, ascending, and the documents with their keys.

    Permuted keys are left out. Keys are nowhere but in the tables, so they are put together from these. Takes
    about 400 bytes a document.
    """
    from scrapy_neardup.index.lmdb.snapshot import live_documents

    parts = list(live_documents(reader, lambda done, total: None))
    numbers = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    empty = Stored(np.empty(0, header.dtype), [], [])
    stored = Stored.concatenate([empty, *(part for _, part in parts)])
    keys = np.full((header.keys, len(numbers)), NO_KEY)
    keys[header.rows[URL]] = url_keys(stored.urls, header.seed)
    for family in (DIGEST, *range(URL + 1, len(header.families))):
        rows = header.rows[family]
        if header.families[family].equal:
            keys[rows] = _keys(reader, family, numbers)
        else:
            keys[rows] = stored.records["fingerprint"]
    for first, documents in reader.log(reader.state.flushed, check=True):
        among = np.flatnonzero((numbers >= first) & (numbers < first + len(documents.urls)))
        keys[:, among] = documents.keys[:, numbers[among] - first]
    return numbers, Documents(keys, *stored)


def _keys(reader: Snapshot, family: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the keys of the documents *numbers* (int64[n]) in a family of equal keys: uint64[keys, n]."""
    described, table = reader.header.families[family], reader.header.first_table[family]
    keys = np.full((described.keys, len(numbers)), NO_KEY)
    for run in reader.state.runs:
        cut = run.cut(described)
        entries = [reader.partition(run, cut, table, part).entries for part in range(1 << cut)]
        documents = np.concatenate([each.documents for each in entries]).astype(np.int64)
        filed = np.concatenate([each.keys for each in entries])
        order = np.argsort(documents, kind="stable")
        documents, filed = documents[order], filed[order]
        known = np.isin(documents, numbers)
        keys[places(documents)[known], np.searchsorted(numbers, documents[known])] = filed[known]
    return keys


def read_audit(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of the audit in the folder *path*."""
    database = sqlite3.connect(f"{(path / AUDIT).absolute().as_uri()}?mode=ro", uri=True)
    with contextlib.closing(database):
        columns = {row[1] for row in database.execute("PRAGMA table_info(pages)")}
        # Audits of earlier versions have kept no notes.
        for row in database.execute(_QUERY.format(note="note" if "note" in columns else "x''")):
            origin = Origin(label, f"page {row[0]}")
            revisit = None if row[7] is None and row[8] is None else Revisit(row[7], row[8])
            empty = row[11] == "no_text"
            if row[9] is None and revisit is None and not empty:
                yield BrokenRecord(origin, "its text was not kept")
                continue
            text = None if row[9] is None else unpacked(row[9])
            yield CrawledPage(
                row[1], text.text if text else "" if empty else None, None, None, row[2], origin, row[6],
                _indexing(row), title=row[10], extracted=text, revisit_of=revisit, note=row[12],
            )  # fmt: skip


def _indexing(row: tuple[Any, ...]) -> Indexing:
    alternates = tuple(json.loads(row[5]).items()) if row[5] else ()
    return Indexing(bool(row[3]), row[4], alternates)

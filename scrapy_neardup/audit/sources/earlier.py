"""The folder of an earlier audit as a source: its pages with their texts, as they were read then."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from scrapy_neardup.audit.packing import unpacked

from .records import BrokenRecord, CrawledPage, Indexing, Origin, Revisit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .records import Options, Record

#: The file in the folder of an audit that holds its pages.
AUDIT = "signatures.sqlite"
_QUERY = (
    "SELECT id, url, fetched, noindex, declared, alternates, body_digest, refers_digest, refers_url, text, "
    "title, reason, {note} FROM pages WHERE reason IS NULL OR reason = 'no_text' ORDER BY id"
)


def read_audit(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of the audit in the folder *path*."""
    database = sqlite3.connect(f"{(path / AUDIT).absolute().as_uri()}?mode=ro", uri=True)
    with closing(database):
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

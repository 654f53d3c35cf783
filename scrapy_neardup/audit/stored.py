"""A page as the store of an audit holds it: the columns of its table, and a page as a row of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .packing import packed_text
from .sources.records import SILENT

if TYPE_CHECKING:
    from scrapy_neardup.fingerprint import Signature
    from scrapy_neardup.fingerprint.main_text import MainText

    from .sources.records import Indexing, Origin

#: The columns of the table, in the order of `row_of`, with their types in SQLite.
_COLUMNS = {
    "run": "INTEGER", "root": "TEXT", "source": "TEXT", "place": "TEXT", "stamp": "TEXT", "url": "TEXT",
    "fetched": "REAL", "declared": "TEXT", "alternates": "TEXT", "title": "TEXT", "noindex": "INTEGER",
    "body_digest": "TEXT", "refers_digest": "TEXT", "refers_url": "TEXT", "reason": "TEXT", "wall": "INTEGER",
    "keys": "BLOB", "record": "BLOB", "text": "BLOB",
}  # fmt: skip
CREATE = (
    "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    + ", UNIQUE (source, place));"
)
INSERT = (
    f"INSERT OR REPLACE INTO pages ({', '.join(_COLUMNS)}) "  # noqa: S608  # names of our own
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)


@dataclass(slots=True)
class StoredPage:
    """A page as it is stored.

    It has a signature, or refers to the page that it is a revisit of, or a reason why not.
    """

    #: The source that the user named.
    root: str
    #: The file and the place in it.
    origin: Origin
    #: Size and time of change of that file.
    stamp: str
    url: str
    fetched: float | None
    title: str = ""
    #: What it tells search engines.
    indexing: Indexing = SILENT
    body_digest: str | None = None
    refers_digest: str | None = None
    refers_url: str | None = None
    #: Why there is no main text; see `extraction.Reason`.
    reason: str | None = None
    signature: Signature | None = None
    text: MainText | None = None
    #: The signature as an index holds it: the bytes of uint64[keys] and of a record. `Store` makes them of
    #: *signature*.
    keys: bytes | None = None
    record: bytes | None = None


class StoredColumns(NamedTuple):
    """The pages of a store without their texts: a list for each column, in the order of their numbers."""

    id: list[int]
    root: list[str]
    url: list[str]
    fetched: list[float | None]
    declared: list[str]
    alternates: list[str]
    title: list[str]
    noindex: list[int]
    body_digest: list[str | None]
    refers_digest: list[str | None]
    refers_url: list[str | None]
    reason: list[str | None]
    wall: list[int]
    keys: list[bytes | None]
    record: list[bytes | None]


_NONE = type(None)
#: The types that a column of `StoredColumns` may hold. Others show that the file is damaged.
TYPES: dict[str, tuple[type, ...]] = {
    "id": (int,), "root": (str,), "url": (str,), "fetched": (float, _NONE), "declared": (str,),
    "alternates": (str,), "title": (str,), "noindex": (int,), "body_digest": (str, _NONE),
    "refers_digest": (str, _NONE), "refers_url": (str, _NONE), "reason": (str, _NONE), "wall": (int,),
    "keys": (bytes, _NONE), "record": (bytes, _NONE),
}  # fmt: skip


def row_of(page: StoredPage, run: int) -> tuple[Any, ...]:
    """Return *page* as a row of the table that `INSERT` stores, met in the run of that number."""
    indexing = page.indexing
    alternates = json.dumps(dict(indexing.alternates)) if indexing.alternates else ""
    wall = page.signature is not None and page.signature.wall
    packed = None if page.text is None else packed_text(page.text)
    return (
        run, encodable(page.root), encodable(page.origin.path), encodable(page.origin.place), page.stamp,
        encodable(page.url), page.fetched, encodable(indexing.declared), encodable(alternates),
        encodable(page.title), indexing.noindex, page.body_digest, page.refers_digest, page.refers_url,
        page.reason, wall, page.keys, page.record, packed,
    )  # fmt: skip


def encodable(text: str) -> str:
    """Return *text* with escapes for what UTF-8 cannot write."""
    return text.encode("utf-8", "backslashreplace").decode()

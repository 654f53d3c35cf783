"""A page as the store of an audit holds it: the columns of its table, and a page as a row of it."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .filing import Filed
from .sources.records import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header

    from .sources.records import Indexing, Origin

#: The columns of the table, in the order of `row_of`, with their types in SQLite.
COLUMNS = {
    "run": "INTEGER", "root": "TEXT", "source": "TEXT", "place": "TEXT", "stamp": "TEXT", "url": "TEXT",
    "fetched": "REAL", "declared": "TEXT", "alternates": "TEXT", "title": "TEXT", "noindex": "INTEGER",
    "body_digest": "TEXT", "refers_digest": "TEXT", "refers_url": "TEXT", "reason": "TEXT", "wall": "INTEGER",
    "keys": "BLOB", "record": "BLOB", "headline": "BLOB", "paragraphs": "BLOB", "text": "BLOB",
    "note": "BLOB",
}  # fmt: skip
CREATE = (
    "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    + ", UNIQUE (source, place));"
)
INSERT = (
    f"INSERT OR REPLACE INTO pages ({', '.join(COLUMNS)}) "  # noqa: S608  # names of our own
    f"VALUES ({', '.join('?' * len(COLUMNS))})"
)


@dataclass(slots=True)
class StoredPage:
    """A page as it is stored.

    It has a signature, or refers to the page that it is a revisit of, or has a reason why it has no text.
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
    #: What its item says, see `notes`.
    note: bytes = b""
    #: Why there is no main text; see `extraction.Reason`.
    reason: str | None = None
    #: Its signature and its text.
    filed: Filed | None = None

    @property
    def of_site(self) -> str:
        """The URL that says which site it is of: of a page that was saved to a file, what the page names."""
        return self.url if self.url.startswith(("http://", "https://")) else self.indexing.declared


class StoredColumns(NamedTuple):
    """The n pages of a store without their texts: a column each, in the order of their numbers."""

    #: int64[n].
    id: NDArray[np.int64]
    root: list[str]
    url: list[str]
    #: In seconds since 1970, NaN if not known: float64[n].
    fetched: NDArray[np.float64]
    declared: list[str]
    alternates: list[str]
    title: list[str]
    #: bool[n].
    noindex: NDArray[np.bool_]
    body_digest: list[str | None]
    refers_digest: list[str | None]
    refers_url: list[str | None]
    reason: list[str | None]
    #: bool[n].
    wall: NDArray[np.bool_]
    #: Signatures as an index holds them, zero for a page without one: uint64[n, keys], and records[n].
    keys: NDArray[np.uint64]
    record: NDArray[Any]
    #: What items say, see `notes`; empty for a page that is no item.
    note: list[bytes]

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]], header: Header) -> StoredColumns:
        """Make columns of *rows*, which have their fields.

        Raises ValueError unless all values are of the types, and of the sizes, that *header* asks for.
        """
        numbers: dict[str, array[Any]] = {name: array(code) for name, code in _NUMBERS.items()}
        signatures = {"keys": bytearray(), "record": bytearray()}
        sizes = {"keys": 8 * header.keys, "record": header.dtype.itemsize}
        texts: dict[str, list[Any]] = {name: [] for name in cls._fields if name not in (numbers | signatures)}
        known: dict[str, str] = {}
        rest = iter(rows)
        while part := [*islice(rest, _ROWS)]:
            for name, values in zip(cls._fields, zip(*part, strict=True), strict=True):
                if not {*map(type, values)} <= {*_TYPES[name]}:
                    raise ValueError(f"the column {name} holds values of other types")
                if name in signatures:
                    if not {len(value) for value in values if value is not None} <= {sizes[name]}:
                        raise ValueError(f"the column {name} holds values of other sizes")
                    blank = bytes(sizes[name])
                    signatures[name] += b"".join(blank if value is None else value for value in values)
                elif name in numbers:
                    numbers[name].extend(nan if value is None else value for value in values)
                elif name in _FEW:
                    texts[name] += (value and known.setdefault(value, value) for value in values)
                else:
                    texts[name] += values
        columns: dict[str, Any] = {**texts}
        columns |= {name: np.frombuffer(values, values.typecode) for name, values in numbers.items()}
        columns |= {name: columns[name] != 0 for name in ("noindex", "wall")}
        columns["keys"] = np.frombuffer(signatures["keys"], np.uint64).reshape(-1, header.keys)
        columns["record"] = np.frombuffer(signatures["record"], header.dtype)
        return cls(**columns)


class Paragraphs(NamedTuple):
    """The long paragraphs of the pages that have texts, and the titles of these, in the order of pages."""

    #: The numbers of the pages: int64[n].
    id: NDArray[np.int64]
    headline: list[str]
    #: The keys of all paragraphs, see `paragraph_keys`: uint64[m]. Those of the page in row i are from
    #: ``ends[i]`` up to ``ends[i + 1]``: int64[n + 1].
    keys: NDArray[np.uint64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, bytes, bytes]]) -> Paragraphs:
        """Make columns of *rows*: numbers of pages, titles in UTF-8, keys. Raises ValueError for others."""
        ids, ends = array("q"), array("q", [0])
        headlines: list[str] = []
        keys = bytearray()
        for number, headline, own in rows:
            ids.append(number)
            headlines.append(headline.decode("utf-8", "surrogatepass"))
            keys += own
            ends.append(len(keys) // 8)
        numbers = (np.frombuffer(each, np.int64) for each in (ids, ends))
        return cls(next(numbers), headlines, np.frombuffer(keys, np.uint64), next(numbers))

    def often(self, least: int) -> Paragraphs:
        """Return the same without the paragraphs that fewer than *least* pages have, most of them."""
        keys = np.sort(self.keys)
        wanted = np.unique(keys[least - 1 :][keys[least - 1 :] == keys[: max(len(keys) - least + 1, 0)]])
        found = [np.empty(0, np.int64)]
        for start in range(0, len(keys) if len(wanted) else 0, _PART):
            part = self.keys[start : start + _PART]
            places = np.minimum(np.searchsorted(wanted, part), len(wanted) - 1)
            found.append(start + np.flatnonzero(wanted[places] == part))
        kept = np.concatenate(found)
        return self._replace(keys=self.keys[kept], ends=np.searchsorted(kept, self.ends))


_NONE = type(None)
#: The types that a column of `StoredColumns` may hold. Others show that the file is damaged.
_TYPES: dict[str, tuple[type, ...]] = {
    "id": (int,), "root": (str,), "url": (str,), "fetched": (float, _NONE), "declared": (str,),
    "alternates": (str,), "title": (str,), "noindex": (int,), "body_digest": (str, _NONE),
    "refers_digest": (str, _NONE), "refers_url": (str, _NONE), "reason": (str, _NONE), "wall": (int,),
    "keys": (bytes, _NONE), "record": (bytes, _NONE), "note": (bytes,),
}  # fmt: skip
#: The columns of numbers, with the types of their arrays; columns of few different texts, each kept once.
_NUMBERS = {"id": "q", "fetched": "d", "noindex": "q", "wall": "q"}
_FEW = ("root", "reason", "declared")
#: Rows that are read at a time; keys that are looked up at a time.
_ROWS, _PART = 1000, 1 << 18
#: What is stored of a page without a signature.
_UNSIGNED = Filed("", None, None)


def row_of(page: StoredPage, run: int) -> tuple[Any, ...]:
    """Return *page* as a row of the table that `INSERT` stores, met in the run of that number."""
    indexing = page.indexing
    alternates = json.dumps(dict(indexing.alternates)) if indexing.alternates else ""
    filed = page.filed or _UNSIGNED
    return (
        run, encodable(page.root), encodable(page.origin.path), encodable(page.origin.place), page.stamp,
        encodable(page.url), page.fetched, encodable(indexing.declared), encodable(alternates),
        encodable(page.title or filed.title), indexing.noindex, page.body_digest, page.refers_digest,
        page.refers_url, page.reason, filed.wall, filed.keys, filed.record, filed.headline, filed.paragraphs,
        filed.text, page.note,
    )  # fmt: skip


def encodable(text: str) -> str:
    """Return *text* with escapes for what UTF-8 cannot write."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

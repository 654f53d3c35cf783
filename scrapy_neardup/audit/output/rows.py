"""The tables that an audit writes: their rows, and these as CSV for spreadsheets and as Parquet."""

from __future__ import annotations

import csv
import math
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import PAGES, Audit
from scrapy_neardup.audit.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

#: The columns of each table, with their types in Parquet.
COLUMNS = {
    "pages": {
        "url": "string", "verdict": "string", "cluster": "int32", "canonical": "string", "distance": "int32",
        "similarity": "float32", "tokens": "int64", "fetched": "float64", "title": "string",
        "noindex": "bool_", "declared": "string", "hreflang": "string", "handled": "string",
        "copies": "int64", "closest": "string", "closest_similarity": "float32",
    },
    "clusters": {
        "cluster": "int32", "canonical": "string", "size": "int64", "exact": "int64", "near": "int64",
        "part": "int64", "revisit": "int64", "hosts": "int64", "members": "list",
    },
    "pairs": {
        "url1": "string", "url2": "string", "kind": "string", "distance": "int32", "similarity": "float32",
        "containment": "float32",
    },
}  # fmt: skip
#: A cell that begins with one of these, or with white space and one of these, is run by a spreadsheet as a
#: formula.
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
#: Rows that are in memory as Python's values at a time.
_ROWS = 10_000


def pages_of(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``pages.jsonl``: all pages in the order of their URLs."""
    pages = audit.pages
    urls, names = pages["url"], PAGES.names or ()
    closest, alike = closest_pages(audit)
    sizes = audit.clusters["size"]
    for row, other, likeness in zip(_values(pages), _values(closest), _values(alike), strict=True):
        page = dict(zip(names, row, strict=True))
        number, similarity, fetched = page["cluster"], page["similarity"], page["fetched"]
        compared = not math.isnan(similarity)
        yield {
            "url": page["url"],
            "verdict": page["verdict"],
            "cluster": number if number >= 0 else None,
            "canonical": urls[page["canonical"]] if number >= 0 else None,
            "distance": page["distance"] if compared else None,
            "similarity": round(similarity, 4) if compared else None,
            "tokens": page["tokens"],
            "fetched": None if math.isnan(fetched) else fetched,
            "title": page["title"],
            "noindex": page["noindex"],
            "declared": page["declared"] or None,
            "hreflang": page["alternates"] or None,
            "handled": page["handled"] or None,
            "copies": int(sizes[number]) - 1 if number >= 0 else 0,
            "closest": urls[other] if other >= 0 else None,
            "closest_similarity": round(likeness, 4) if other >= 0 else None,
        }


def closest_pages(audit: Audit) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each page the one of all compared with it that it is most like, and the similarity of both.

    Arrays of n: rows, -1 for none; and 0 to 1.
    """
    pages, pairs = audit.pages, audit.pairs
    members = np.flatnonzero(pages["canonical"] != np.arange(len(pages)))
    first = np.concatenate((pairs["first"], members))
    second = np.concatenate((pairs["second"], pages["canonical"][members]))
    alike = np.concatenate((pairs["similarity"], pages["similarity"][members])).astype(np.float64)
    page, other = np.concatenate((first, second)), np.concatenate((second, first))
    alike = np.concatenate((alike, alike))
    order = np.lexsort((other, -alike, page))
    page, places = np.unique(page[order], return_index=True)
    closest, likeness = np.full(len(pages), -1, np.int64), np.zeros(len(pages))
    closest[page], likeness[page] = other[order][places], alike[order][places]
    return closest, likeness


def clusters_of(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``clusters.jsonl``: the largest first; of the members the canonical page first."""
    pages = audit.pages
    rows = np.flatnonzero(pages["cluster"] >= 0)
    rows = rows[np.lexsort((pages["rank"][rows], pages["cluster"][rows]))]
    ends = np.cumsum(audit.clusters["size"])
    members = np.split(rows, ends[:-1]) if len(ends) else []
    for number, (cluster, own) in enumerate(zip(_values(audit.clusters), members, strict=True)):
        canonical, size, exact, near, part, revisits = cluster
        urls = pages["url"][own].tolist()
        yield {
            "cluster": number,
            "canonical": pages["url"][canonical],
            "size": size,
            "exact": exact,
            "near": near,
            "part": part,
            "revisit": revisits,
            "hosts": len({split_url(url).host for url in urls}),
            "members": urls,
        }


def pairs_of(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``pairs.jsonl``."""
    urls = audit.pages["url"]
    for first, second, kind, distance, similarity, containment in _values(audit.pairs):
        yield {
            "url1": urls[first],
            "url2": urls[second],
            "kind": kind,
            "distance": distance,
            "similarity": round(similarity, 4),
            "containment": round(containment, 4),
        }


def problems_of(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``problems.jsonl``."""
    for file, place, reason in audit.problems:
        yield {"file": file, "place": place, "reason": reason}


def _values(table: NDArray[Any]) -> Iterator[Any]:
    """Yield the rows of *table* as Python has them, made some at a time."""
    for start in range(0, len(table), _ROWS):
        yield from table[start : start + _ROWS].tolist()


def write_csv(file: IO[str], table: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a table as CSV. A cell that a spreadsheet would run as a formula gets a quote before it.

    The values of a list are joined by spaces.
    """
    writer = csv.writer(file)
    writer.writerow(COLUMNS[table])
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS[table]])


def write_parquet(path: Path, table: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a table, some rows at a time. Raises OSError."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {
        name: pa.list_(pa.string()) if kind == "list" else getattr(pa, kind)()
        for name, kind in COLUMNS[table].items()
    }
    schema = pa.schema(list(types.items()))
    with ParquetWriter(path, schema, compression="zstd") as writer:
        rest = iter(rows)
        while part := list(islice(rest, _ROWS)):
            writer.write_table(pa.Table.from_pylist([_encodable(row) for row in part], schema))


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " ".join(value)
    if not isinstance(value, str):
        return value
    value = value.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    start = value.lstrip(" \u00a0\ufeff")[:1]
    return f"'{value}" if start in _FORMULA and value else value


def _encodable(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }

"""Writes the tables of the results as CSV, for spreadsheets, and as Parquet, for data frames."""

from __future__ import annotations

import csv
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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
_ROWS = 10_000


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
        for part in _parts(iter(rows)):
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


def _parts(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while part := list(islice(rows, _ROWS)):
        yield part

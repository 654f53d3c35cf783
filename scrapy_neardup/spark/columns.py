"""Columns of Arrow as arrays of NumPy, and back: keys, records and names of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.crawl import Crawl
from scrapy_neardup.audit.names import Names

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.index import Documents, Header

#: What a page is compared by, as Spark has it.
DOCUMENT = (
    "row long, keys binary, record binary, wall boolean, own string, head string, common array<string>, "
    "page string, rare boolean, general boolean, note binary"
)


def column_names(columns: str) -> tuple[str, ...]:
    """Return the names of *columns* as Spark writes them: ``name type, name type``."""
    return tuple(part.split()[0] for part in columns.split(", "))


DOCUMENT_COLUMNS = column_names(DOCUMENT)


def numbers(table: pa.Table | pa.RecordBatch, name: str) -> NDArray[Any]:
    """Return a column of numbers or booleans."""
    found: NDArray[Any] = _whole(table, name).to_numpy(zero_copy_only=False)
    return found


def texts(table: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """Return a column as Python has it. Equal texts of a batch are one object: groups share titles."""
    import pyarrow as pa

    found: list[Any] = []
    for part in _parts(table, name):
        if pa.types.is_string(part.type):
            encoded = part.dictionary_encode()
            values = [*encoded.dictionary.to_pylist(), None]
            found += [values[place] for place in encoded.indices.fill_null(len(values) - 1).to_pylist()]
        else:
            found += part.to_pylist()
    return found


def joined(table: pa.Table | pa.RecordBatch, name: str) -> bytes:
    """Return the bytes of a column without nulls, one value after the other."""
    return b"".join(map(_bytes_of, _parts(table, name)))


def keys_of(table: pa.Table | pa.RecordBatch, header: Header, name: str = "keys") -> NDArray[np.uint64]:
    """Return keys as `Documents` have them: uint64[keys, n]."""
    found = np.frombuffer(joined(table, name), np.uint64).reshape(-1, header.keys)
    return np.ascontiguousarray(found.T)


def records_of(table: pa.Table | pa.RecordBatch, header: Header, name: str = "record") -> NDArray[Any]:
    """Return records: a structured array of n, which may be written to."""
    return np.frombuffer(bytearray(joined(table, name)), header.dtype)


def pieces(values: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each of n rows of *values*."""
    data, size = np.ascontiguousarray(values).tobytes(), len(values) and values.nbytes // len(values)
    return [data[start : start + size] for start in range(0, len(data), size or 1)]


def signed(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return 64-bit keys as Spark holds them; they differ where *values* differ."""
    return np.ascontiguousarray(values).view(np.int64)


def unsigned(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Undo `signed`."""
    return np.ascontiguousarray(values).view(np.uint64)


def names_of(table: pa.Table | pa.RecordBatch, end: str = "") -> Names:
    """Return the names of the pages in columns whose names have that *end*."""
    together: dict[tuple[str, ...], frozenset[str]] = {}
    common = [together.setdefault(tuple(words), frozenset(words)) for words in texts(table, f"common{end}")]
    columns = ("own", "head", "page", "rare", "general")
    own, head, page, rare, general = (texts(table, f"{name}{end}") for name in columns)
    return Names(own, head, common, page, rare, general)


def merged_names(one: Names, other: Names) -> Names:
    """Return the names of the pages of both."""
    every: Any = zip(one, other, strict=True)
    return Names(*(a + b for a, b in every))


def crawl_of(
    documents: Documents,
    wall: NDArray[np.bool_],
    names: Names | None,
    settings: AuditOptions,
    **known: Any,
) -> Crawl:
    """Return n pages as the audit has them; what is not *known* of them is empty."""
    count = len(documents.records)
    nothing = {name: [""] * count for name in ("roots", "urls", "titles", "declared", "alternates")}
    empty: dict[str, Any] = {"noindex": np.zeros(count, bool), "fetched": np.full(count, np.nan)}
    return Crawl(
        **{
            "ids": np.arange(count),
            **nothing,
            **empty,
            "documents": documents,
            "wall": wall,
            "long": documents.records["tokens"] >= max(settings.min_tokens, 1),
            "names": names,
            **known,
        }
    )


def schema_of(columns: str) -> pa.Schema:
    """Return the Arrow schema of *columns*, written as for `column_names`."""
    import pyarrow as pa

    kinds = {
        "long": pa.int64(), "int": pa.int32(), "string": pa.string(), "float": pa.float32(),
        "double": pa.float64(), "boolean": pa.bool_(), "binary": pa.binary(),
        "array<string>": pa.list_(pa.string()),
    }  # fmt: skip
    return pa.schema([(name, kinds[kind]) for name, kind in map(str.split, columns.split(", "))])


def _parts(table: pa.Table | pa.RecordBatch, name: str) -> list[pa.Array]:
    column = table.column(name)
    return getattr(column, "chunks", [column])


def _bytes_of(values: pa.Array) -> memoryview:
    """Return the bytes of *values* without nulls as they lie in memory."""
    import pyarrow as pa

    values = values.cast(pa.binary())  # Spark may be set to larger types
    _, ends, data = values.buffers()
    if data is None or not len(values):
        return memoryview(b"")
    first, last = np.frombuffer(ends, np.int32)[[values.offset, values.offset + len(values)]]
    return memoryview(data)[first:last]


def _whole(table: pa.Table | pa.RecordBatch, name: str) -> Any:
    column = table.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column

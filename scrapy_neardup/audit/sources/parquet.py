"""Parquet files, row group by row group, of which only the columns in question are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fields import Fields
from .limits import MAX_RECORD, megabytes
from .records import BrokenRecord, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from .records import Options, Record

#: Rows read at a time.
_BATCH = 64


def read_parquet(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the rows of a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = Fields(options)
    schema = pq.read_schema(path)
    columns = fields.columns(schema.names)
    if not columns:
        yield BrokenRecord(Origin(label), fields.no_text(schema.names))
        return
    if not fields.has_url(schema.names):
        yield BrokenRecord(Origin(label), fields.no_url(schema.names))
        return
    # A value that is repeated stays once in memory: a small file can repeat a large one a million times.
    strings = [name for name in columns if schema.field(name).type in (pa.string(), pa.binary())]
    table = pq.ParquetFile(path, read_dictionary=strings)
    first = 1
    for group in range(table.num_row_groups):
        number = first
        try:
            for batch in table.iter_batches(_BATCH, [group], columns, use_threads=False):
                for row in range(batch.num_rows):
                    yield _page(fields, batch, row, Origin(label, f"row {number}"))
                    number += 1
        except (pa.ArrowException, OSError, ValueError) as error:
            yield BrokenRecord(Origin(label, f"row {number} and the rest of its row group"), str(error))
        first += table.metadata.row_group(group).num_rows


def _page(fields: Fields, batch: pa.RecordBatch, row: int, origin: Origin) -> Record:
    try:
        item = {name: batch.column(name)[row].as_py() for name in batch.schema.names}
    except ValueError as error:  # such as bytes that are not UTF-8
        return BrokenRecord(origin, str(error))
    if any(isinstance(value, (str, bytes)) and len(value) > MAX_RECORD for value in item.values()):
        return BrokenRecord(origin, f"longer than {megabytes(MAX_RECORD)}")
    return fields.page(item, origin)

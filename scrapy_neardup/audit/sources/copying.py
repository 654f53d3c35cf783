"""Copies sources without some of their records, in the formats that they have."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from scrapy_neardup.audit.model import Input

from .records import SourceUnavailable, open_regular, opened

_CHUNK = 1 << 20
_ROWS = 256


def copies(sources: Sequence[Input], out: Path) -> list[Path]:
    """Return where copies of *sources* in *out* will be; raises `SourceUnavailable` if one cannot be made."""
    found = [out / Path(each.name).name for each in sources]
    for number, (source, copy) in enumerate(zip(sources, found, strict=True)):
        require_copyable(source)
        if copy in found[:number] or copy.exists():
            raise SourceUnavailable(f"{copy} would be written over: name another directory.")
    return found


def require_copyable(source: Input) -> None:
    """Raise `SourceUnavailable` if there is no way to copy a part of *source*."""
    if source.kind not in _COPIERS:
        raise SourceUnavailable(f"{source.name} cannot be copied in part: use JSON lines, Parquet or WARC.")


def copy_without(source: Input, out: Path, places: Collection[str]) -> None:
    """Copy *source* to *out* without the records at *places*. The copy appears once it is complete."""
    part = out.with_name(f"{out.stem}.part{out.suffix}")
    _COPIERS[source.kind](Path(source.name), part, places)
    part.replace(out)


def _copy_lines(path: Path, out: Path, places: Collection[str]) -> None:
    number, wanted, begins = 0, True, True
    packers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    with opened(path) as lines, packers.get(out.suffix, open)(out, "wb") as kept:
        while part := lines.readline(_CHUNK):
            if begins:
                number += 1
                wanted = f"line {number}" not in places
            begins = part.endswith(b"\n")
            if wanted:
                kept.write(part)


def _copy_rows(path: Path, out: Path, places: Collection[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, number = pq.ParquetFile(path), 0
    with pq.ParquetWriter(out, table.schema_arrow) as kept:
        for batch in table.iter_batches(_ROWS):
            rows = range(number + 1, number + 1 + batch.num_rows)
            kept.write_batch(batch.filter(pa.array([f"row {row}" not in places for row in rows])))
            number += batch.num_rows


def _copy_records(path: Path, out: Path, places: Collection[str]) -> None:
    from fastwarc import ArchiveIterator

    with open_regular(path) as file:
        starts = [record.stream_pos for record in ArchiveIterator(file, parse_http=False)]
    if len({*starts}) < len(starts):
        raise SourceUnavailable(f"{path} is compressed as a whole: compress each record by itself.")
    ends = [*starts[1:], path.stat().st_size]
    with path.open("rb") as file, out.open("wb") as kept:
        for start, end in zip(starts, ends, strict=True):
            if f"byte {start}" not in places:
                file.seek(start)
                for at in range(start, end, _CHUNK):
                    kept.write(file.read(min(_CHUNK, end - at)))


_COPIERS = {"json lines": _copy_lines, "parquet": _copy_rows, "warc": _copy_records}

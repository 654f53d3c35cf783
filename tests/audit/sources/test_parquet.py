"""Tables: the columns in question are read, row group by row group, and a repeated value costs nothing."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrapy_neardup.audit.sources.records import MAX_RECORD

from .archives import open_sources

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_rows(type_: Any, tmp_path: Path, read: Any, text: Any) -> None:
    texts = [text(n) for n in range(500)]
    when = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
    table = pa.table(
        {
            "URL": [f"http://a/{n}" for n in range(500)],
            "number": range(500),
            "articleBody": pa.array(texts).cast(type_),
            "crawled_at": pa.array([when] * 500, pa.timestamp("us", "UTC")),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=100)
    contents = read(path)
    assert contents.texts == texts
    assert contents.urls[-1] == "http://a/499"
    assert contents.pages[499].origin.place == "row 500"
    assert {page.fetched for page in contents.pages} == {1714979289.0}


def test_html_as_bytes_and_nested_fields(tmp_path: Path, read: Any, html: Any) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"url": ["u"], "html": pa.array([html(1)], pa.binary())}), path)
    (page,) = read(path).pages
    assert (page.body, page.content_type) == (html(1), None)
    pq.write_table(pa.table({"url": ["u"], "page": [{"words": "yes"}]}), path)
    assert read(path, text_field="page.words").texts == ["yes"]


def test_field_of_the_url_that_is_not_there(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["t"] * 100, "page": [{"url": "u"}] * 100}), path)
    problem = read(path, url_field="nope").problems[0]
    assert problem.reason == "no field nope (--url-field); the fields are text, page"
    assert read(path, url_field="page.url").urls == ["u"] * 100
    assert len(read(path, url_field="page.nope").problems) == 100


def test_broken_row_group_is_passed_over(tmp_path: Path, read: Any, text: Any) -> None:
    path = tmp_path / "a.parquet"
    texts = [text(n, 100) for n in range(300)]
    pq.write_table(
        pa.table({"text": texts}), path, row_group_size=100, use_dictionary=False, compression="gzip"
    )
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\x00" * column.total_compressed_size
    path.write_bytes(data)
    contents = read(path)
    assert contents.texts == texts[:100] + texts[200:]
    assert [problem.origin.place for problem in contents.problems] == [
        "row 101 and the rest of its row group"
    ]


def test_value_that_is_repeated_many_times(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * (1 << 20)] * 256}), path)
    assert path.stat().st_size < 1 << 20
    pa.default_memory_pool().release_unused()
    before = pa.total_allocated_bytes()
    needed = [pa.total_allocated_bytes() - before for _ in open_sources([path])]
    assert len(needed) == 256
    assert max(needed) < 32 << 20


def test_value_that_is_too_long(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "x" * (MAX_RECORD + 1), "b"]}), path)
    contents = read(path)
    assert contents.texts == ["a", "b"]
    assert "more than 64 MiB" in contents.problems[0].reason

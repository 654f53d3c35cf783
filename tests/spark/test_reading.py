"""What executors read and sign is what the audit of one machine stores; an index can be made of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'scrapy-neardup[spark]'")

from scrapy_neardup import Detector
from scrapy_neardup.audit import audit
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.store import FILE, Store
from scrapy_neardup.spark.pages import sign_files, sign_lines, sign_rows
from scrapy_neardup.spark.run import SETTINGS, SIGNATURES, make_index
from tests.audit.corpora import crawl, feed, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPTIONS = AuditOptions(seed=3, workers=1)


def signatures(batches: Iterator[pa.RecordBatch]) -> set[tuple[Any, ...]]:
    rows = (row for batch in batches for row in batch.to_pylist() if row["kind"] == "page")
    return {(row["url"], row["title"], row["keys"], row["record"], row["wall"]) for row in rows}


def test_lines_rows_and_files_are_signed_as_on_one_machine(tmp_path: Path) -> None:
    pages = crawl(4)
    file = feed(tmp_path / "a.jl", pages)
    with audit(file, tmp_path / "out", seed=3, workers=1):
        pass
    store = Store(tmp_path / "out" / FILE)
    columns = store.load(OPTIONS.header)
    store.close()
    keys, records = ([each.tobytes() for each in rows] for rows in (columns.keys, columns.record))
    stored = {*zip(columns.url, columns.title, keys, records, columns.wall.tolist(), strict=True)}
    lines = file.read_bytes().splitlines()
    batches = [
        pa.RecordBatch.from_pydict({"line": part, "source": ["file:///a.jl"] * len(part)})
        for part in (lines[:5], lines[5:], [b" "])
    ]
    assert signatures(sign_lines(batches, OPTIONS)) == stored
    assert signatures(sign_rows([pa.RecordBatch.from_pylist(pages)], OPTIONS)) == stored
    files = pa.RecordBatch.from_pydict({"name": [str(file)], "kind": ["json lines"]})
    assert signatures(sign_files([files], OPTIONS)) == stored


def test_what_is_no_page_is_a_problem() -> None:
    lines = [b"no JSON", json.dumps({"text": text(1)}).encode(), b'{"url": "https://a.example/"}']
    batch = pa.RecordBatch.from_pydict({"line": lines, "source": ["file:///a.jl"] * 3})
    rows = [row for found in sign_lines([batch], OPTIONS) for row in found.to_pylist()]
    assert [row["kind"] for row in rows] == ["problem"] * 3
    assert [row["reason"].partition(":")[0] for row in rows] == [
        "not a JSON object",
        "no URL, which tells pages apart",
        "no field that is known to hold text or HTML",
    ]


def test_a_crawl_knows_the_pages_of_an_audit_from_the_start(tmp_path: Path) -> None:
    pages = crawl(4)
    tables = list(sign_rows([pa.RecordBatch.from_pylist(pages)], OPTIONS))
    (tmp_path / "audit" / SIGNATURES).mkdir(parents=True)
    pyarrow.parquet.write_table(
        pa.Table.from_batches(tables), tmp_path / "audit" / SIGNATURES / "part-0.parquet"
    )
    content = {"settings": asdict(OPTIONS), "identity": OPTIONS.identity()}
    (tmp_path / "audit" / SETTINGS).write_text(json.dumps(content), encoding="utf-8")
    count = make_index(tmp_path / "audit", str(tmp_path / "index"))
    assert count == len(pages) - 1  # a note
    with Detector.open(tmp_path / "index") as detector:
        assert detector.check(text(1), "https://elsewhere.example/").kind == "exact"
        assert detector.check(text(1), "https://a.example/1").kind == "revisit"
        assert detector.check(text("new"), "https://elsewhere.example/").kind == "unique"

"""What is read and what executors do, without Spark: what the audit of one machine reads, signs and pairs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'scrapy-neardup[spark]'")

from scrapy_neardup import ConfigurationError, Detector
from scrapy_neardup.audit import audit
from scrapy_neardup.audit.all_pairs import near_pairs
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.sources.records import SourceUnavailable
from scrapy_neardup.audit.store import FILE, Store
from scrapy_neardup.index.tables import PermutedTables
from scrapy_neardup.spark.earlier import COLUMNS, FILED
from scrapy_neardup.spark.pages import find_paths, in_files, in_lines, in_rows, sign
from scrapy_neardup.spark.pairs import near_pairs_of_tables, permuted
from scrapy_neardup.spark.run import SETTINGS, make_index
from tests.audit.corpora import crawl, feed, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize("blocks", [4, 5, 6])
def test_near_fingerprints(blocks: int) -> None:
    dice = np.random.default_rng(blocks)
    base = dice.integers(0, 1 << 63, 40, dtype=np.uint64)
    flips = np.uint64(1) << dice.integers(0, 64, (40, 5)).astype(np.uint64)
    values = np.concatenate([base, base, *(base ^ flips[:, place] for place in range(5))])
    rows = dice.permutation(len(values)) + (1 << 35)
    pages = pa.RecordBatch.from_pydict({"fingerprint": [each.tobytes() for each in values], "row": rows})
    layout = PermutedTables(blocks, 3)
    table = permuted(pages, layout)
    # Spark hands them to the next step in any order.
    table = pa.Table.from_batches([table.take(dice.permutation(table.num_rows))])
    found = near_pairs_of_tables(table, layout, 3)
    found = [*zip(*(found.column(name).to_pylist() for name in "ab"), strict=True)]
    different = np.unique(values)
    members = {value: rows[values == value].tolist() for value in different.tolist()}
    expected = {
        (min(a, b), max(a, b))
        for chunk in near_pairs(different, 3)
        for one, other in different[chunk].tolist()
        for a in members[one]
        for b in members[other]
    }
    assert len(found) == len({*found})
    assert {*found} == expected


OPTIONS = AuditOptions(seed=3, workers=1)


def signatures(records: Iterator[tuple[str, Any]]) -> set[tuple[Any, ...]]:
    batches = sign(records, OPTIONS)
    rows = (row for batch in batches for row in batch.to_pylist() if row["kind"] == "page")
    return {(row["url"], row["title"], row["keys"], row["record"], row["wall"]) for row in rows}


def lines_of(lines: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"line": lines, "source": ["file:///a.jl"] * len(lines)})


def test_lines_rows_and_files_are_signed_as_on_one_machine(tmp_path: Path) -> None:
    pages = crawl(4)
    file = feed(tmp_path / "a.jl", pages)
    audit(file, tmp_path / "out", seed=3, workers=1).close()
    store = Store(tmp_path / "out" / FILE)
    columns = store.load(OPTIONS.header)
    store.close()
    keys, records = ([each.tobytes() for each in rows] for rows in (columns.keys, columns.record))
    stored = {*zip(columns.url, columns.title, keys, records, columns.wall.tolist(), strict=True)}
    lines = file.read_bytes().splitlines()
    batches = [lines_of(part) for part in (lines[:5], lines[5:], [b" "])]
    assert signatures(in_lines(batches, OPTIONS)) == stored
    assert signatures(in_rows([pa.RecordBatch.from_pylist(pages)], OPTIONS)) == stored
    files = pa.RecordBatch.from_pydict({"name": [str(file)], "kind": ["json lines"]})
    assert signatures(in_files([files], OPTIONS)) == stored


def test_what_is_no_page_is_a_problem() -> None:
    lines = [b"no JSON", json.dumps({"text": text(1)}).encode(), b'{"url": "https://a.example/"}']
    found = sign(in_lines([lines_of(lines)], OPTIONS), OPTIONS)
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [(row["kind"], row["reason"].partition(":")[0]) for row in rows] == [
        ("problem", "not a JSON object"), ("problem", "no URL, which tells pages apart"),
        ("problem", "no field that is known to hold text or HTML"),
    ]  # fmt: skip


def test_a_crawl_knows_the_pages_of_an_audit_from_the_start(tmp_path: Path) -> None:
    pages = crawl(4)
    signed = pa.Table.from_batches(sign(in_rows([pa.RecordBatch.from_pylist(pages)], OPTIONS), OPTIONS))
    (tmp_path / "audit" / FILED).mkdir(parents=True)
    pyarrow.parquet.write_table(signed.select(COLUMNS[1:]), tmp_path / "audit" / FILED / "part-0.parquet")
    content = {"settings": asdict(OPTIONS), "identity": OPTIONS.identity() | {"version": 1}}
    (tmp_path / "audit" / SETTINGS).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="another version"):
        make_index(tmp_path / "audit", str(tmp_path / "index"))
    content["identity"] = OPTIONS.identity()
    (tmp_path / "audit" / SETTINGS).write_text(json.dumps(content), encoding="utf-8")
    count = make_index(tmp_path / "audit", str(tmp_path / "index"))
    assert count == len(pages)
    with Detector.open(tmp_path / "index") as detector:
        assert detector.check(text(1), "https://elsewhere.example/").kind == "exact"
        assert detector.check(text(1), "https://a.example/1").kind == "revisit"
        assert detector.check(text("new"), "https://elsewhere.example/").kind == "unique"


PAGE = {"url": "https://a.example/", "text": text(1)}


def table(path: Path, **columns: str) -> Path:
    pyarrow.parquet.write_table(pa.table({name: [value] for name, value in columns.items()}), path)
    return path


def test_each_file_is_read_once_and_by_spark_only_if_it_reads_all(tmp_path: Path) -> None:
    lines = feed(tmp_path / "a.jl", [PAGE])
    found = find_paths([str(lines), str(tmp_path / "*.jl"), str(lines)])
    assert found == ([f"file://{lines.resolve()}"], [], [])
    names = ("_a.jl", ".b.jl", "c[1].jl")
    others = {str(feed(tmp_path / name, [PAGE]).resolve()) for name in names}
    damaged = table(tmp_path / "e.parquet", **PAGE)
    damaged.write_bytes(damaged.read_bytes()[:-9])
    given = [*others, str(damaged), str(table(tmp_path / "f.parquet", number="1"))]
    found = find_paths([name.replace("[", "[[]") for name in given])
    assert (found.lines, found.tables) == ([], [])
    assert {each.name for each in found.others} == {*given}
    # A folder is a table if it has nothing else.
    folder = tmp_path / "pages"
    folder.mkdir()
    table(folder / "part-0.parquet", **PAGE)
    (folder / "_SUCCESS").touch()
    assert find_paths([str(folder)]).tables == [f"file://{folder.resolve()}"]
    (folder / "page.html").write_text("<p>")
    assert [each.kind for each in find_paths([str(folder)]).others] == ["folder"]


def test_paths_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="does not exist"):
        find_paths([str(tmp_path / "none.jl")])
    with pytest.raises(ConfigurationError, match="all executors see"):
        find_paths(["s3a://crawl/a.warc.gz"])
    found = find_paths(["s3a://crawl/a.jl", "s3a://crawl/pages.parquet"])
    assert found == (["s3a://crawl/a.jl"], ["s3a://crawl/pages.parquet"], [])

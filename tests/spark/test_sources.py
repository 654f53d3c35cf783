"""Each file is read once, by Spark only where Spark reads what the audit of one machine would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'scrapy-neardup[spark]'")

from scrapy_neardup import ConfigurationError
from scrapy_neardup.audit.sources.records import SourceUnavailable
from scrapy_neardup.spark.pages import find_paths
from tests.audit.corpora import feed, text

if TYPE_CHECKING:
    from pathlib import Path

PAGE = {"url": "https://a.example/", "text": text(1)}


def table(path: Path, **columns: str) -> Path:
    pyarrow.parquet.write_table(pa.table({name: [value] for name, value in columns.items()}), path)
    return path


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    lines = feed(tmp_path / "a.jl", [PAGE])
    found = find_paths([str(lines), str(tmp_path / "*.jl"), str(lines)])
    assert found == ([f"file://{lines.resolve()}"], [], [])


def test_what_spark_would_pass_over_or_misread_is_left_to_the_readers(tmp_path: Path) -> None:
    names = ("_a.jl", ".b.jl", "c[1].jl")
    others = {str(feed(tmp_path / name, [PAGE]).resolve()) for name in names}
    damaged = table(tmp_path / "e.parquet", **PAGE)
    damaged.write_bytes(damaged.read_bytes()[:-9])
    without = table(tmp_path / "f.parquet", number="1")
    given = [*others, str(damaged), str(without)]
    lines, tables, found = find_paths([name.replace("[", "[[]") for name in given])
    assert (lines, tables) == ([], [])
    assert {each.name for each in found} == {str(each) for each in given}


def test_a_folder_is_a_table_if_it_has_nothing_else(tmp_path: Path) -> None:
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

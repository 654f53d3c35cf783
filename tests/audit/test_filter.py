"""A batch comes out without what an index has, in its own format; what cannot be judged is kept."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrapy_neardup import Detector
from scrapy_neardup.audit import audit
from scrapy_neardup.audit.filter import filter_against
from scrapy_neardup.audit.sources.records import PageRecord, SourceUnavailable
from scrapy_neardup.errors import ConfigurationError, NearDupError
from tests.audit.corpora import text
from tests.audit.sources.archives import http, open_sources, record, write_warc
from tests.cli.test_cli import run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """An index with the texts 0 to 9."""
    with Detector.open(tmp_path / "corpus") as detector:
        for number in range(10):
            detector.add(text(number), url=f"https://corpus.example/{number}")
    return tmp_path / "corpus"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)
    elif ".warc" in path.name:
        pages = [record("response", row["url"], http(f"<p>{row['text']}.".encode())) for row in rows]
        write_warc(path, [record("warcinfo", "", b"software: test\r\n"), *pages])
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def urls(path: Path) -> list[str]:
    return [page.url for page in open_sources([path]) if isinstance(page, PageRecord)]


@pytest.mark.parametrize("name", ["b.jl", "b.jsonl.gz", "b.parquet", "b.warc", "b.warc.gz"])
def test_what_the_index_has_is_left_out_and_all_else_copied_as_it_is(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    numbers = [0, 20, 1, 21, 22, 2, 20, 23]
    rows = [{"url": f"https://new.example/{place}", "text": text(n)} for place, n in enumerate(numbers)]
    batch, out = write(tmp_path / name, rows), tmp_path / f"out-{name}"
    found = filter_against(batch, corpus, out)
    left = [0, 2, 5]
    assert [each.url[-1] for each in found.repeats] == [str(place) for place in left]
    assert [each.match[-1] for each in found.repeats] == ["0", "1", "2"]
    expected = [row for place, row in enumerate(rows) if place not in left]
    assert urls(out) == [row["url"] for row in expected]
    if name == "b.jl":
        assert out.read_bytes() == write(tmp_path / "expected.jl", expected).read_bytes()
    elif name == "b.parquet":
        assert pq.read_table(out).equals(pa.Table.from_pylist(expected))
    # Without --add nothing is stored; with it, later records of the batch are compared with earlier ones.
    assert filter_against(batch, corpus, out) == found
    again = filter_against(batch, corpus, tmp_path / f"filed-{name}", add=True).repeats
    assert [each.url[-1] for each in again] == ["0", "2", "5", "6"]
    assert len(filter_against(batch, corpus, out).repeats) == len(rows)
    assert not urls(out)


def test_an_item_is_left_out_only_if_the_one_that_it_repeats_says_the_same(tmp_path: Path) -> None:
    sizes = [
        {"url": f"https://shop.example/{n}", "text": text(1, 300), "size": n % 3, "price": "9.90"}
        for n in range(9)
    ]
    out = tmp_path / "kept.jl"
    found = filter_against(write(tmp_path / "b.jl", sizes), tmp_path / "index", out, add=True)
    assert urls(out) == [row["url"] for row in sizes[:3]]
    assert len(found.repeats) == 6
    cheaper = write(tmp_path / "c.jl", [dict(sizes[0], url="https://shop.example/x", price="8.90")])
    assert not filter_against(cheaper, tmp_path / "index", out).repeats


@pytest.mark.parametrize("name", ["b.jl", "b.warc"])
def test_an_item_that_only_a_pending_page_has_is_kept(name: str, tmp_path: Path) -> None:
    row = {"url": "https://shop.example/1", "text": text(1), "price": "9.90"}
    with Detector.open(tmp_path / "index") as crawl:
        assert crawl.reserve(text(1), url="https://shop.example/2").reservation is not None
        batch, out = write(tmp_path / name, [row]), tmp_path / f"kept-{name}"
        assert not filter_against(batch, tmp_path / "index", out, add=True).repeats
    assert urls(out) == [row["url"]]


def test_what_cannot_be_read_or_judged_is_kept_and_counted(corpus: Path, tmp_path: Path) -> None:
    lines = [b"{", b'{"url": "https://new.example/1", "text": "short"}', b"", b"[]", b"\xff"]
    batch, out = tmp_path / "b.jl", tmp_path / "out.jl"
    repeated = json.dumps({"url": "https://new.example/2", "text": text(3)}).encode()
    batch.write_bytes(b"\n".join([*lines, repeated, b'{"url": ']))
    told = ("--json", "--report", tmp_path / "report.jl")
    result = run("filter", batch, "--against", corpus, "--out", out, *told)
    assert result.exit_code == 3, result.output
    assert out.read_bytes() == b"\n".join([*lines, b'{"url": '])
    assert json.loads(result.stdout) == {
        "records": 2, "left out": 1, "exact": 1, "not judged, kept": 5, "broken": 4, "too short": 1,
    }  # fmt: skip
    (repeat,) = map(json.loads, (tmp_path / "report.jl").read_text().splitlines())
    assert (repeat["place"], repeat["match"]) == ("line 6", "https://corpus.example/3")


@pytest.mark.parametrize("name", ["b.jl", "b.jsonl.gz", "b.parquet", "b.warc.gz"])
def test_an_audit_copies_its_sources_without_what_drop_txt_lists(name: str, tmp_path: Path) -> None:
    def rows(site: str, numbers: list[int]) -> list[dict[str, Any]]:
        return [{"url": f"https://{site}.example/{n}", "text": text(n % 10)} for n in numbers]

    numbers = {at: [*range(at, at + 5), at + 10] for at in (0, 3)}
    sources = [write(tmp_path / f"{at}{name}", rows(f"s{at}", each)) for at, each in numbers.items()]
    with audit(sources, tmp_path / "out", kept=tmp_path / "kept"):
        dropped = {*(tmp_path / "out/drop.txt").read_text().split()}
        assert len(dropped) == 2 + 2
        for source in sources:
            kept = [url for url in urls(source) if url not in dropped]
            assert urls(tmp_path / "kept" / source.name) == kept
    with pytest.raises(SourceUnavailable, match="written over"):
        audit(sources, tmp_path / "out", kept=tmp_path / "kept")
    if name == "b.jsonl.gz":
        sources[0].write_bytes(sources[0].read_bytes()[:-20])
        with pytest.raises(SourceUnavailable, match=r"is damaged \(.*\): repair it"):
            audit(sources, kept=tmp_path / "others")


def test_nothing_is_filed_before_the_copy_is_there(corpus: Path, tmp_path: Path) -> None:
    rows = [{"url": f"https://new.example/{n}", "text": text(n)} for n in (0, 20, 21)]
    batch, out = write(tmp_path / "b.jl", rows), tmp_path / "out.jl"
    before = {*threading.enumerate()}
    with mock.patch.object(Path, "replace", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        filter_against(batch, corpus, out, add=True)
    assert [*tmp_path.glob("out*")] == []
    there = mock.patch("os.fsync", side_effect=lambda file: out.touch())  # another has written it meanwhile
    with there, pytest.raises(SourceUnavailable, match="written over"):
        filter_against(batch, corpus, out, add=True)
    out.unlink()
    filter_against(batch, corpus, out, add=True)
    assert urls(out) == [row["url"] for row in rows[1:]]
    for thread in {*threading.enumerate()} - before:  # no index stays open
        thread.join(10)
        assert not thread.is_alive()


def test_mistakes_are_told_before_anything_is_written(corpus: Path, tmp_path: Path) -> None:
    batch, out = write(tmp_path / "b.jl", [{"url": "u", "text": text(0)}]), tmp_path / "out.jl"
    with pytest.raises(NearDupError, match="no index"):
        filter_against(batch, tmp_path / "none", out)
    assert not (tmp_path / "none").exists()
    (tmp_path / "b.json").write_text("[]")
    for there in (batch, tmp_path / "b.json"):  # the copy of a batch that was filed is all that has it
        with pytest.raises(ConfigurationError, match="written over"):
            filter_against(batch, corpus, there, add=there != batch)
    with pytest.raises(SourceUnavailable, match="JSON lines, Parquet or WARC"):
        filter_against(tmp_path / "b.json", corpus, out)
    assert not out.exists()

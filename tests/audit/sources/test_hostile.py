"""Bombs cost neither much memory nor much time, and what is beside them is read."""

from __future__ import annotations

import bz2
import gzip
import random
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.audit.sources import records

from .archives import http, open_sources, read, record

pytestmark = pytest.mark.slow

ITEM = b'{"url": "u", "text": "t"}'
#: Bytes that one record may need while it is read, and the buffers around it.
MEMORY = 3 * records.MAX_RECORD


def repeated(pack: Any, unit: bytes, count: int, before: bytes = b"", after: bytes = b"") -> bytes:
    """Compress before, *count* times *unit*, after, without making them."""
    compressor = pack()
    parts = [compressor.compress(before), *(compressor.compress(unit) for _ in range(count))]
    return b"".join((*parts, compressor.compress(after), compressor.flush()))


def gzip_compressor() -> Any:
    return zlib.compressobj(9, wbits=31)


ZEROS = b"\x00" * (1 << 20)


@pytest.fixture
def bounded() -> Iterator[None]:
    """Fail a test that takes too much memory or time."""
    tracemalloc.start()
    started = time.process_time()  # other processes do not count
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY
    assert time.process_time() - started < 20


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip_compressor), ("bz2", bz2.BZ2Compressor)])
def test_line_over_the_limit_is_passed_over(suffix: str, pack: Any, tmp_path: Path, bounded: None) -> None:
    path = tmp_path / f"feed.jl.{suffix}"
    path.write_bytes(repeated(pack, ZEROS, 100, ITEM + b"\n", b"\n" + ITEM + b"\n"))
    first, problem, last = open_sources([path])
    assert (first.url, last.url, problem.reason) == ("u", "u", "more than 64 MiB")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("feed.jl.gz", ZEROS),
        ("feed.json.gz", b"{" * (1 << 20)),
        ("feed.json.gz", b'["' * (1 << 19)),
        ("feed.json.gz", b'""' * (1 << 19)),
        ("page.html.gz", ZEROS),
        ("a.warc.gz", ZEROS),
    ],
)
def test_gzip_bomb_without_a_document(name: str, unit: bytes, tmp_path: Path, bounded: None) -> None:
    path = tmp_path / name
    first = {"warc": b"WARC/1.0\r\n", "json": b'{"a": '}.get(name.split(".")[1], ITEM + b"\n")
    path.write_bytes(repeated(gzip_compressor, unit, 280, first))
    assert path.stat().st_size < 3 << 20
    problems = [each for each in open_sources([path]) if hasattr(each, "reason")]
    assert 1 <= len(problems) <= 3


@pytest.mark.parametrize("encoded", [False, True])
def test_record_of_a_web_archive_over_the_limit(encoded: bool, tmp_path: Path, bounded: None) -> None:
    """It has as many bytes, or its body has when it is decoded."""
    size, path = 200 << 20, tmp_path / "a.warc.gz"
    if encoded:
        body = http(repeated(gzip_compressor, ZEROS, size >> 20), Content_Encoding="gzip")
        bomb = gzip.compress(record("response", "http://a/", body))
    else:
        head = record("response", "http://a/", b"", length=size)[:-4]
        bomb = repeated(gzip_compressor, ZEROS, size >> 20, head, b"\r\n\r\n")
    path.write_bytes(bomb + gzip.compress(record("response", "http://b/", http(b"<html>"))))
    problem, page = open_sources([path])
    assert problem.reason.endswith("more than 64 MiB")  # type: ignore[union-attr]
    assert page.url == "http://b/"  # type: ignore[union-attr]


@pytest.mark.parametrize("inner", [b"[],", b"{},", b"1,", b'"",'])
def test_record_of_too_many_elements(inner: bytes, tmp_path: Path, bounded: None) -> None:
    path = tmp_path / "feed.jl"
    path.write_bytes(b'{"text": [' + inner * 3_000_000 + b"0]}\n" + ITEM)
    contents = read(path)
    assert len(contents.pages) == 1
    assert "more than 2000000 elements" in contents.problems[0].reason


def test_endless_broken_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.audit.sources.MAX_PROBLEMS", 10)
    path = tmp_path / "feed.jl"
    path.write_bytes(b"x\n" * 9 + ITEM + b"\n" + b"x\n" * 100)
    contents = read(path)
    assert (len(contents.pages), len(contents.problems)) == (1, 9 + 10 + 1)
    assert contents.problems[-1].reason == "10 broken records in a row: the rest is left out"


@pytest.mark.parametrize("name", ["a.jl", "a.json", "a.html", "a.warc.gz", "a.parquet", "a.jl.bz2"])
@pytest.mark.parametrize("prefix", [b"", b"\x1f\x8b\x08\x00", b"BZh9", b"PAR1", b"WARC/1.0\r\n"])
def test_noise(name: str, prefix: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(prefix + random.Random(7).randbytes(20_000))
    assert len(read(tmp_path / name).pages) <= 1  # HTML is whatever is called so


@pytest.mark.parametrize("name", ["feed.jl.gz", "feed.json.gz"])
@pytest.mark.parametrize("line", [b"\r\n", b"\n" * 99 + b'"'], ids=["empty", "a quote in 100"])
def test_blank_lines_by_the_million_are_passed_over(
    name: str, line: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_BARREN", 1 << 26)
    unit = line * ((1 << 20) // len(line))
    (tmp_path / name).write_bytes(repeated(gzip_compressor, unit, 70))
    started = time.process_time()
    *_, last = open_sources([tmp_path / name])
    assert "the rest is left out" in last.reason  # type: ignore[union-attr]
    assert time.process_time() - started < 5  # takes .8; one by one, 10

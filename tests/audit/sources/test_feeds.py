"""Feeds as Scrapy's own exporters write them, tables of Parquet, and what becomes of broken records."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exporters import JsonItemExporter, JsonLinesItemExporter

from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.sources import copy_without
from scrapy_neardup.audit.sources.feeds import split_objects
from scrapy_neardup.audit.sources.records import MAX_RECORD, Origin, Stream
from tests.audit.corpora import text

from .archives import html, open_sources, read

EXPORTERS = {"jl": JsonLinesItemExporter, "json": JsonItemExporter}
PACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
AWKWARD = 'Line one\nline "two", with {braces} and [brackets] \\ and a backslash: café \U0001f600'


def export(path: Path, kind: str, items: list[dict[str, Any]]) -> None:
    with path.open("wb") as file:
        exporter = EXPORTERS[kind](file)
        exporter.start_exporting()
        for item in items:
            exporter.export_item(item)
        exporter.finish_exporting()


def items() -> list[dict[str, Any]]:
    return [{"url": f"http://a/{n}", "title": f"T{n}", "text": f"{text(n)} {AWKWARD}"} for n in range(3)]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("kind", EXPORTERS)
def test_scrapy_feed(kind: str, packer: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    export(plain, kind, items())
    path = tmp_path / f"feed.{kind}{packer}"
    path.write_bytes(PACKERS[packer](plain.read_bytes()))
    contents = read(path)
    assert not contents.problems
    assert contents.urls == [item["url"] for item in items()]
    assert contents.texts == [item["text"] for item in items()]
    assert {page.body for page in contents.pages} == {None}


def test_json_feed_that_a_second_crawl_appended_to(tmp_path: Path) -> None:
    export(tmp_path / "one.json", "json", items())
    twice = tmp_path / "twice.json"
    twice.write_bytes((tmp_path / "one.json").read_bytes() * 2)
    assert len(read(twice).pages) == 6


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[dict[str, Any]], Any]:
    """``page_of(item)`` is the page that a feed of one item has."""

    def page(item: dict[str, Any]) -> Any:
        (tmp_path / "feed.jl").write_text(json.dumps(item) + "\n")
        (found,) = read(tmp_path / "feed.jl").pages
        return found

    return page


@pytest.mark.parametrize("name", ["text", "articleBody", "article_body", "extracted_text"])
def test_fields_are_guessed_also_as_item_loaders_leave_them(name: str, page_of: Any) -> None:
    times = {"crawled_at": ["2024-05-06T07:08:09Z"]}
    page = page_of({"title": "no", name: ["one", "two"], "link": ["u"], **times})
    assert (page.url, page.text, page.fetched) == ("u", "one\ntwo", 1714979289.0)


@pytest.mark.parametrize(
    ("name", "content", "is_html"),
    [
        ("html", "no tags at all", True),
        ("content", "<p>One paragraph.</p><p>And another.</p>", True),
        ("text", "<!DOCTYPE html><title>x</title>words", True),
        ("text", "Close a paragraph with </p>, a list with </ul>.", False),
        ("text", "a < b, and b > c", False),
        ("body", "Intro <b>bold</b>, <i>slanted</i>, <a href='/'>linked</a>.", True),
    ],
)
def test_html_is_told_from_text(name: str, content: str, is_html: bool, page_of: Any) -> None:
    page = page_of({"url": "u", name: content})
    expected = (None, content.encode(), "text/html; charset=utf-8") if is_html else (content, None, None)
    assert (page.text, page.body, page.content_type) == expected


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1714979289, 1714979289), (1714979289123, 1714979289.123), ("1714979289", 1714979289),
        ("2024-05-06 07:08:09", 1714979289), ("2024-05-06T09:08:09+02:00", 1714979289), ("yesterday", None),
        (-5, None), (True, None), ("nan", None), ("1e999", None),
    ],
)  # fmt: skip
def test_time_of_download(value: Any, seconds: float | None, page_of: Any) -> None:
    assert page_of({"url": "u", "text": "t", "timestamp": value}).fetched == seconds


def test_broken_lines_are_told_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "feed.jl"
    good = b'{"url": "u", "text": "t"}\n'
    bad = [b"{broken\n", b"[1, 2]\n", b'{"url": "u", "text": 5}\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n"]
    path.write_bytes(good.join([b"", *bad, b"\n"]))
    contents = read(path)
    assert len(contents.pages) == len(bad) + 1
    assert [problem.origin for problem in contents.problems] == [
        Origin(str(path), f"line {2 * number}") for number in range(1, len(bad) + 1)
    ]
    assert "--text-field; the fields are url, text" in contents.problems[2].reason


def test_what_follows_a_broken_item_of_an_array_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "feed.json"
    good = '{"url": "u", "text": "t"}'
    path.write_text(f'[{good},\n17, {good}, {{"url": nothing}},\n{good}]')
    contents = read(path)
    assert len(contents.pages) == 2
    assert [problem.origin.place for problem in contents.problems] == ["item 2", "item 4"]
    assert contents.problems[1].reason.endswith("the rest is left out")


def test_byte_order_marks_and_lone_surrogates(tmp_path: Path) -> None:
    contents = {"a.jl": '{"url":"u","text":"t"}', "a.json": '[{"text":"t"}]'}
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8-sig")
        assert read(tmp_path / name).texts == ["t"]
    path = tmp_path / "feed.jl"
    path.write_text(r'{"url": "u\udc00", "text": "a\ud800b\ud83d\ude00"}')
    (page,) = read(path).pages
    assert (page.url, page.text) == ("u\ufffd", "a\ufffdb\U0001f600")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), max_size=3),
    st.sampled_from([None, 1]),
    st.integers(1, 99),
)
def test_objects_come_out_as_they_went_in(items: list[dict[str, Any]], indent: int | None, size: int) -> None:
    content = json.dumps(items, indent=indent, ensure_ascii=False).encode("utf-8", "replace")
    chunks = [content[at : at + size] for at in range(0, len(content), size)]
    wanted = [json.loads(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace")) for item in items]
    assert list(split_objects(chunks)) == list(enumerate(wanted, 1))
    assert list(split_objects(chunks * 2)) == list(enumerate(wanted * 2, 1))


@given(st.text('{}[]",:\\a1\n '), st.integers(1, 9))
def test_nearly_json_never_raises(text: str, size: int) -> None:
    content = f'{text}\n"'.encode()
    found = [*split_objects(content[at : at + size] for at in range(0, len(content), size))]
    assert isinstance(found[-1][1], str)


@given(st.lists(st.sampled_from([b"", b" ", b"\r", b"a", b" b ", b"c\r"]), max_size=12), st.booleans())
def test_lines_are_those_of_a_plain_split(tmp_path_factory: Any, lines: list[bytes], ended: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(b"\n".join(lines) + b"\n" * ended)
    wanted = [*enumerate(io.BytesIO(path.read_bytes()).readlines(), 1)]
    assert list(Stream(path).lines()) == [(number, line) for number, line in wanted if line.strip()]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_rows(type_: Any, tmp_path: Path) -> None:
    path, texts = tmp_path / "a.parquet", [text(n) for n in range(500)]
    when = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
    columns = {"URL": [f"http://a/{n}" for n in range(500)], "number": range(500)}
    columns["articleBody"] = pa.array(texts).cast(type_)
    columns["crawled_at"] = pa.array([when] * 500, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table(columns), path, row_group_size=100)
    contents = read(path)
    assert contents.texts == texts
    assert contents.urls[-1] == "http://a/499"
    assert contents.pages[499].origin.place == "row 500"
    assert {page.fetched for page in contents.pages} == {1714979289.0}


def test_html_as_bytes_and_nested_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"url": ["u"], "html": pa.array([html(1)], pa.binary())}), path)
    (page,) = read(path).pages
    assert (page.body, page.content_type) == (html(1), None)
    pq.write_table(pa.table({"url": ["u"], "page": [{"words": "yes"}]}), path)
    assert read(path, text_field="page.words").texts == ["yes"]


def test_field_of_the_url_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["t"] * 100, "page": [{"url": "u"}] * 100}), path)
    problem = read(path, url_field="nope").problems[0]
    assert problem.reason == "no field nope (--url-field); the fields are text, page"
    assert read(path, url_field="page.url").urls == ["u"] * 100
    assert len(read(path, url_field="page.nope").problems) == 100


def test_broken_row_group_is_passed_over(tmp_path: Path) -> None:
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


def test_values_that_are_too_long_or_repeated_many_times(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "x" * (MAX_RECORD + 1), "b"]}), path)
    contents = read(path)
    assert contents.texts == ["a", "b"]
    assert "more than 64 MiB" in contents.problems[0].reason
    value = "x" * (1 << 20)
    for type_, row in (pa.string(), value), (pa.large_string(), value), (pa.list_(pa.string()), [value]):
        pq.write_table(pa.table({"text": pa.array([row] * 256, type_)}), path)
        assert path.stat().st_size < 1 << 20
        usual = pa.default_memory_pool()
        pa.set_memory_pool(pool := pa.proxy_memory_pool(usual))
        assert sum(1 for _ in open_sources([path])) == 256
        copy_without(Input(str(path), "parquet"), tmp_path / "copy.parquet", {"row 7"}, new=False)
        pa.set_memory_pool(usual)
        assert pool.max_memory() < 32 << 20
        assert pq.read_metadata(tmp_path / "copy.parquet").num_rows == 255


def test_rows_of_too_many_elements(tmp_path: Path) -> None:
    path, many = tmp_path / "a.parquet", np.zeros(3_000_000, np.int8)
    lists = [
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_(pa.list_(pa.int8())),
        pa.list_(pa.int8(), many.size),
    ]
    for kind in lists:
        row, few = ([many], [[1]]) if kind == lists[2] else (many, many if kind == lists[3] else [1])
        pq.write_table(pa.table({"text": ["a", "b"], "n": pa.array([few, row], kind)}), path)
        contents = read(path)
        assert len(contents.pages) == (kind != lists[3])
        assert contents.problems[-1].reason == "more than 2000000 elements"

"""Sound inputs for the readers, made on the spot: their mutants get further than those of broken ones."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup.index.lmdb.layout import (
    Run,
    State,
    encode_block,
    encode_partition,
    encode_state,
)
from scrapy_neardup.index.redis.layout import VERSION, Layout
from scrapy_neardup.index.search import Entries
from scrapy_neardup.matching.records import entries
from tests.audit.sources.archives import http, record
from tests.extraction.hostile import CASES

from .readers import small_fingerprinter, small_header

_ITEM = {"url": "https://a.example/b?c=d#e", "title": "T", "text": "Some words, 17.", "fetched": "2024-05-06"}
#: Pages of the hostile set that are longer take longer than they teach.
_LONG = 8_000


def sound_inputs() -> Iterator[tuple[str, bytes]]:
    """Yield pairs of kind and input."""
    yield from _written_by_hand()
    yield from _of_indexes()
    for case in CASES:
        if len(case.body) < _LONG:
            yield "page", case.body
            yield "text", case.words.encode()
    yield (
        "page",
        (
            b'<html><head><title>A title - Site</title><link rel="canonical" href="/b"><meta name="robots" '
            b'content="noindex"></head><body><nav><a href=/>Home</a></nav><article><h1>A title</h1><p>'
            + b"Some words of a paragraph that goes on. " * 9
            + b"</p><table><tr><td>1</td></tr></table></article>"
            + b"<div hidden>x</div><div class='post'>y</div></body>"
        ),
    )


def _written_by_hand() -> Iterator[tuple[str, bytes]]:
    line = json.dumps(_ITEM).encode()
    yield "jl", line + b"\n" + line + b"\n"
    yield "json", b"[\n" + line + b",\n" + line + b"\n]"
    yield "packed", gzip.compress(line, mtime=0)
    answer = http(b"<html><p>a", Link="</b>; rel=canonical", X_Robots_Tag="noindex")
    yield "response", answer
    records = record("response", "http://a/", answer) + record(
        "revisit", "http://b/", http(b""), WARC_Refers_To_Target_URI="http://a/"
    )
    yield "warc", records
    yield "warc", gzip.compress(records, mtime=0)
    table = io.BytesIO()
    pq.write_table(pa.table({name: [value] * 3 for name, value in _ITEM.items()}), table)
    yield "parquet", table.getvalue()
    meta = {"url": "http://a/", "method": "GET", "status": 200, "response_url": "b", "timestamp": 1.5}
    yield "cache", repr(meta).encode() + b"\n----\nContent-Type: text/html\r\n\n----\n<html><p>a"
    for url in ("https://user:p@www.example.co.uk:8443/2024/05/a-b-c.html?x=1&y=%20#z", "http://[::1]:80/"):
        yield "url", url.encode() + b"\nhttp://m.example.com//INDEX.html?y=2"
    yield "url", b"unix:///a/b.socket?db=1&name=news"
    yield "url", "https://b\u00fccher.example/\u00fc".encode()
    yield "selector", b"article > p.a:not([href^='x']), #b ~ li:nth-child(2n+1)"
    yield (
        "rules",
        rb'[{"url": "/tag/\\d+$|[a-z]+", "policy": "tag", "scope": "host"}, {"url": "x", "policy": false}]',
    )


def _of_indexes() -> Iterator[tuple[str, bytes]]:
    header = small_header()
    urls = [f"https://a.example/{number}" for number in range(40)]
    texts = (f"some words of text {number} " * 20 for number in range(40))
    documents = entries([small_fingerprinter().signature(text) for text in texts], urls, header)
    one = documents.take(slice(0, 1))
    yield "header", header.to_json()
    yield "redis_header", json.dumps([VERSION, json.loads(header.to_json()), 1]).encode()
    yield "redis_document", Layout(header, [b"p:"]).pack(one)
    yield "redis_bucket", bytes(range(132))
    yield "redis_generations", b"7:0 70000:4"
    runs = (Run(0, 0, 20, 20, 2, 9), Run(1, 20, 40, 19, 0, 9))
    yield "state", encode_state(State(40, 20, runs, 1))
    yield "block", encode_block(documents.stored, b"")
    few = documents.take(slice(0, 3))
    yield "logged", encode_block(few.stored, b"", few.keys)
    keys = np.sort(np.arange(40, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(4))
    yield "partition", encode_partition(Entries(keys, np.arange(40, dtype=np.uint32)), 4, b"")
    with tempfile.TemporaryDirectory() as folder:
        with lmdb.open(folder, max_dbs=2, lib_version=0) as environment:
            for number in range(3):
                with environment.begin(write=True) as transaction:
                    transaction.put(b"a%d" % number, bytes(3000))
        yield "data_file", (Path(folder) / "data.mdb").read_bytes()

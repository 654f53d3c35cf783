"""Every kind of file, cut at every tenth byte: nothing raises, what precedes the cut is there, it is told."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import shutil
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.corpora import text

from .archives import html, http, read, record

COUNT = 5


def parts(name: str) -> list[bytes]:
    """Return the content of a file of `COUNT` documents, cut behind each where it is known where that is."""
    lines = [json.dumps({"url": f"u{n}", "text": text(n, 12)}).encode() + b"\n" for n in range(COUNT)]
    responses = [record("response", f"u{n}", http(html(n, 12))) for n in range(COUNT)]
    table, written = pa.table({"url": [f"u{n}" for n in range(COUNT)], "text": ["t"] * COUNT}), io.BytesIO()
    pq.write_table(table, written)
    found = {
        "feed.jl": lines,
        "feed.json": [
            b"[\n" * (not n) + line.strip() + (b",\n" if n < COUNT - 1 else b"\n]")
            for n, line in enumerate(lines)
        ],
        "feed.jl.gz": [gzip.compress(b"".join(lines))],
        "feed.jl.bz2": [bz2.compress(b"".join(lines))],
        "a.warc": responses,
        "a.warc.gz": [gzip.compress(each, mtime=0) for each in responses],
        "a.parquet": [written.getvalue()],
    }
    return found[name]


@pytest.mark.parametrize(
    "name", ["feed.jl", "feed.json", "feed.jl.gz", "feed.jl.bz2", "a.warc", "a.warc.gz", "a.parquet"]
)
def test_file_cut_at_every_tenth_byte(name: str, tmp_path: Path) -> None:
    path, whole = tmp_path / name, b"".join(parts(name))
    ends = [*accumulate(map(len, parts(name)))]
    path.write_bytes(whole)
    expected = read(path)
    assert len(expected.pages) == COUNT
    assert not expected.problems
    wanted = [(page.url, page.text, page.body) for page in expected.pages]
    for size in range(0, len(whole), 10):
        path.write_bytes(whole[:size])
        contents = read(path)
        found = [(page.url, page.text, page.body) for page in contents.pages]
        assert found == wanted[: len(found)]
        assert len(found) >= sum(end <= size for end in ends)
        # What ends with a document, but for the line breaks behind it, shows no trace; nor does a record of
        # which a few bytes of gzip's header are there.
        if name != "a.warc.gz" and not any(0 <= end - size <= 4 for end in (0, *ends)):
            assert contents.problems, size


@pytest.mark.parametrize("compressed", [False, True])
def test_cache_with_files_cut_at_every_tenth_byte(compressed: bool, cached: Any, site: Any) -> None:
    for path in ("brotli", "moved", "missing", "image", "latin"):
        del site[f"http://a.example/{path}"]
    cache = cached(compressed)
    intact = read(cache)
    assert len(intact.pages) == 2
    for page in intact.pages:
        entry = cache / page.origin.place
        for path in sorted(entry.iterdir()):
            whole = path.read_bytes()
            for size in range(0, len(whole), 10):
                path.write_bytes(whole[:size])
                contents = read(cache)
                others = [other for other in intact.pages if other != page]
                assert [other for other in contents.pages if other.origin != page.origin] == others
                if path.name in ("meta", "response_body"):
                    assert page.url not in contents.urls
                    assert len(contents.problems) == 1
                elif path.name != "response_headers":  # nothing else is looked at
                    assert contents.pages == intact.pages
            path.write_bytes(whole)
    shutil.rmtree(entry)
    assert len(read(cache).pages) == 1

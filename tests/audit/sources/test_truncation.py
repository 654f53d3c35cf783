"""Every kind of file, cut at every tenth byte: nothing raises, what precedes the cut is there, it is told."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .archives import html, http, read, record, text

COUNT = 5


class File(NamedTuple):
    """A file of `COUNT` documents."""

    path: Path
    #: How much of the file each document needs; all of it where that is not known.
    ends: list[int]
    #: Sizes to which the file can be cut without a trace, since a document ends there.
    traceless: set[int]


def make(folder: Path) -> dict[str, File]:
    lines = [json.dumps({"url": f"u{n}", "text": text(n, 12)}).encode() + b"\n" for n in range(COUNT)]
    responses = [record("response", f"u{n}", http(html(n, 12))) for n in range(COUNT)]
    members = [gzip.compress(each, mtime=0) for each in responses]
    array = [b"[\n", *[line.strip() + b",\n" for line in lines]]
    array[-1] = array[-1][:-2] + b"\n]"
    # With the bytes at its end that a document can do without, and how many of them are not missed.
    contents: dict[str, tuple[list[bytes], int, int]] = {
        "feed.jl": (lines, 1, 1),
        "feed.json": (array, 2, -1),
        "a.warc": (responses, 4, 4),
        "a.warc.gz": (members, 8, 0),
    }
    files = {}
    for name, (parts, spare, unmissed) in contents.items():
        path = folder / name
        path.write_bytes(b"".join(parts))
        ends = [*accumulate(map(len, parts))]
        traceless = {end - missing for end in ends for missing in range(unmissed + 1)}
        files[name] = File(path, [end - spare for end in ends[-COUNT:]], traceless)
    for suffix, pack in {"gz": gzip.compress, "bz2": bz2.compress}.items():
        (folder / f"feed.jl.{suffix}").write_bytes(pack(b"".join(lines)))
    table = pa.table({"url": [f"u{n}" for n in range(COUNT)], "text": ["t"] * COUNT})
    pq.write_table(table, folder / "a.parquet")
    for path in folder.iterdir():
        files.setdefault(path.name, File(path, [path.stat().st_size] * COUNT, set()))
    for name in ("feed.jl", "feed.jl.gz", "feed.jl.bz2", "a.warc", "a.warc.gz"):
        files[name].traceless.add(0)
    return files


@pytest.mark.parametrize(
    "name", ["feed.jl", "feed.json", "feed.jl.gz", "feed.jl.bz2", "a.warc", "a.warc.gz", "a.parquet"]
)
def test_file_cut_at_every_tenth_byte(name: str, tmp_path: Path) -> None:
    source = tmp_path / "whole"
    source.mkdir()
    path, ends, traceless = make(source)[name]
    whole, expected = path.read_bytes(), read(path)
    assert len(expected.pages) == COUNT
    assert not expected.problems
    wanted = [(page.url, page.text, page.body) for page in expected.pages]
    cut = tmp_path / name
    for size in range(0, len(whole), 10):
        cut.write_bytes(whole[:size])
        contents = read(cut)
        found = [(page.url, page.text, page.body) for page in contents.pages]
        least = sum(end <= size for end in ends)
        assert found[:least] == wanted[:least]
        assert found == wanted[: len(found)]
        if name != "a.warc.gz":  # a record of which a few bytes of gzip's header are there, nobody sees
            assert bool(contents.problems) == (size not in traceless), size


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

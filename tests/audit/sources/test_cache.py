"""The HTTP cache of Scrapy: pages decoded, everything else left out, nothing unpickled."""

from __future__ import annotations

import os
import pickle
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.audit.sources.records import Unreadable
from scrapy_neardup.audit.sources.responses import parse_meta

from .archives import html, read


def check(contents: Any) -> None:
    bodies = {page.url.removeprefix("http://a.example"): page.body for page in contents.pages}
    latin = "<html>café</html>".encode("latin-1")
    assert bodies == {"/plain": html(1), "/gzip": html(2), "/brotli": html(3), "/latin": latin}
    reasons = Counter(skipped.reason for skipped in contents.skipped)
    assert reasons == {"redirect": 1, "error": 1, "not_html": 1, "robots": 1, "empty": 1}
    assert not contents.problems
    assert all(abs(page.fetched - time.time()) < 100 for page in contents.pages)


@pytest.mark.parametrize("compressed", [False, True])
def test_cache_as_scrapy_writes_it(compressed: bool, cached: Any) -> None:
    cache = cached(compressed)
    for path in (cache, cache / "visit", cache.parent):
        check(read(path))


class Payload:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("plain_meta", [True, False])
def test_pickles_are_not_executed(plain_meta: bool, cached: Any, tmp_path: Path) -> None:
    cache, marker = cached(), tmp_path / "executed"
    for name in ("pickled_meta", "response_data"):
        for path in cache.rglob(name):
            path.write_bytes(pickle.dumps(Payload(marker)))
    if plain_meta:
        check(read(cache))
    else:
        for path in cache.rglob("meta"):
            path.unlink()
        contents = read(cache)
        assert not contents.pages
        assert all(problem.reason == "meta is missing" for problem in contents.problems)
    assert not marker.exists()
    # The payload is no dud.
    pickle.loads(pickle.dumps(Payload(marker)))
    assert marker.exists()


def test_entry_that_a_kill_left_unfinished(cached: Any) -> None:
    cache = cached()
    pages = read(cache).pages
    page = next(page for page in pages if page.url.endswith("/plain"))
    entry = cache / page.origin.place
    (entry / "request_body").unlink()
    contents = read(cache)
    assert len(contents.pages) == len(pages) - 1
    (problem,) = contents.problems
    assert (problem.origin, "ended" in problem.reason) == (page.origin, True)
    (entry / "response_body").unlink()
    assert read(cache).problems[0].reason == "response_body is missing"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"__import__('os').mkdir('executed')", b"{'url': __import__('os')}",
        b"{'a': " * 3000 + b"1" + b"}" * 3000, b"(" * 60_000, b"{'status': " + b"-" * 60_000 + b"1}",
        b"{'status': 1" + b"0" * 60_000 + b"}", b"{'url': 'x" + b"\\" * 60_001, b"\xff",
    ],
)  # fmt: skip
def test_meta_is_a_flat_dictionary_or_refused(content: bytes) -> None:
    started = time.thread_time()
    with pytest.raises((Unreadable, ValueError)):
        parse_meta(content)
    assert time.thread_time() - started < 1


def test_meta_as_scrapy_writes_it() -> None:
    meta: dict[str, Any] = {"url": "http://a/'\"\\\n{é", "status": 200, "timestamp": 1714979289.1e-5}
    meta["response_url"] = 'it\'s "x"'
    assert parse_meta(repr(meta).encode()) == meta


@pytest.mark.parametrize("name", ["meta", "response_headers", "response_body"])
def test_pipes_in_a_cache_are_no_files(name: str, tmp_path: Path) -> None:
    entry = tmp_path / "spider" / "ab" / ("ab" * 20)
    entry.mkdir(parents=True)
    (entry / "meta").write_text("{'url': 'https://a.example/', 'status': 200}")
    for other in ("request_body", "response_headers", "response_body"):
        (entry / other).write_bytes(b"")
    (entry / name).unlink()
    os.mkfifo(entry / name)
    (problem,) = read(tmp_path).problems
    assert problem.reason == f"{name} is no regular file"

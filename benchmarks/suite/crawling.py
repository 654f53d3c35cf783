"""Crawls of real pages from another process: Scrapy alone, trafilatura in the callback, the plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import inputs
from .crawl import MAX_SECONDS, WARM
from .measuring import Finding, Form, Goal, interleave, timed

WAYS = {
    "bare": "Scrapy alone",
    "inline": "trafilatura in the callback",
    "segment": "plugin, segment (the default)",
    "trafilatura": "plugin, trafilatura",
    "resiliparse": "plugin, resiliparse",
}
EXTRACTORS = ("segment", "trafilatura", "resiliparse")
#: Pages of the short crawl, which shows what it takes to start.
FEW = 60


def measure(form: Form) -> Iterator[Finding]:
    pages = inputs.pages(form.data)[: form.pages]

    def one(way: str) -> dict[str, Any]:
        with serving(form, pages) as base:
            return crawl(form, base, way, len(pages))

    ways = interleave(form.repeats, {way: lambda way=way: one(way) for way in WAYS})

    def column(way: str, name: str) -> tuple[float, ...]:
        return tuple(each[name] for each in ways[way])

    rates = {way: column(way, "rate") for way in WAYS}
    mean = sum(map(len, pages)) / len(pages) / 1000
    note = f"{len(pages)} pages of {mean:.0f} kB on average, the first {WARM} not counted"
    for way, peer, goal in (
        ("inline", "bare", None),
        ("segment", "bare", None),
        ("resiliparse", "bare", Goal(0.9, ratio=True)),
        ("trafilatura", "inline", Goal(1.7, ratio=True)),
    ):
        yield Finding(WAYS[way], 0, "pages/s", rates[way], WAYS[peer], rates[peer], goal, note)
    for way in EXTRACTORS:
        if (judged := min(column(way, "judged"))) < len(pages) / 2:
            raise SystemExit(f"Of {len(pages)} pages only {judged} were judged with {way}.")
    for way in EXTRACTORS:
        own, bare = (tuple(1000 * each for each in column(name, "own")) for name in (way, "bare"))
        work = f"{WAYS[way]}: CPU of the crawl's own process a page"
        yield Finding(work, 0, "ms", own, WAYS["bare"], bare, note=note)
    work = "stall of the event loop, 99th percentile"
    bare, longest = column("bare", "stall"), max(column("bare", "collection"))
    for way in EXTRACTORS:
        note = f"longest of Python's full collections of garbage: {max(column(way, 'collection')):.0f} ms"
        note = f"{note}, in Scrapy alone {longest:.0f} ms"
        stall = column(way, "stall")
        yield Finding(f"{WAYS[way]}: {work}", 0, "ms", stall, WAYS["bare"], bare, Goal(20), note)
    yield Finding(f"{WAYS['inline']}: {work}", 0, "ms", column("inline", "stall"))
    yield starting(form)


def starting(form: Form) -> Finding:
    """Time whole processes that crawl a few short pages with an add-on and without."""
    pages = [f"<title>{text[:40]}</title><p>{text}</p>" for text in inputs.texts(form.data)[:FEW]]

    def one(way: str) -> float:
        with serving(form, pages) as base:
            return timed(lambda: crawl(form, base, way, len(pages)))

    times = interleave(form.repeats, {way: lambda way=way: one(way) for way in ("bare", "segment")})
    more = tuple(a - b for a, b in zip(times["segment"], times["bare"], strict=True))
    work = f"a process that crawls {FEW} short pages: more time with the plugin than Scrapy alone"
    return Finding(work, 0, "s", more, goal=Goal(0.3), note=f"Scrapy alone {min(times['bare']):.2f} s")


def crawl(form: Form, base: str, way: str, pages: int) -> dict[str, Any]:
    """Crawl once, with a new index; return what `suite.crawl` prints."""
    new = form.folder / "crawl-index"
    shutil.rmtree(new, ignore_errors=True)
    command = [sys.executable, "-m", "suite.crawl", base, way, str(pages), str(new)]
    options = {"capture_output": True, "text": True, "timeout": MAX_SECONDS + 60}
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=False, **options)
    shutil.rmtree(new, ignore_errors=True)
    if done.returncode:
        raise SystemExit(f"The crawl {way!r} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def serving(form: Form, pages: list[str]) -> Iterator[str]:
    """Serve *pages* from another process."""
    file = form.folder / "pages.jsonl"
    file.write_text("".join(json.dumps(page) + "\n" for page in pages), "utf-8")
    command = [sys.executable, "-m", "suite.site", os.fspath(file), str(MAX_SECONDS + 60)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"  # type: ignore[union-attr]
        finally:
            server.communicate(timeout=30)

"""Crawls of real pages from another process: Scrapy alone, trafilatura in the callback, the plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.extraction.loading import load_extractor
from scrapy_neardup.processors import processors

from . import inputs
from .crawl import MAX_SECONDS, WARM
from .measuring import Finding, Goal, interleave

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measuring import Form

#: Scrapy makes so many tasks for each page, by default 100, to have its items go through pipelines at once.
ITEMS = 10
WAYS = {
    "bare": "Scrapy alone",
    "inline": "trafilatura in the callback",
    "segment": "plugin, segment (the default)",
    "trafilatura": "plugin, trafilatura",
    "resiliparse": "plugin, resiliparse",
    f"bare/{ITEMS}": f"Scrapy alone, CONCURRENT_ITEMS {ITEMS}",
    f"resiliparse/{ITEMS}": f"plugin, resiliparse, CONCURRENT_ITEMS {ITEMS}",
}
EXTRACTORS = ("segment", "trafilatura", "resiliparse")
#: Small pages, of which one crawl takes many: bytes.
SMALL = 60_000
#: MB that 10,000 more pages may add, once what is remembered of pages has reached its bound.
STEADY = 10.0


def measure(form: Form) -> Iterator[Finding]:
    pages = inputs.pages(form.data)[: form.pages]
    ways: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    servers: dict[str, list[float]] = {way: [] for way in WAYS}

    def one(way: str) -> float:
        cpu: list[float] = []
        with serving(form, pages, cpu) as base:
            ways[way].append(crawl(form, base, way, len(pages), 1))
        servers[way].append(cpu[0] / len(pages))
        return 0.0

    fewer_items = [way for way in WAYS if way.endswith(f"/{ITEMS}") and not form.quick]
    measured = [way for way in WAYS if "/" not in way] + fewer_items
    interleave(form.repeats, {way: lambda way=way: one(way) for way in measured})

    def column(way: str, name: str) -> tuple[float, ...]:
        return tuple(each[name] for each in ways[way])

    rates = {way: column(way, "rate") for way in measured}
    mean = sum(map(len, pages)) / len(pages) / 1000
    note = f"{len(pages)} pages of {mean:.0f} kB on average, the first {WARM} not counted"
    yield Finding(WAYS["inline"], 0, "pages/s", rates["inline"], WAYS["bare"], rates["bare"], note=note)
    for way, goal in (("segment", None), ("resiliparse", Goal(0.9, ratio=True))):
        yield Finding(WAYS[way], 0, "pages/s", rates[way], WAYS["bare"], rates["bare"], goal, note)
    for way in fewer_items:
        yield Finding(WAYS[way], 0, "pages/s", rates[way], WAYS["bare"], rates["bare"], note=note)
    yield Finding(
        WAYS["trafilatura"],
        0,
        "pages/s",
        rates["trafilatura"],
        WAYS["inline"],
        rates["inline"],
        Goal(1.7, ratio=True),
        note,
    )
    for way in EXTRACTORS:
        if min(column(way, "judged")) < len(pages) / 2:
            raise SystemExit(
                f"Of {len(pages)} pages only {min(column(way, 'judged'))} were judged with {way}."
            )
    cores = processors()
    for way in EXTRACTORS:
        bare, server = np.array(column("bare", "cpu")), servers[way]
        if way == "trafilatura":
            extraction = np.array(column("inline", "cpu")) - bare
        else:
            extraction = extraction_alone(form, pages, way)
        total = bare + extraction + server
        together = np.array(column(way, "cpu")) + server
        bound = tuple(np.minimum(cores / total, 1 / bare).tolist())
        parts = (
            f"Scrapy {np.median(bare) * 1000:.1f}, extraction {np.median(extraction) * 1000:.1f}, server "
            f"{np.median(server) * 1000:.1f} ms CPU a page, each alone; all at once "
            f"{np.median(together) * 1000:.1f} ms on {cores} cores"
        )
        goal = Goal(0.95, ratio=True) if way == "trafilatura" else None
        yield Finding(WAYS[way], 0, "pages/s", rates[way], "what the cores allow", bound, goal, parts)
    for way in EXTRACTORS:
        stalls, bare = column(way, "stall"), column("bare", "stall")
        longest = [max(column(each, "collection")) for each in (way, "bare")]
        note = (
            f"longest of Python's full collections of garbage: {longest[0]:.0f} ms, in Scrapy alone "
            f"{longest[1]:.0f} ms"
        )
        yield Finding(
            f"{WAYS[way]}: stall of the event loop, 99th percentile",
            0,
            "ms",
            stalls,
            "Scrapy alone",
            bare,
            Goal(20),
            note,
        )
    yield Finding(
        f"{WAYS['inline']}: stall of the event loop, 99th percentile", 0, "ms", column("inline", "stall")
    )
    if form.steady:
        yield steady(form)


def extraction_alone(form: Form, pages: list[str], extractor: str) -> Any:
    """Seconds of CPU a page, in this process."""
    extract, start = load_extractor(extractor), time.process_time()
    for page in pages[:100]:
        extract(page, None)
    return np.full(form.repeats, (time.process_time() - start) / len(pages[:100]))


def steady(form: Form) -> Finding:
    """Watch the memory of the crawl's process over many small pages."""
    pages = sorted(inputs.pages(form.data), key=len)
    pages = [page for page in pages if len(page) <= SMALL][-200:]
    variants = min(inputs.VARIANTS, -(-form.steady // len(pages)))
    with serving(form, pages, []) as base:
        found = crawl(form, base, "resiliparse", len(pages), variants)
    seen, memory = np.array(found["memory"]).T
    half = seen >= seen[-1] / 2
    slope = float(np.polyfit(seen[half], memory[half], 1)[0]) * 10_000
    note = (
        f"{int(seen[-1]):,} pages of at most {SMALL // 1000} kB, {found['unique']:,} unique; {memory[0]:.0f} "
        f"MB after {int(seen[0])}, "
        f"{memory[half][0]:.0f} half-way, {memory[-1]:.0f} at the end; slope of the second half"
    )
    return Finding(
        "memory of the crawl's process, growth over 10,000 pages",
        int(seen[-1]),
        "MB",
        (slope,),
        goal=Goal(STEADY),
        note=note,
    )


def crawl(
    form: Form,
    base: str,
    way: str,
    pages: int,
    variants: int,
    index: Path | None = None,
    first: int | None = None,
) -> dict[str, Any]:
    """Crawl once, with a new index unless there is an *index*; return what `suite.crawl` prints."""
    new = form.folder / "crawl-index"
    shutil.rmtree(new, ignore_errors=True)
    command = [sys.executable, "-m", "suite.crawl", base, way, str(pages), str(variants), str(index or new)]
    command += [] if first is None else [str(first)]
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS + 60,
        check=False,
    )
    shutil.rmtree(new, ignore_errors=True)
    if done.returncode:
        raise SystemExit(f"The crawl {way!r} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def serving(form: Form, pages: list[str], cpu: list[float]) -> Iterator[str]:
    """Serve *pages* from another process; its seconds of CPU are appended to *cpu*."""
    file = form.folder / "pages.jsonl"
    file.write_text("".join(json.dumps(page) + "\n" for page in pages), "utf-8")
    command = [sys.executable, "-m", "suite.site", os.fspath(file), str(MAX_SECONDS + 60)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"  # type: ignore[union-attr]
        finally:
            output, _ = server.communicate(timeout=30)
    cpu.append(float(output.split()[-1]))

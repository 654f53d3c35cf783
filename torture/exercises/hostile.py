"""Hostile pages and texts, through a crawl, items and an audit."""

from __future__ import annotations

import json
import os
import random
import subprocess
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tests.helpers.processes import COMMAND
from torture.articles import LANGUAGES, article, page_of, real_pages
from torture.crawling import Answer, Crawled, crawl
from torture.exercise import Exercise, Round
from torture.hostile_pages import hostile_pages

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.http import Response

#: Hostile pages of a round, and ordinary ones between them.
PAGES, ORDINARY = 44, 12
#: Seconds that a page may take, and how much longer it may be on its way.
LIMIT, GRACE = 2.0, 1.0
#: A machine on which so many processes a processor want to run shows nothing about waits.
BUSY = 2
#: Ordinary pages that come first, and wait for the workers to start.
WARM = 4
#: Seconds that the package may hold the event loop.
HELD = 0.05
#: Seconds that one call of the event loop may last, with what other threads and processes take meanwhile. A
#: function written in C that runs for long in any thread stops the loop, too, which is idle then.
LASTED = 2.0
#: Which pages may fail because Scrapy cannot unpack them, or will not.
UNPACKED_BY_SCRAPY = ("https://compressed-",)
#: Characters of the text of an item.
ITEM = 300_000
#: Seconds that an audit may take for all the pages.
COMMAND_SECONDS = 150.0


def run(seed: int, folder: Path) -> Round:
    dice = random.Random(seed)
    extractors = ["segment", "trafilatura", *(["resiliparse"] if find_spec("resiliparse") else [])]
    extractor = extractors[seed % len(extractors)]
    hostile = {f"https://{name}.example/": answer for name, answer in hostile_pages(seed, PAGES).items()}
    ordinary = _ordinary(dice)
    pages = {**hostile, **ordinary}
    urls = list(pages)
    dice.shuffle(urls)
    urls = [*list(ordinary)[:WARM], *(url for url in urls if url not in list(ordinary)[:WARM])]
    outcome = Round()
    settings = {
        "NEARDUP_DIR": str(folder / "index"),
        "NEARDUP_EXTRACTOR": extractor,
        "NEARDUP_EXTRACT_TIMEOUT": LIMIT,
        "NEARDUP_EXTRACT_MEMORY": "400M",
        "NEARDUP_REPORT": str(folder / "report.jsonl"),
        "DOWNLOAD_MAXSIZE": 20_000_000,
        # As many as there are workers: then how long a page is on its way is its own doing.
        "CONCURRENT_REQUESTS": 2,
    }
    crawled = crawl(urls, pages.__getitem__, settings)
    _judge(outcome, crawled, urls, list(ordinary), f"{extractor}: ")
    late = [
        f"{extractor}: {url} took {wait:.1f} s at a limit of {LIMIT:.0f}"
        for url, wait in crawled.waits.items()
        if wait > LIMIT + GRACE + _held(crawled) and url not in urls[:WARM]
    ]
    if os.getloadavg()[0] < BUSY * (os.cpu_count() or 1):
        outcome.violations += late
    else:
        outcome.remarks += [f"on a busy machine, so that it shows nothing, {line}" for line in late]
    report = folder / "report.jsonl"
    for line in report.read_text("utf-8").splitlines() if report.exists() else ():
        json.loads(line)
    outcome.counts["hostile pages crawled"] += len(hostile)

    answers = crawl(urls, pages.__getitem__, {**ITEMS, "DOWNLOAD_MAXSIZE": 20_000_000}, item=_item)
    _judge(outcome, answers, urls, list(ordinary), "items: ")
    outcome.counts["hostile items"] += len(hostile)
    _audit(outcome, folder, pages)
    return outcome


ITEMS: dict[str, Any] = {
    "NEARDUP_ITEM_FIELDS": ["title", "text"],
    "NEARDUP_RULES": [{"url": "", "policy": False}],
    "NEARDUP_POLICY": "drop_items",
    "NEARDUP_WORKERS": 1,
    "CONCURRENT_REQUESTS": 8,
}


def _item(response: Response) -> dict[str, Any]:
    text = response.body[:ITEM].decode("utf-8", "surrogateescape")
    return {"url": response.url, "title": text[:200], "text": text}


def _ordinary(dice: random.Random) -> dict[str, Answer]:
    real = real_pages()
    pages = [
        page_of(*article(dice, dice.choice(LANGUAGES)))
        for _ in range(ORDINARY if not real else ORDINARY // 2)
    ]
    pages += dice.sample(real, min(len(real), ORDINARY - len(pages)))
    return {
        f"https://ordinary{number}.example/story": Answer(html.encode()) for number, html in enumerate(pages)
    }


def _held(crawled: Crawled) -> float:
    """Return for how long the event loop was kept, at most, from noticing that a page was done."""
    return max((hold.lasted for hold in crawled.loop.holds), default=0.0)


def _judge(outcome: Round, crawled: Crawled, urls: list[str], ordinary: list[str], what: str) -> None:
    """Add what is wrong with a crawl."""
    for url in crawled.lost(urls):
        outcome.violations.append(f"{what}{url} was lost")
    for url, error in crawled.failed.items():
        if not url.startswith(UNPACKED_BY_SCRAPY):
            outcome.violations.append(f"{what}{url} failed: {error}")
    for url in crawled.dropped(ordinary):
        outcome.violations.append(f"{what}{url}, an ordinary page, repeats {crawled.matches.get(url)}")
    for hold in crawled.loop.held_by_package(HELD):
        outcome.violations.append(f"{what}the event loop was held {hold.busy * 1000:.0f} ms by {hold.where}")
    stop = _held(crawled)
    if stop > LASTED:
        outcome.violations.append(f"{what}one call of the event loop lasted {stop:.1f} s")
    mine = {name: count for name, count in crawled.errors.items() if "/extract/" not in name}
    if mine:
        outcome.violations.append(f"{what}the package counts {mine}")
    outcome.counts["pages over a limit, passed unjudged"] += sum(crawled.errors.values())


def _audit(outcome: Round, folder: Path, pages: dict[str, Answer]) -> None:
    """Audit all pages by the command; note if it crashes or hangs."""
    files = folder / "files" / "www.hostile.example"
    files.mkdir(parents=True)
    for number, answer in enumerate(pages.values()):
        (files / f"{number}.html").write_bytes(answer.body)
    command = [*COMMAND, "audit", str(files.parent), "--out", str(folder / "audit"), "--json"]
    command += ["--set", f"NEARDUP_EXTRACT_TIMEOUT={LIMIT}"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        outcome.violations.append(f"audit hung for {COMMAND_SECONDS:.0f} s")
        return
    errors = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, 3) or "Traceback" in errors:
        outcome.violations.append(f"audit ended with {done.returncode}: {errors[-300:]}")
    else:
        json.loads(done.stdout)
    outcome.counts["hostile files audited"] += len(pages)


EXERCISE = Exercise(
    name="hostile",
    promise="A page that hangs, kills, bloats or confuses what reads it reaches its callback within the "
    "limit and a second, its items are kept, and the package holds the event loop for no longer than 50 ms.",
    how="Pages by 38 makers with parameters drawn by chance, ordinary ones between them, through a crawl "
    "with each extractor in turn, as items, and through `audit`.",
    run=run,
    seconds=45,
    share=1.5,
)

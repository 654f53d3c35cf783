"""Long crawls of short pages: what the crawl's process takes has to stay as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.matching.records import entries
from tests.plugin.conftest import words
from torture.crawling import Answer, PagesSpider, crawl
from torture.exercise import Exercise, Round
from torture.gauges import Gauge, gauge, slope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

#: Pages of a round, and of every eighth one; documents that the index has before.
PAGES, MANY, EVERY, STORED = 2400, 15_600, 8, 200_000
#: Words of a page.
WORDS = 60
#: How often memory is measured, and how many of the first measurements do not count. The results of the last
#: 10,000 extractions are kept: long rounds are measured once there are so many, short ones end before.
GAUGES, WARM, WARM_OF_MANY = 24, 8, 17
#: Bytes that a page may add. Scrapy and this exercise keep something of each.
A_PAGE, A_PAGE_OF_MANY = 8000, 2500
#: By how many files and threads a crawl may vary.
FILES, THREADS = 4, 3


def run(seed: int, folder: Path) -> Round:
    outcome = Round()
    count = MANY if seed % EVERY == 0 else PAGES
    _fill(folder / "index", seed)
    revisits = seed % 3 == 0
    kept = 200 if revisits else count
    urls = [f"https://s{number % 53}.example/{number % kept}" for number in range(count)]
    gauges, crawled = _soak(urls, folder, seed)
    checked, errors = crawled["checked"], crawled.errors
    if checked != count or errors:
        outcome.violations.append(f"{checked} of {count} pages were judged, errors: {errors}")
    lost = [url for url in set(urls) if not crawled.stored[url]]
    outcome.violations += [f"{url} was lost" for url in lost[:5]]
    first, most = (WARM_OF_MANY, A_PAGE_OF_MANY) if count == MANY else (WARM, A_PAGE)
    warm = gauges[first:]
    grown = slope(warm)
    thirds = np.array_split(np.array(crawled.loop.lasted[warm[0].calls :]), 3)
    tails = [float(np.percentile(third, 99)) * 1000 for third in thirds if len(third)]
    said = (
        f"{'revisits' if revisits else 'pages'}: {grown * 10_000 / 1e6:.1f} MB for each 10,000 of {count}, "
        f"{warm[-1].memory / 1e6:.0f} MB, {warm[-1].files} files, {warm[-1].threads} threads, "
        f"99 % of calls by the event loop within {', '.join(f'{each:.1f}' for each in tails)} ms by thirds"
    )
    print(said)
    if grown > most:
        outcome.violations.append(f"memory grows: {said}")
    for name, least in (("files", FILES), ("threads", THREADS)):
        seen = [getattr(each, name) for each in warm]
        if max(seen) - min(seen) > least:
            outcome.violations.append(f"from {min(seen)} to {max(seen)} {name}: {said}")
    if tails[-1] > 3 * max(tails[0], 5.0):
        outcome.violations.append(f"the event loop slows down: {said}")
    outcome.counts["revisits" if revisits else "pages"] += count
    outcome.counts["documents in the index before"] += STORED
    return outcome


def _soak(urls: list[str], folder: Path, seed: int) -> tuple[list[Gauge], Any]:
    gauges: list[Gauge] = []
    every = len(urls) // GAUGES
    done = 0

    class Gauged(PagesSpider):
        def parse(self, response: Response) -> Iterator[Any]:
            nonlocal done
            done += 1
            if done % every == 0:
                gauges.append(gauge(done, len(self.crawled.loop.lasted)))
            # What `PagesSpider` notes of each page would grow.
            yield {"url": response.url}

    def answer(url: str) -> Answer:
        return Answer(f"<title>{url}</title><p>{words(mmh3.hash(url, seed), WORDS)}</p>".encode())

    settings = {
        "NEARDUP_DIR": str(folder / "index"),
        "NEARDUP_EXTRACTOR": "plain",
        "NEARDUP_WORKERS": 1,
        "CONCURRENT_REQUESTS": 16,
    }
    crawled = crawl(urls, answer, settings, spider=Gauged)
    return gauges, crawled


def _fill(path: Path, seed: int) -> None:
    """Make an index of documents that are like no page, but lie everywhere."""
    dice = np.random.default_rng(seed)
    with Detector.open(path, extractor=load_extractor("plain").identity) as detector:
        one = entries([detector.signature(words(1))], ["https://old.example/"], detector.index.header)
        for start in range(0, STORED, 20_000):
            keys = dice.integers(0, 2**63, (len(one.keys), 20_000), np.uint64) * np.uint64(2)
            records = np.repeat(one.records, 20_000)
            records["digest"] = dice.integers(0, 2**63, 20_000, np.uint64)
            records["sketch"] = dice.integers(0, 256, records["sketch"].shape, np.uint8)
            records["time"] = 0xFFFFFFFF
            urls = [f"https://old{number % 977}.example/{start + number}" for number in range(20_000)]
            detector.index.add(Documents(keys, records, urls))


EXERCISE = Exercise(
    name="soak",
    promise="What a crawl takes does not grow with its length: memory, open files, threads, turns of the "
    "event loop.",
    how="Crawls of short pages, or of revisits alone, into an index that is large already; every eighth is "
    "longer. Memory is what is left after garbage was collected, less files that are mapped.",
    goals={"pages": 1_000_000, "revisits": 500_000},
    run=run,
    seconds=90,
    share=1.5,
)

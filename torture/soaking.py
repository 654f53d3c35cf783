"""One long crawl of short pages into an index that is large already, measured while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mmh3
import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.matching.records import entries
from tests.plugin.conftest import words
from torture.crawling import Answer, PagesSpider, crawl
from torture.exercise import Round
from torture.gauges import Gauge, gauge, slope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

    from torture.crawling import Crawled

#: Words of a page.
WORDS = 60
#: Pages that are crawled again and again where a crawl is of revisits.
KEPT = 200
#: How often memory is measured.
GAUGES = 24
#: By how many files and threads a crawl may vary.
FILES, THREADS = 4, 3
#: Documents that are put into the index at a time.
BATCH = 20_000


class Soak(NamedTuple):
    """What is crawled, and what a crawl may take."""

    pages: int
    #: Documents that the index has before.
    stored: int
    #: Whether it is of the same pages again and again.
    revisits: bool
    #: How many of the first measurements do not count. The results of the last 10,000 extractions are kept:
    #: a crawl is measured once there are so many, or ends before.
    warm: int
    #: Bytes that a page may add. Scrapy and this exercise keep something of each.
    a_page: int

    @property
    def what(self) -> str:
        return "revisits" if self.revisits else "pages"


def soak(asked: Soak, seed: int, folder: Path) -> Round:
    """Crawl what is *asked* into an index in *folder*; return what was counted, and which promises broke."""
    outcome = Round()
    _fill(folder / "index", asked.stored, seed)
    kept = KEPT if asked.revisits else asked.pages
    urls = [f"https://s{number % 53}.example/{number % kept}" for number in range(asked.pages)]
    gauges, crawled = _crawl(urls, folder, seed)
    checked, errors = crawled["checked"], crawled.errors
    if checked != asked.pages or errors:
        outcome.violations.append(f"{checked} of {asked.pages} pages were judged, errors: {errors}")
    lost = [url for url in set(urls) if not crawled.stored[url]]
    outcome.violations += [f"{url} was lost" for url in lost[:5]]
    outcome.violations += _grown(asked, gauges[asked.warm :], np.array(crawled.loop.lasted))
    outcome.counts[asked.what] += asked.pages
    outcome.counts["documents in the index before"] += asked.stored
    return outcome


def _grown(asked: Soak, gauges: list[Gauge], lasted: np.ndarray) -> Iterator[str]:
    """Say what has grown between *gauges*. *lasted* (float64[n]) is how long each call by the loop took."""
    thirds = np.array_split(lasted[gauges[0].calls :], 3)
    tails = [float(np.percentile(third, 99)) * 1000 for third in thirds if len(third)]
    grown = slope(gauges)
    said = (
        f"{asked.what}: {grown * 10_000 / 1e6:.1f} MB for each 10,000 of {asked.pages}, "
        f"{gauges[-1].memory / 1e6:.0f} MB, {gauges[-1].files} files, {gauges[-1].threads} threads, "
        f"99 % of calls by the event loop within {', '.join(f'{each:.1f}' for each in tails)} ms by thirds"
    )
    print(said)
    if grown > asked.a_page:
        yield f"memory grows: {said}"
    for name, least in (("files", FILES), ("threads", THREADS)):
        seen = [getattr(each, name) for each in gauges]
        if max(seen) - min(seen) > least:
            yield f"from {min(seen)} to {max(seen)} {name}: {said}"
    if tails[-1] > 3 * max(tails[0], 5.0):
        yield f"the event loop slows down: {said}"


def _crawl(urls: list[str], folder: Path, seed: int) -> tuple[list[Gauge], Crawled]:
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


def _fill(path: Path, stored: int, seed: int) -> None:
    """Make an index of documents that are like no page, but lie everywhere."""
    dice = np.random.default_rng(seed)
    with Detector.open(path, extractor=load_extractor("plain").identity) as detector:
        one = entries([detector.signature(words(1))], ["https://old.example/"], detector.index.header)
        for start in range(0, stored, BATCH):
            keys = dice.integers(0, 2**63, (len(one.keys), BATCH), np.uint64) * np.uint64(2)
            records = np.repeat(one.records, BATCH)
            records["digest"] = dice.integers(0, 2**63, BATCH, np.uint64)
            records["sketch"] = dice.integers(0, 256, records["sketch"].shape, np.uint8)
            records["time"] = 0xFFFFFFFF
            urls = [f"https://old{number % 977}.example/{start + number}" for number in range(BATCH)]
            detector.index.add(Documents(keys, records, urls, [b""] * len(urls)))

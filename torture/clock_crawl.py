"""A crawl under a clock that leaps: python -m torture.clock_crawl INDEX OUT SEED LEAPS [--here].

LEAPS is JSON: pairs of seconds since the start, and how many seconds the clock is off from then on. With
--here the clock of Python is replaced; without, it is up to libfaketime.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import time
from pathlib import Path

#: Stories, each of which is on two pages.
STORIES = 40


def leap_here(leaps: list[tuple[float, float]]) -> None:
    """Have ``time.time`` leap."""
    wall, steady = time.time, time.monotonic
    began = steady()

    def leaping() -> float:
        gone = steady() - began
        return wall() + max((leap for leap in leaps if leap[0] <= gone), default=(0.0, 0.0))[1]

    time.time = leaping


def main() -> None:
    faulthandler.enable()
    index, out, seed, leaps, *here = sys.argv[1:]
    if here:
        leap_here([(at, by) for at, by in json.loads(leaps)])
    # What reads the clock is imported after it was replaced.
    import random

    from tests.promises.site import page
    from torture.crawling import Answer, crawl

    def answer(url: str) -> Answer:
        template, number = url.rsplit("/", 2)[1:]
        return Answer(page(int(number), template))

    urls = [f"https://{letter}.example/{letter}/{number}" for number in range(STORIES) for letter in "ab"]
    random.Random(int(seed)).shuffle(urls)
    settings = {
        "NEARDUP_DIR": index,
        "NEARDUP_WINDOW": 30,
        "NEARDUP_EXTRACTOR": "plain",
        "NEARDUP_WORKERS": 1,
        "NEARDUP_PENDING_TIMEOUT": 10,
        "DOWNLOAD_DELAY": 0.01,
        "CONCURRENT_REQUESTS": 4,
    }
    crawled = crawl(urls, answer, settings)
    found = {
        "lost": crawled.lost(urls),
        "stored": list(crawled.stored),
        "matches": crawled.matches,
        "errors": crawled.errors,
    }
    Path(out).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()

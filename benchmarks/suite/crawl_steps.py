"""Crawl once as `suite.crawl` does, with some of the plugin left out, or with its steps timed.

    python -m suite.crawl_steps FORM BASE WAY PAGES VARIANTS INDEX FIRST

FORM is one of `FORMS`. In the form "steps" a line before the last one has the seconds of CPU a page that each
of `STEPS` takes in the event loop's thread, as JSON; those of the steps within it are part of that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from functools import wraps
from typing import TYPE_CHECKING, Any

from scrapy_neardup.matching.inquiry import Inquiry
from scrapy_neardup.plugin.admission import PageAdmission

from scrapy_neardup import judging
from scrapy_neardup.detector import Detector
from scrapy_neardup.extraction.loading import load_extractor
from scrapy_neardup.extraction.workers import Workers
from scrapy_neardup.index.lmdb.memtable import Contents
from scrapy_neardup.index.memory import LocalIndex
from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.judging import Judge
from scrapy_neardup.matching import inquiry
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.plugin.downloader import NearDupDownloaderMiddleware
from scrapy_neardup.plugin.settlement import ReservationTracker
from scrapy_neardup.verdict import Verdict

from . import crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

#: What runs in each form, beside Scrapy.
FORMS = {
    "bare": "nothing",
    "hooks": "the middlewares alone: no page is examined",
    "handed": "pages go to the workers, and nothing is done with the answers",
    "unjudged": "each page is new, without a look at the index",
    "all": "all",
    "steps": "all, timed",
}
#: Steps of a page, each with the function that does it; those that are indented are part of the one above.
STEPS: tuple[tuple[str, object, str], ...] = (
    ("handing over to a worker", Workers, "submit"),
    ("before the callback", PageAdmission, "admit"),
    ("  judging", Detector, "reserve"),
    ("    record and keys", judging, "entries"),
    ("    what others have committed", Contents, "catch_up"),
    ("    lookups, records of candidates", LocalIndex, "_find"),
    ("    comparing with candidates", Matcher, "candidates"),
    ("    decision", inquiry, "decide"),
    ("    how it is filed", Inquiry, "filing"),
    ("    filing", LocalIndex, "_file"),
    ("which pages are over", ReservationTracker, "_call_done"),
    ("confirming", ReservationTracker, "confirm_stored"),
)


class Nothing:
    """Extracts nothing, in no time: what is left is the handing over."""

    identity = load_extractor("resiliparse").identity

    def __call__(self, html: str, url: str | None) -> str:
        return ""


class StepSums:
    """Seconds of CPU of each step, in the thread that does it, the event loop's."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        for name, owner, function in STEPS:
            setattr(owner, function, self._timed(name, getattr(owner, function)))

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] += time.thread_time() - start

        return timed


class StepsSpider(crawl.PagesSpider):
    """Prints the sums of the steps, less those of the first pages."""

    sums: StepSums

    def count(self) -> None:
        super().count()
        if self.seen == crawl.WARM:
            self.sums.seconds.clear()
        elif self.seen == len(self.urls):
            counted = len(self.urls) - crawl.WARM
            print(json.dumps({name: self.sums.seconds[name] / counted for name, *_ in STEPS}), flush=True)


def leave_out(form: str) -> None:
    """Replace what does not run in this form."""
    examine = NearDupDownloaderMiddleware._examine

    async def skip(self: NearDupDownloaderMiddleware, request: Request, response: Response) -> str:
        if form == "handed":
            await examine(self, request, response)
        return "skipped/left_out"

    def unjudged(self: Judge, signature: object, url: str, scope: str, **options: object) -> Verdict:
        return Verdict("unique", reservation=Reservation(url, lambda reservation: None))

    if form in ("hooks", "handed"):
        NearDupDownloaderMiddleware._examine = skip  # type: ignore[method-assign, assignment]
    elif form == "unjudged":
        Judge.judge = unjudged  # type: ignore[method-assign, assignment]
    elif form == "steps":
        StepsSpider.sums = StepSums()
        crawl.PagesSpider = StepsSpider  # type: ignore[misc]


if __name__ == "__main__":
    leave_out(sys.argv.pop(1))
    crawl.main()
    sys.stdout.flush()
    os._exit(0)

"""Opening the index of a crawl, and closing those of crawls that have failed before they began.

Scrapy makes the extensions first. If another component cannot be made then, no extension is told that the
crawl has failed. A process that runs one crawl after another would keep each of these indexes open, and none
of them could be emptied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.detector import Detector

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .events import EventReporter
    from .settings import CrawlOptions

#: The crawls that have opened an index and have not begun, each with its detector.
_opened: dict[Crawler, Detector] = {}


def open_detector(
    crawler: Crawler, config: CrawlOptions, reporter: EventReporter, extractor: str
) -> Detector:
    """Open the index that *config* names, for texts of the *extractor* of that identity.

    Raises what `Detector.open` does.
    """
    with reporter.fails_open("close", "the index of a crawl that has not begun"):
        for failed in [each for each in _opened if not each.crawling]:
            _opened.pop(failed).close()
    detector = Detector.open(
        config.store or config.dir,
        scheme=config.scheme,
        distance=config.distance,
        tables=config.tables,
        threshold=config.threshold,
        verified=config.verified,
        features=config.features,
        min_tokens=config.min_tokens,
        window=config.window,
        extractor=extractor,
        reset=config.reset,
    )
    if crawler.crawling:  # else it is none of Scrapy's crawls, so nobody says when it fails
        _opened[crawler] = detector
    return detector


def note_begun(crawler: Crawler) -> None:
    """Note that *crawler* has begun: it closes its index when it ends."""
    _opened.pop(crawler, None)

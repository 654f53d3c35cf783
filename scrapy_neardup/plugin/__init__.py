"""The plugin for Scrapy: all code of this project that imports Scrapy is here.

`scrapy_neardup.Addon` switches on four components of a crawler. The extension owns what they share: settings,
index, worker processes. The downloader middleware has the main text of each page extracted and fingerprinted,
the spider middleware has it judged, see `page.CrawledPage`. The pipeline compares the texts of items.
"""

from __future__ import annotations

from .extension import NearDupExtension
from .marks import NearDuplicateItem, NearDuplicatePage
from .middlewares import NearDupDownloaderMiddleware, NearDupSpiderMiddleware
from .pipeline import NearDupPipeline

__all__ = [
    "NearDupDownloaderMiddleware",
    "NearDupExtension",
    "NearDupPipeline",
    "NearDupSpiderMiddleware",
    "NearDuplicateItem",
    "NearDuplicatePage",
]

"""The plugin for Scrapy: all code of this project that imports Scrapy is here.

The extension owns what the components share, the downloader middleware has pages extracted and signed, the
spider middleware has them judged, see `page.CrawledPage`. The pipeline compares the texts of items.
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

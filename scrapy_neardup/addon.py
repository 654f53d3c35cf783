"""The one line of settings: ``ADDONS = {"scrapy_neardup.Addon": 700}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plugin.downloader import NearDupDownloaderMiddleware
from .plugin.extension import NearDup
from .plugin.pipeline import NearDupPipeline
from .plugin.spider import NearDupSpiderMiddleware

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Puts the components in place, each where the settings do not already name it.

    Sets no other setting, so its own priority among the add-ons does not matter.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        put = settings.setdefault_in_component_priority_dict
        put("EXTENSIONS", NearDup, 0)
        # Below retry, redirect and decompression: only final, readable responses. Above scrapy-poet (543).
        put("DOWNLOADER_MIDDLEWARES", NearDupDownloaderMiddleware, 545)
        # Next to HttpErrorMiddleware (50): error pages never arrive, and the items seen are the final ones.
        put("SPIDER_MIDDLEWARES", NearDupSpiderMiddleware, 60)
        # After cleaning and validation, before the pipelines that store.
        put("ITEM_PIPELINES", NearDupPipeline, 750)

"""The Scrapy add-on: ``ADDONS = {"scrapy_neardup.Addon": 700}`` in the settings switches everything on."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from .plugin import NearDupDownloaderMiddleware, NearDupExtension, NearDupPipeline, NearDupSpiderMiddleware


class Addon:
    """Puts the four components in place, except those that the settings already name."""

    def update_settings(self, settings: BaseSettings) -> None:
        put = settings.setdefault_in_component_priority_dict
        put("EXTENSIONS", NearDupExtension, 0)
        # Below retry (550), decompression (590) and redirect (600), so that it meets only final, readable
        # responses. Above scrapy-poet (543).
        put("DOWNLOADER_MIDDLEWARES", NearDupDownloaderMiddleware, 545)
        # Behind HttpErrorMiddleware (50), so that error pages never arrive. Few middlewares are nearer to the
        # engine, so that it sees the items as they leave the spider.
        put("SPIDER_MIDDLEWARES", NearDupSpiderMiddleware, 60)
        # After the pipelines that clean and validate, before those that store.
        put("ITEM_PIPELINES", NearDupPipeline, 750)

"""The add-on puts each component where docs/scrapy.md says, and leaves those that the user has placed."""

from __future__ import annotations

import re
from pathlib import Path

from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_neardup.addon import Addon
from scrapy_neardup.plugin import NearDupDownloaderMiddleware, NearDupExtension

DOCS = Path(__file__).parents[2] / "docs" / "scrapy.md"


def test_components_and_orders_are_those_of_the_docs():
    rows = re.findall(
        r"^\| `(\w+)` \| `(scrapy_neardup\.[\w.]+)` \| (\d+) \|", DOCS.read_text(), re.MULTILINE
    )
    assert len(rows) == 4
    settings = Settings()
    before = {name: dict(settings[name]) for name, _, _ in rows}
    Addon().update_settings(settings)
    for name, path, order in rows:
        assert dict(settings[name]) == {**before[name], load_object(path): int(order)}


def test_addon_puts_components_and_leaves_those_of_the_user():
    settings = Settings(
        {"DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: 800}, "EXTENSIONS": {NearDupExtension: None}}
    )
    Addon().update_settings(settings)
    assert dict(settings["DOWNLOADER_MIDDLEWARES"]) == {NearDupDownloaderMiddleware: 800}
    assert dict(settings["EXTENSIONS"]) == {NearDupExtension: None}
    assert list(settings["SPIDER_MIDDLEWARES"].values()) == [60]
    assert list(settings["ITEM_PIPELINES"].values()) == [750]


async def test_extension_that_the_user_disabled(site, crawl, pages):
    urls = [site.article("/a"), site.article("/b")]
    assert len((await crawl(pages, {"EXTENSIONS": {NearDupExtension: None}}, urls=urls)).items) == 2

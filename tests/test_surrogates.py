"""Text of any kind ends no process: code in C that is handed a lone surrogate in a str may crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_neardup.arguments import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("ä 😀\n", "ä 😀\n"), ("a\ud800b", "a\\ud800b"), ("\udc80\udcff", "\\udc80\\udcff")],
)
def test_surrogates_are_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.slow
def test_any_text_in_every_public_function(tmp_path: Path) -> None:
    script = Path(__file__).with_name("helpers") / "any_text.py"
    command = [sys.executable, "-X", "faulthandler", str(script), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


CRAWL = r"""
import sys
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

TEXT = " ".join(f"word{number}" for number in range(100))

class Copying:
    def process_item(self, item):
        return dict(item)  # so that the page it comes from is unknown, and its own URL says the scope

class Some(Spider):
    name = "some"

    async def start(self):
        yield Request(f"data:text/html,<p>{TEXT}</p>", meta={"neardup_scope": "\ud800"})

    def parse(self, response):
        for host in ("\udc80.example", "[\udcff]", "\ud800"):
            yield {"url": f"https://{host}/", "text": f"\udc80 {TEXT} \ud800"}

process = AsyncCrawlerProcess({
    "ADDONS": {"scrapy_neardup.Addon": 700}, "ITEM_PIPELINES": {Copying: 100}, "NEARDUP_EXTRACTOR": "plain",
    "NEARDUP_ITEM_FIELDS": ["text"], "NEARDUP_SCOPE": "host",
    "TWISTED_REACTOR_ENABLED": False,
})
crawler = process.create_crawler(Some)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
assert stats["neardup/unique"] == stats["neardup/confirmed"] == 1, stats
assert stats["neardup/item/unique"] == stats["item_scraped_count"] == 3, stats
"""


@pytest.mark.slow
def test_scopes_of_a_crawl(tmp_path: Path) -> None:
    """Of a page by its meta, and of items by their own URL."""
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", CRAWL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Logging error" not in ended.stderr

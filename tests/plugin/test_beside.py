"""What docs/beside.md shows works with the packages that it is about."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse

from scrapy_neardup import Detector
from tests.audit.output.conftest import SYSTEM
from tests.helpers.forked import scrapy

from .conftest import Site

PAGE = (Path(__file__).parents[2] / "docs" / "beside.md").read_text("utf-8")
BLOCKS = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
ADDON = {"scrapy_neardup.Addon": 700}
PLAIN = """
from scrapy import Request, Spider
class Plain(Spider):
    async def start(self):
        for url in self.start_urls:
            yield Request(url, meta={"playwright": True})
    def parse(self, response):
        yield {"text": response.css("p::text").get()}
"""
SPIDER = """
from {module} import {base}
class Here({base}):
    name, start_urls = "here", {urls!r}
"""


def require(name: str) -> Any:
    """Skip a test where a package is missing, unless BESIDE_REQUIRED is set."""
    if os.environ.get("BESIDE_REQUIRED"):
        return import_module(name)
    return pytest.importorskip(name, reason=f"{name} is missing: pip install 'scrapy-neardup[beside]'")


@pytest.fixture
def copies(site: Site) -> list[str]:
    """URLs of three pages that repeat each other, and of another one."""
    return [*(site.article(f"/{number}", 1) for number in range(3)), site.article("/other", 2)]


def run(
    folder: Path, urls: list[str], module: str, base: str, **settings: Any
) -> tuple[list[dict[str, Any]], str]:
    """Run a spider, a subclass of *base* in *module*, on *urls*; return its items and its log."""
    for name, code in {**BLOCKS, "plain.py": PLAIN}.items():
        (folder / name).write_text(code)
    settings = {"ADDONS": ADDON, "NEARDUP_WORKERS": 1, "CONCURRENT_REQUESTS": 1} | settings
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project\n")
    (folder / "project.py").write_text("\n".join(f"{name} = {value!r}" for name, value in settings.items()))
    (folder / "here.py").write_text(SPIDER.format(module=module, base=base, urls=urls))
    done = scrapy("runspider", "here.py", "-O", "items.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "items.json").read_text()), done.stderr


def test_each_block_is_run_here() -> None:
    assert BLOCKS.keys() == {"monitors.py", "articles.py", "judging.py"}
    assert PAGE.count("```python") == len(BLOCKS)


def test_spidermon_tells_of_copies(tmp_path: Path, copies: list[str]) -> None:
    require("spidermon")
    settings = {
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_ENABLED": True,
        "SPIDERMON_SPIDER_CLOSE_MONITORS": ["monitors.NearDupSuite"],
    }
    for urls, outcome in ((copies, "OK"), (copies[:3], "FAIL")):
        _, log = run(tmp_path, urls, "plain", "Plain", **settings)
        assert re.search(rf"at_most_half_of_the_pages_are_copies\.\.\. {outcome}", log), log
        assert re.search(r"no_page_passes_unjudged_because_something_failed\.\.\. OK", log), log


def test_a_page_object_gives_item_and_text(tmp_path: Path, copies: list[str]) -> None:
    require("scrapy_poet")
    addons = {"scrapy_poet.Addon": 300} | ADDON
    items, _ = run(tmp_path, copies, "articles", "Articles", ADDONS=addons)
    assert len(items) == 2
    assert all(len(item["text"].split()) == 200 for item in items)


@pytest.mark.slow
def test_what_a_browser_renders_is_judged(tmp_path: Path, site: Site, copies: list[str]) -> None:
    require("scrapy_playwright")
    browser = next(filter(None, map(shutil.which, SYSTEM)), None)
    hidden = json.dumps(site.pages["/0"].decode())
    for number in range(2):  # nothing stands in the page but a script
        site.pages[f"/{number}"] = f"<script>document.write({hidden}, {number})</script>".encode()
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    options = {"executable_path": browser, "args": ["--no-sandbox"]}
    handlers = {"http": handler, "https": handler}
    settings = {"DOWNLOAD_HANDLERS": handlers, "PLAYWRIGHT_LAUNCH_OPTIONS": options}
    items, log = run(tmp_path, copies, "plain", "Plain", **settings)
    assert len(items) == 2, log
    assert all(item["text"] for item in items)


class ZyteApi:
    """Answers as scrapy-zyte-api does: a browser's HTML, or a product alone."""

    def process_request(self, request: Request) -> Any:
        module = require("scrapy_zyte_api.responses")
        html = f"<html><body><article><p>{request.meta['text']}</p></article></body></html>"
        if "product" in request.url:
            raw = {"url": request.url, "statusCode": 200, "product": {"name": "a"}}
            return module.ZyteAPIResponse.from_api_response(raw, request=request)
        raw = {"url": request.url, "statusCode": 200, "browserHtml": html}
        return module.ZyteAPITextResponse.from_api_response(raw, request=request)


async def test_responses_of_zyte_api_are_judged_if_they_have_html(
    crawl: Callable[..., Any], text: Callable[..., str]
) -> None:
    require("scrapy_zyte_api")

    class Automap(Spider):
        name = "automap"

        async def start(self) -> Any:
            for number in range(4):
                url = f"https://a.example/{'product' if number == 3 else number}"
                meta = {"zyte_api_automap": {"browserHtml": True}, "text": text(number // 2)}
                yield Request(url, meta=meta)

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    result = await crawl(Automap, {"DOWNLOADER_MIDDLEWARES": {ZyteApi: 100}})
    assert result.counts("unique", "duplicate", "skipped/not_html") == [2, 1, 1]
    assert len(result.items) == 3


def test_a_shell_judges_responses(
    tmp_path: Path, page: Callable[..., bytes], text: Callable[..., str]
) -> None:
    namespace: dict[str, Any] = {}
    exec(BLOCKS["judging.py"], namespace)
    index = str(tmp_path / "index")
    judge, body = namespace["neardup"], page(text(1))
    assert judge(HtmlResponse("https://a.example/", body=body), index).kind == "unique"
    extract = namespace["extract"]
    with Detector.open(index, extractor=extract.identity) as detector:
        detector.add(extract(body.decode(), ""), "https://a.example/")
    web_poet = require("web_poet")
    rendered = web_poet.BrowserResponse("https://b.example/", html=web_poet.BrowserHtml(body.decode()))
    verdict = judge(rendered, index)
    assert (verdict.kind, verdict.url) == ("exact", "https://a.example/")


async def test_what_is_put_into_meta_sets_off_no_warning(
    site: Site, crawl: Callable[..., Any], pages: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Copying(pages):  # type: ignore[misc]
        def parse(self, response: Any) -> Any:
            self.note(response)
            yield {"url": response.url}
            ours = {name: value for name, value in response.meta.items() if name.startswith("neardup")}
            for link in response.css("a"):
                yield response.follow(link, meta=ours)

    site.article("/unique", 2)
    urls = [site.article("/1", 1), site.article("/2", 1, links=("/unique",))]
    result = await crawl(Copying, {"NEARDUP_POLICY": "tag"}, urls=urls)
    assert result.spider.seen[-1].endswith("/unique")
    assert result.spider.matches.keys() == {urls[1]}  # what came along with the request counts no more
    assert "meta keys" not in caplog.text

"""When detection starts at all, how it says that it cannot, and which policy and scope apply to a page."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from scrapy import Request, Spider
from scrapy.commands.parse import Command as ParseCommand
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.plugin import NearDupExtension
from scrapy_neardup.plugin.settings import CrawlOptions

WRONG = {"NEARDUP_DISTANCE": 9}


class Some(Spider):
    name = "some"


class OfACommand(Some):
    async def start(self):
        yield


OfACommand.start.__module__ = ParseCommand.__module__


def crawler(spider, settings):
    return SimpleNamespace(spider=spider and spider(), settings=Settings(settings))


@pytest.mark.parametrize(
    "program", ["/bin/scrapy", "/usr/lib/python3/scrapy/__main__.py", "C:/bin/scrapy.exe"]
)
def test_the_command_says_in_one_line_why_it_cannot_start(program, monkeypatch):
    monkeypatch.setattr("sys.argv", [program, "crawl", "some"])
    with pytest.raises(SystemExit, match="scrapy_neardup: NEARDUP_DISTANCE"):
        NearDupExtension.from_crawler(crawler(Some, WRONG))


@pytest.mark.parametrize(
    "program", ["crawl.py", "/lib/other/__main__.py", "/lib/scrapy/run.py", "/a/scrapy/b/__main__.py", ""]
)
def test_a_program_of_the_user_gets_the_error(program, monkeypatch):
    monkeypatch.setattr("sys.argv", [program])
    with pytest.raises(ConfigurationError, match="NEARDUP_DISTANCE"):
        NearDupExtension.from_crawler(crawler(Some, WRONG))


@pytest.mark.parametrize(
    ("spider", "settings", "variables"),
    [
        (Some, {"NEARDUP_ENABLED": False}, {}),
        (None, {}, {}),  # as for `scrapy shell`
        (OfACommand, {}, {}),  # `scrapy fetch`, `view` and `parse` replace the spider's start
        (Some, {}, {"SCRAPY_CHECK": "true"}),
    ],
)
def test_where_there_is_no_crawl_no_setting_matters(spider, settings, variables, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NotConfigured):
        NearDupExtension.from_crawler(crawler(spider, {**WRONG, **settings}))


def test_components_do_nothing_without_the_extension():
    found = SimpleNamespace(get_extension=lambda kind: None)
    with pytest.raises(NotConfigured):
        NearDupExtension.of(found)


@pytest.fixture
def extension():
    """What the methods for one page need."""
    rules = [{"url": "/tagged/", "policy": "tag", "scope": "host"}, {"url": "/plain/"}]
    config = CrawlOptions.from_settings(Settings({"NEARDUP_RULES": rules, "NEARDUP_SCOPE": "spider"}))
    failed = []
    return SimpleNamespace(
        config=config,
        crawler=SimpleNamespace(spider=Some()),
        failures=failed,
        reporter=SimpleNamespace(failed=lambda stage, message, trace: failed.append((stage, message, trace))),
    )


@pytest.mark.parametrize(
    ("path", "meta", "policy", "named", "wrong"),
    [
        ("/", None, "drop_items", False, False),
        ("/", True, "drop_items", False, False),
        ("/", False, "drop_items", False, False),
        ("/", "drop_page", "drop_page", True, False),
        ("/", "drop", "drop_items", False, True),
        ("/", 7, "drop_items", False, True),
        ("/tagged/", None, "tag", True, False),
        ("/tagged/", True, "tag", True, False),
        ("/tagged/", "drop_page", "drop_page", True, False),
        ("/tagged/", "drop", "tag", True, True),
        ("/plain/", None, "drop_items", False, False),
    ],
)
def test_the_policy_for_a_page(extension, path, meta, policy, named, wrong):
    url = f"https://a.example{path}"
    request = Request(url, meta={} if meta is None else {"neardup": meta})
    assert NearDupExtension.policy_for(extension, url, request) == (policy, named)
    assert [(stage, trace) for stage, _, trace in extension.failures] == [("meta", False)] * wrong


@pytest.mark.parametrize(
    ("path", "meta", "scope"),
    [
        ("/", None, "some"),
        ("/tagged/", None, "a.example"),
        ("/plain/", None, "some"),
        ("/tagged/", "mine", "mine"),
        ("/", "", ""),
        ("/", 7, "7"),
    ],
)
def test_the_scope_of_a_page(extension, path, meta, scope):
    url = f"https://a.example{path}"
    request = Request(url, meta={} if meta is None else {"neardup_scope": meta})
    assert NearDupExtension.scope_for(extension, url, request) == scope
    if meta is None:
        assert NearDupExtension.scope_for(extension, url) == scope


class Broken:
    @classmethod
    def from_crawler(cls, crawler):
        raise ValueError("broken")


@pytest.mark.parametrize("kept", [True, False])
async def test_a_crawl_that_fails_before_it_begins_leaves_no_index_open(site, crawl, pages, tmp_path, kept):
    settings = {"NEARDUP_DIR": str(tmp_path / "index")} if kept else {}
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            await crawl(pages, {**settings, "SPIDER_MIDDLEWARES": {Broken: 100}})
    result = await crawl(pages, {**settings, "NEARDUP_RESET": True}, urls=[site.article("/story")])
    assert (result["unique"], result.errors) == (1, {})
    assert sum(thread.name == "neardup-index" for thread in threading.enumerate()) == 0

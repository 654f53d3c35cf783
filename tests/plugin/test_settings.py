"""Settings are read and checked once; what is wrong stops the crawl before it starts, with one sentence."""

import json
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.exceptions import NotConfigured
from scrapy.http import FormRequest
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_neardup.addon import Addon
from scrapy_neardup.errors import ConfigurationError, ExtractorUnavailable, IndexMismatch, NearDupError
from scrapy_neardup.extraction.workers import ForkServer
from scrapy_neardup.plugin import NearDupDownloaderMiddleware, NearDupExtension
from scrapy_neardup.plugin import settings as settings_module
from scrapy_neardup.plugin.settings import CrawlOptions, plain_url, rule_for

from .conftest import QuickExtension

DOCS = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text()
#: What backtracks without end: two ways to read each letter.
SLOW = r"/(a|aa)+$"


def config(**settings):
    return CrawlOptions.from_settings(
        Settings({f"NEARDUP_{name.upper()}": value for name, value in settings.items()})
    )


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("policy", "drop_page", "drop_page"),
        ("window", "0.5", 0.5),
        ("dir", "/absolute/dir", Path("/absolute/dir")),
        ("report", "", None),
        ("include_area", "article, #main", ("article, #main",)),
        ("exclude_area", ["nav", ".ad"], ("nav", ".ad")),
        ("item_fields", ["a", "b"], ("a", "b")),
        ("item_fields", "a, b", ("a", "b")),
        ("store", "Redis://server:6379/0?name=news", "Redis://server:6379/0?name=news"),
    ],
)
def test_values(name, value, attribute):
    assert getattr(config(**{name: value}), name) == attribute


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("policy", "drop", "'drop_page'"),
        ("window", "nan", "days above 0"),
        ("dir", 7, "path"),
        ("dir", "a\0b", "path"),
        ("dir", "\ud800", "path"),
        ("scope", "hosts", "'host'"),
        ("scope", "no.such.function", "import path"),
        ("scope", "scrapy_neardup.plugin.settings.POLICIES", "function"),
        ("scope", lambda url: url, "function"),
        ("item_fields", 7, "list of field names"),
        ("item_fields", [" "], "list of field names"),
        ("store", "index", "redis://"),
        ("store", "ftp://server/", "redis://"),
        ("rules", "[" * 5000, "list of rules"),
        ("rules", {"url": "x"}, "list of rules"),
        ("rules", ["x"], "NEARDUP_RULES[0] is 'x': set it to a list of rules"),
        ("rules", [{"url": 7}], "list of rules"),
        ("rules", [{"url": ""}, {"url": "("}], "[1] has the pattern '(', which is no regular expression"),
        ("rules", [{"url": "", "polcy": "tag"}], "NEARDUP_RULES[0] has 'polcy'"),
        ("rules", [{"url": "", "policy": "drop"}], "[0]['policy'] is 'drop': set it to 'tag' or"),
        ("rules", [{"url": "a", "to": r"\3"}], "invalid group reference"),
        ("rules", "/dev/null", "no regular file"),
        ("rules", [{"url": "", "policy": 0}], "NEARDUP_RULES[0]['policy'] is 0"),
        ("rules", [{"url": "", "scope": ["host"]}], "NEARDUP_RULES[0]['scope'] names ['host']"),
    ],
)
def test_bad_values(name, value, remedy):
    with pytest.raises(ConfigurationError) as caught:
        config(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"NEARDUP_{name.upper()}")
    assert remedy in message
    assert "\n" not in message


def test_what_is_wrong_of_files_and_of_two_settings_is_told(tmp_path):
    (tmp_path / "rules.json").write_text("[{]")
    with pytest.raises(ConfigurationError, match=r"cannot be read .*line 1"):
        config(rules=str(tmp_path / "rules.json"))
    with pytest.raises(ConfigurationError, match="NEARDUP_STORE and NEARDUP_DIR both name an index"):
        config(store="redis://server:6379/0?name=news", dir="/index")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NEARDUP_POLCIY", "NEARDUP_POLICY"),
        ("NEARDUPE_POLICY", "NEARDUP_POLICY"),
        ("NEAR_DUP_DIR", "NEARDUP_DIR"),
        ("neardup_report", "NEARDUP_REPORT"),
        ("NEARDUP_XYZ", "NEARDUP_ENABLED, "),
    ],
)
def test_a_misspelt_name_stops_the_crawl(name, hint):
    with pytest.raises(ConfigurationError, match=f"^There is no setting {name}: .*{hint}"):
        CrawlOptions.from_settings(Settings({name: 1}))


def test_every_setting_is_documented():
    assert {*re.findall(r"^\| `(NEARDUP_\w+)`", DOCS, re.MULTILINE)} == {*settings_module.SETTINGS}


def test_relative_dir_is_in_the_data_folder_of_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config(dir="seen").dir.absolute() == tmp_path / ".scrapy" / "seen"
    job = CrawlOptions.from_settings(Settings({"JOBDIR": str(tmp_path / "job")}))
    assert job.dir == tmp_path / "job" / "neardup"
    both = CrawlOptions.from_settings(Settings({"JOBDIR": str(tmp_path / "job"), "NEARDUP_DIR": "seen"}))
    assert both.dir.name == "seen"
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "scrapy.settings.default_settings")  # as scrapyd does
    with pytest.raises(ConfigurationError, match="set it to an absolute path"):
        config(dir="seen")


@pytest.fixture
def broken_module(tmp_path, monkeypatch):
    """The user's code raises, at import or when it is called, what Scrapy takes for the wish not to run."""
    monkeypatch.syspath_prepend(tmp_path)
    raises = "from scrapy.exceptions import NotConfigured\n{}raise NotConfigured('no database')"
    (tmp_path / "raises_at_import.py").write_text(raises.format(""))
    (tmp_path / "raises_when_called.py").write_text(raises.format("def Thing():\n    "))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"NEARDUP_POLICY": "drop"}, ConfigurationError),
        ({"NEARDUP_EXTRACTOR": "no.such.extractor"}, ExtractorUnavailable),
        ({"NEARDUP_DIR": "/dev/null/index"}, NearDupError),
        ({"NEARDUP_REPORT": "/dev/null"}, ConfigurationError),
        ({"NEARDUP_FEATURES": {"stop_words": "xx"}}, ConfigurationError),
        ({"NEARDUP_TABLES": 10, "NEARDUP_DISTANCE": 7}, ConfigurationError),
        ({"NEARDUP_SCOPE": lambda url, spider: 7}, ConfigurationError),
        # Not a crawl without detection, and a line among hundreds in the log.
        ({"NEARDUP_SCOPE": "raises_at_import.x"}, NearDupError),
        ({"NEARDUP_EXTRACTOR": "raises_at_import.extract"}, NearDupError),
        ({"NEARDUP_FEATURES": {"segmenter": "raises_when_called.Thing"}}, NearDupError),
    ],
)
async def test_bad_settings_stop_at_start(crawl, pages, broken_module, settings, error):
    with pytest.raises(error):
        await crawl(pages, settings)


async def test_a_frozen_program_stops_at_start_and_does_not_start_itself(crawl, pages, monkeypatch):
    monkeypatch.setattr("sys.frozen", True, raising=False)
    with pytest.raises(ConfigurationError, match="run it with a Python interpreter"):
        await crawl(pages)


@pytest.mark.parametrize(
    ("settings", "near"),
    [
        ({}, 0),
        ({"NEARDUP_VERIFY": "False"}, 1),
        ({"NEARDUP_VERIFY": "False", "NEARDUP_FEATURES": '{"shingle": 3}'}, 0),
    ],
)
async def test_what_is_compared_is_set_by_the_user(site, crawl, pages, text, page, settings, near):
    """A copy without verification, and by features of the user's own."""
    other_words = " ".join(reversed(text(1).split()))  # the same words, so the same fingerprint
    site.pages["/a"], site.pages["/b"] = page(text(1)), page(other_words)
    settings = {"NEARDUP_SCHEME": "simhash", **settings}
    result = await crawl(pages, settings, urls=[f"{site.url}/a", f"{site.url}/b"])
    assert result["duplicate/near"] == near


async def test_an_index_of_another_extractor_stops_at_start(crawl, pages, monkeypatch):
    processes = []

    class Noted(ForkServer):
        def start(self):
            super().start()
            processes.append(self._process)

    await crawl(pages, {"NEARDUP_DIR": "index"})
    monkeypatch.setattr(QuickExtension, "fork_server", Noted)
    with pytest.raises(IndexMismatch, match=r"extractor: index .*NEARDUP_RESET"):
        await crawl(pages, {"NEARDUP_DIR": "index", "NEARDUP_EXTRACTOR": "trafilatura"})
    assert [each.returncode for each in processes] == [-9]  # it was started before, and is no more


def test_components_are_those_of_the_docs_and_of_the_user():
    rows = re.findall(r"^\| `(\w+)` \| `(scrapy_neardup\.[\w.]+)` \| (\d+) \|", DOCS, re.MULTILINE)
    assert len(rows) == 4
    settings = Settings()
    before = {name: dict(settings[name]) for name, _, _ in rows}
    Addon().update_settings(settings)
    for name, path, order in rows:
        assert dict(settings[name]) == {**before[name], load_object(path): int(order)}
    settings = Settings(
        {"DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: 800}, "EXTENSIONS": {NearDupExtension: None}}
    )
    Addon().update_settings(settings)
    assert dict(settings["DOWNLOADER_MIDDLEWARES"]) == {NearDupDownloaderMiddleware: 800}
    assert dict(settings["EXTENSIONS"]) == {NearDupExtension: None}


@pytest.mark.parametrize("spider", [None, Spider("some")])  # none as for `scrapy shell`
def test_where_detection_is_off_no_setting_matters(spider):
    settings = Settings({"NEARDUP_DISTANCE": 9, "NEARDUP_ENABLED": spider is None})
    with pytest.raises(NotConfigured):
        NearDupExtension.from_crawler(SimpleNamespace(spider=spider, settings=settings))


class Broken:
    @classmethod
    def from_crawler(cls, crawler):
        raise ValueError("broken")


@pytest.mark.parametrize("kept", [True, False])
async def test_a_crawl_that_fails_before_it_begins_leaves_no_thread(site, crawl, pages, kept):
    settings = {"NEARDUP_DIR": "index"} if kept else {}
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            await crawl(pages, {**settings, "SPIDER_MIDDLEWARES": {Broken: 100}})
    result = await crawl(pages, {**settings, "NEARDUP_RESET": True}, urls=[site.article("/story")])
    assert result["unique"] == 1
    for thread in threading.enumerate():
        if thread.name.startswith("neardup"):  # one that has closed the index may be about to end
            thread.join(10)
            assert not thread.is_alive()


def test_a_preset_sets_what_is_not_set():
    assert config(preset="shop").budget == "defer"
    assert config(preset="shop", scope="global", budget="skip").budget == "skip"
    with pytest.raises(ConfigurationError, match="NEARDUP_PRESET is 'blog': set it to 'news' or"):
        config(preset="blog")
    for name, implied in settings_module.PRESETS.items():
        config(preset=name)
        (row,) = re.findall(rf'^\| `"{name}"` \|.*$', DOCS, re.MULTILINE)
        assert set(re.findall(r"`(NEARDUP_\w+)", row)) == {*implied}


# Rules by URL


def test_the_first_rule_that_fits_applies():
    given = [{"url": r"/news/\d+$", "policy": "tag", "scope": "mine"}, {"url": "/news/", "policy": False}]
    rules = config(rules=json.dumps(given)).rules
    found = [rule_for(url, rules) for url in ("/news/1", "/news/x", "/")]
    assert [getattr(each, "policy", None) for each in found] == ["tag", False, None]
    assert found[0].scope("any", None) == "mine"


@pytest.mark.parametrize("pattern", [SLOW, r"/(\w+\s?)*$", r"(.*a){20}$"])
def test_a_url_cannot_make_a_pattern_take_long(pattern):
    started, url = time.thread_time(), f"https://x.example/{'a' * 2000}!"
    for search, rule in ((rule_for, {"url": pattern}), (plain_url, {"url": pattern, "to": ""})):
        with pytest.raises(TimeoutError):
            search(url, config(rules=[rule] * 20).rules)
    grown = [{"url": f"(.+){number}?", "to": r"\1\1"} for number in range(20)]
    with pytest.raises(TimeoutError):
        plain_url(url, config(rules=grown).rules)
    assert time.thread_time() - started < 1  # `SEARCH_SECONDS`


async def test_rules_in_a_crawl(site, crawl, pages):
    """A URL that takes too long is neither judged by the wrong rule nor stored, and passes."""
    urls = [site.article(f"/{path}") for path in ("a", "tagged/b", "out/c", "a" * 200 + "!", "page/d", "e")]
    rules = [
        {"url": "/tagged/", "policy": "tag"},
        {"url": "/out/", "policy": False},
        {"url": "/page/", "policy": "drop_page"},
        {"url": SLOW, "policy": False},
    ]
    urls[0] += "?x"
    result = await crawl(pages, {"NEARDUP_RULES": rules}, urls=urls, fails=True)
    assert result.urls == sorted(urls[:4])
    counts = ("tagged", "skipped/rule", "dropped/page", "dropped/item", "index/documents")
    assert result.counts(*counts) == [1] * 5
    assert result.errors == {"neardup/error/rules": 1}


@pytest.mark.parametrize(
    ("more", "meta"), [({"NEARDUP_RULES": [{"url": "", "policy": False}]}, {}), ({}, {"neardup": False})]
)
async def test_items_of_pages_that_are_switched_off_are_compared(site, crawl, pages, text, more, meta):
    """The way for shops: pages are not compared, items are; neither by meta nor by rule this is a failure."""

    class Shop(pages):
        def parse(self, response):
            yield {"url": response.url, "name": "Lamp", "text": text(5)}

    settings = {"NEARDUP_ITEM_FIELDS": ["name", "text"], **more}
    result = await crawl(Shop, settings, urls=site.articles(2), meta=meta)
    assert result.counts("checked", "item/checked", "item/dropped") == [0, 2, 1]


async def test_pages_of_one_url_are_told_apart_by_the_body_of_the_request(site, crawl, pages, text):
    """A search page answers two forms with one text, and one with another text."""

    class Forms(pages):
        async def start(self):
            for query in ("lamps", "lights", "chairs"):
                yield FormRequest(site.url + "/search", self.parse, formdata={"q": query})

    bodies = {"lamps": text(1), "lights": text(1), "chairs": text(2)}
    site.answer = lambda path, body: bodies[body.decode().partition("=")[2]]
    result = await crawl(Forms, {"NEARDUP_DIR": "seen"})
    assert result.counts("unique", "duplicate", "revisit") == [2, 1, 0]
    (line,) = result.report
    assert line["url"] != line["match"]
    assert line["url"].startswith(site.url + "/search#POST-")
    again = await crawl(Forms, {"NEARDUP_DIR": "seen"})
    assert again.counts("revisit", "duplicate") == [2, 1]

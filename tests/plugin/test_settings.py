"""Settings are read and checked once; what is wrong stops the crawl before it starts, with one sentence."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.commands.parse import Command as ParseCommand
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_neardup.addon import Addon
from scrapy_neardup.errors import ConfigurationError, ExtractorUnavailable, IndexMismatch, NearDupError
from scrapy_neardup.fingerprint import SCHEMES
from scrapy_neardup.plugin import NearDupDownloaderMiddleware, NearDupExtension
from scrapy_neardup.plugin import settings as settings_module
from scrapy_neardup.plugin.settings import CrawlOptions

DOCS = Path(__file__).parents[2] / "docs" / "scrapy.md"


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
        ("report", "/x/report.jsonl", Path("/x/report.jsonl")),
        ("report", "", None),
        ("include_area", "article, #main", ("article, #main",)),
        ("exclude_area", ["nav", ".ad"], ("nav", ".ad")),
        ("item_fields", ["a", "b"], {object: ("a", "b")}),
        ("item_fields", "a, b", {object: ("a", "b")}),
        ("item_fields", '{"*": "a"}', {object: ("a",)}),
        ("item_fields", {"collections.OrderedDict": ["a"]}, {OrderedDict: ("a",)}),
        ("item_fields", {dict: ("a",)}, {dict: ("a",)}),
        ("store", "Redis://server:6379/0?name=news", "Redis://server:6379/0?name=news"),
    ],
)
def test_values(name, value, attribute):
    assert getattr(config(**{name: value}), name) == attribute


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("policy", "drop", "'drop_page'"),
        ("distance", 8, "from 0 to 7"),
        ("window", 0, "days above 0"),
        ("window", "nan", "days above 0"),
        ("dir", 7, "path"),
        ("dir", "a\0b", "path"),
        ("dir", "\ud800", "path"),
        ("scope", "hosts", "'host'"),
        ("scope", "no.such.function", "import path"),
        ("scope", "scrapy_neardup.plugin.settings.POLICIES", "not a function"),
        ("scope", "json.dumps", "takes other arguments"),
        ("scope", lambda url: url, "takes other arguments"),
        ("item_fields", 7, "list of field names"),
        ("item_fields", "{broken", "list of field names"),
        ("item_fields", "[" * 5000, "list of field names"),
        ("item_fields", {"no.such.Item": ["a"]}, "cannot be imported"),
        ("item_fields", {dict: []}, "list of field names"),
        ("item_fields", [1], "list of field names"),
        ("item_fields", [" "], "list of field names"),
        ("item_fields", {"scrapy_neardup.plugin.settings.POLICIES": ["a"]}, "list of field names"),
        ("store", "index", "redis://"),
        ("store", "ftp://server/", "redis://"),
    ],
)
def test_bad_values(name, value, remedy):
    with pytest.raises(ConfigurationError) as caught:
        config(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"NEARDUP_{name.upper()} ")
    assert remedy in message
    assert "\n" not in message


def test_an_index_has_one_place():
    with pytest.raises(ConfigurationError, match="NEARDUP_STORE and NEARDUP_DIR both name an index"):
        config(store="redis://server:6379/0?name=news", dir="/index")


@pytest.fixture
def broken_module(tmp_path, monkeypatch):
    """The user's code raises, at import or when it is called, what Scrapy takes for the wish not to run."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raises_at_import.py").write_text(
        "from scrapy.exceptions import NotConfigured\nraise NotConfigured('no database')"
    )
    (tmp_path / "raises_when_called.py").write_text(
        "from scrapy.exceptions import NotConfigured\n"
        "class Thing:\n    def __init__(self):\n        raise NotConfigured('no database')\n"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"NEARDUP_SCOPE": "raises_at_import.x"},
        {"NEARDUP_ITEM_FIELDS": {"raises_at_import.Item": ["text"]}},
        {"NEARDUP_EXTRACTOR": "raises_at_import.extract"},
        {"NEARDUP_FEATURES": {"segmenter": "raises_at_import.x"}},
        {"NEARDUP_FEATURES": {"segmenter": "raises_when_called.Thing"}},
    ],
)
async def test_not_configured_by_code_of_the_user_stops_at_start(site, crawl, pages, broken_module, settings):
    """Not a crawl without detection, and a line among hundreds in the log."""
    with pytest.raises(NearDupError, match="no database"):
        await crawl(pages, settings, urls=[site.article("/a")])
    assert not site.hits


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NEARDUP_POLCIY", "NEARDUP_POLICY"),
        ("NEARDUPE_POLICY", "NEARDUP_POLICY"),
        ("NEAR_DUP_DIR", "NEARDUP_DIR"),
        ("NEARDUPWINDOW", "NEARDUP_WINDOW"),
        ("neardup_report", "NEARDUP_REPORT"),
        ("NEARDUP_XYZ", "NEARDUP_ENABLED, "),
    ],
)
def test_a_misspelt_name_stops_the_crawl(name, hint):
    with pytest.raises(ConfigurationError, match=f"^There is no setting {name}: .*{hint}"):
        CrawlOptions.from_settings(Settings({name: 1}))


def test_every_setting_is_documented():
    documented = set(re.findall(r"^\| `(NEARDUP_\w+)`", DOCS.read_text(), re.MULTILINE))
    assert documented == set(settings_module.SETTINGS)


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


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"NEARDUP_POLICY": "drop"}, ConfigurationError),
        ({"NEARDUP_EXTRACTOR": "no.such.extractor"}, ExtractorUnavailable),
        ({"NEARDUP_DIR": "/dev/null/index"}, NearDupError),
        ({"NEARDUP_FEATURES": {"stop_words": "xx"}}, ConfigurationError),
        ({"NEARDUP_FEATURES": {"segmenter": "no.such.segmenter"}}, ConfigurationError),
        ({"NEARDUP_TABLES": 10, "NEARDUP_DISTANCE": 7}, ConfigurationError),
    ],
)
async def test_bad_settings_stop_at_start(site, crawl, pages, settings, error):
    with pytest.raises(error):
        await crawl(pages, settings, urls=[site.article("/a")])
    assert not site.hits


async def test_a_frozen_program_stops_at_start_and_does_not_start_itself(site, crawl, pages, monkeypatch):
    monkeypatch.setattr("sys.frozen", True, raising=False)
    with pytest.raises(ConfigurationError, match="run it with a Python interpreter"):
        await crawl(pages, urls=[site.article("/a")])
    assert not site.hits


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_every_scheme_crawls(site, crawl, pages, scheme, tmp_path):
    urls = [site.article("/a", 1), site.article("/b", 1), site.article("/c", 2)]
    settings = {"NEARDUP_SCHEME": scheme, "NEARDUP_DIR": str(tmp_path / "index"), "CONCURRENT_REQUESTS": 1}
    first = await crawl(pages, settings, urls=urls)
    assert (first["unique"], first["duplicate/exact"]) == (2, 1)
    assert not first.errors
    again = await crawl(pages, settings, urls=urls)
    assert (again["revisit"], again["duplicate/exact"]) == (2, 1)


async def test_what_is_compared_is_set_by_the_user(site, crawl, pages, text, page):
    """A copy without verification, and by features of the user's own."""
    other_words = " ".join(reversed(text(1).split()))  # the same words, so the same fingerprint
    site.pages["/a"], site.pages["/b"] = page(text(1)), page(other_words)
    urls = [f"{site.url}/a", f"{site.url}/b"]
    plain = {"NEARDUP_SCHEME": "simhash", "CONCURRENT_REQUESTS": 1}
    for settings, near in (
        ({}, 0),
        ({"NEARDUP_VERIFY": "False"}, 1),
        ({"NEARDUP_VERIFY": "False", "NEARDUP_FEATURES": '{"shingle": 3}'}, 0),
    ):
        assert (await crawl(pages, {**plain, **settings}, urls=urls))["duplicate/near"] == near


async def test_index_of_other_parameters_stops_at_start(site, crawl, pages, tmp_path):
    settings = {"NEARDUP_DIR": str(tmp_path / "index")}
    await crawl(pages, settings, urls=[site.article("/a")])
    hits = sum(site.hits.values())
    for changed, named in (
        ({"NEARDUP_EXTRACTOR": "trafilatura"}, "extractor"),
        ({"NEARDUP_SCHEME": "minhash"}, "scheme"),
        ({"NEARDUP_FEATURES": {"weight": "set"}}, "features"),
    ):
        with pytest.raises(IndexMismatch, match=f"{named}: index .*NEARDUP_RESET = True"):
            await crawl(pages, {**settings, **changed}, urls=[site.url + "/a"])
    assert sum(site.hits.values()) == hits


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
    ("program", "error"),
    [
        ("/bin/scrapy", SystemExit),
        ("/usr/lib/python3/scrapy/__main__.py", SystemExit),
        ("crawl.py", ConfigurationError),
        ("/a/scrapy/b/__main__.py", ConfigurationError),
        ("", ConfigurationError),
    ],
)
def test_the_scrapy_command_says_in_one_line_why_it_cannot_start(program, error, monkeypatch):
    monkeypatch.setattr("sys.argv", [program, "crawl", "some"])
    with pytest.raises(error, match="NEARDUP_DISTANCE"):
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


def test_a_preset_sets_what_is_not_set():
    assert (config(preset="shop").budget, config(preset="shop").scope) == (
        "defer",
        settings_module.SCOPES["host"],
    )
    assert config(preset="shop", scope="global", budget="skip").budget == "skip"
    assert config(preset="archive", policy="tag").policy == "tag"
    with pytest.raises(ConfigurationError, match="NEARDUP_PRESET is 'blog': set it to 'news' or"):
        config(preset="blog")
    text = DOCS.read_text()
    for name, implied in settings_module.PRESETS.items():
        config(preset=name)
        (row,) = re.findall(rf'^\| `"{name}"` \|.*$', text, re.MULTILINE)
        assert set(re.findall(r"`(NEARDUP_\w+)", row)) == {*implied}

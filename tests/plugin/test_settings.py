"""Settings are read and checked once; a bad one stops the crawl before it starts, with one sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError, ExtractorUnavailable, IndexMismatch, NearDupError
from scrapy_neardup.fingerprint import SCHEMES, Features
from scrapy_neardup.plugin import settings as settings_module
from scrapy_neardup.plugin.settings import CrawlOptions, is_enabled

DOCS = Path(__file__).parents[2] / "docs" / "scrapy.md"


def config(**settings):
    return CrawlOptions.from_settings(
        Settings({f"NEARDUP_{name.upper()}": value for name, value in settings.items()})
    )


def test_defaults():
    default = config()
    assert (default.policy, default.distance, default.tables) == ("drop_items", 3, 4)
    assert (default.dir, default.reset, default.window, default.report, default.debug) == (
        None, False, None, None, False,
    )  # fmt: skip
    assert default.scope("https://a.example/x", None) == ""
    assert (default.scheme, default.threshold, default.verified) == ("simhash+anchors", 0.5, True)
    assert default.features == Features()
    assert (default.extractor, default.extract_timeout, default.min_tokens) == ("segment", 10.0, 40)
    assert (default.extract_memory, default.max_body_size) == (1 << 30, 5 << 20)
    assert default.processes >= 1
    assert not default.item_fields
    assert default.pending_timeout == 60.0
    assert (default.revisits, default.prefer_longer, default.prefer_canonical) == ("keep", None, False)
    assert not default.keep_fragments


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("policy", "drop_page", "drop_page"),
        ("features", "", Features()),
        ("reset", "True", True),
        ("window", "0.5", 0.5),
        ("distance", "5", 5),
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
        ("item_fields", {"*": (" a ",)}, {object: ("a",)}),
        ("prefer_longer", "0.1", 0.1),
        ("prefer_longer", 10, 10.0),
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
        ("dir", b"x", "path"),
        ("dir", "a\0b", "path"),
        ("dir", "\ud800", "path"),
        ("report", 7, "path"),
        ("report", "/x/\0", "path"),
        ("scope", "hosts", "'host'"),
        ("scope", ["host"], "'host'"),
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
        ("prefer_longer", 0, "a share such as 0.1"),
        ("prefer_longer", 10.5, "a share such as 0.1"),
        ("prefer_longer", "nan", "a share such as 0.1"),
        ("prefer_longer", "longer", "a share such as 0.1"),
        ("store", "index", "redis://"),
        ("store", "ftp://server/", "redis://"),
        ("store", 7, "redis://"),
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


def test_switched_on_or_off():
    for value, on in ((True, True), ("1", True), ("False", False), (0, False), (None, True)):
        assert is_enabled(Settings({"NEARDUP_ENABLED": value})) is on
    with pytest.raises(ConfigurationError, match=r"^NEARDUP_ENABLED is 'maybe': set it to True or False"):
        is_enabled(Settings({"NEARDUP_ENABLED": "maybe"}))


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


async def test_not_configured_by_anything_else_stops_at_start(site, crawl, pages, monkeypatch):
    def open_(*args, **kwargs):
        raise NotConfigured("some other reason")

    monkeypatch.setattr(Detector, "open", open_)
    with pytest.raises(ConfigurationError, match="some other reason"):
        await crawl(pages, urls=[site.article("/a")])
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


def test_every_stat_is_documented():
    """Each literal name that the code counts under has its row."""
    text = DOCS.read_text()
    names = set()
    for module in DOCS.parents[1].joinpath("scrapy_neardup", "plugin").glob("*.py"):
        code = module.read_text()
        names.update(re.findall(r'\.count\(\s*"([\w/]+)"', code))
        names.update(f"error/{stage}" for stage in re.findall(r'(?:failed|fails_open)\(\s*"([\w/]+)"', code))
    assert len(names) > 15
    assert not [name for name in sorted(names) if f"`{name}`" not in text]


def test_relative_dir_is_in_the_data_folder_of_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config(dir="seen").dir.absolute() == tmp_path / ".scrapy" / "seen"
    job = CrawlOptions.from_settings(Settings({"JOBDIR": str(tmp_path / "job")}))
    assert job.dir == tmp_path / "job" / "neardup"
    both = CrawlOptions.from_settings(Settings({"JOBDIR": str(tmp_path / "job"), "NEARDUP_DIR": "seen"}))
    assert both.dir.name == "seen"


SPIDER = """
import scrapy

class Some(scrapy.Spider):
    name = "some"
    start_urls = ["data:text/html,<p>page"]
    custom_settings = {"ADDONS": {"scrapy_neardup.Addon": 700}, "NEARDUP_EXTRACTOR": "plain"}

    def parse(self, response):
        yield {"url": response.url}
"""
PROCESS = """
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
from some import Some

process = AsyncCrawlerProcess(get_project_settings())
crawler = process.create_crawler(Some)
done = process.crawl(crawler)
process.start()
done.result()
"""
SCRAPY = [sys.executable, "-m", "scrapy", "runspider", "some.py"]
PROGRAM = [sys.executable, "program.py"]


@pytest.fixture
def without_cfg(tmp_path, environment):
    """A project as scrapyd unpacks it: a settings module, and no scrapy.cfg around it.

    Runs a command there.
    """
    (tmp_path / "some.py").write_text(SPIDER)
    (tmp_path / "program.py").write_text(PROCESS)
    (tmp_path / "deployed.py").write_text('BOT_NAME = "deployed"\nNEARDUP_DIR = "seen"\n')
    environment["SCRAPY_SETTINGS_MODULE"] = "deployed"

    def run(*command, **more):
        environment["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.mark.parametrize("command", [SCRAPY, PROGRAM])
def test_relative_dir_without_a_project_folder_stops_the_crawl(without_cfg, command):
    ended = without_cfg(*command)
    assert ended.returncode == 1
    assert "NEARDUP_DIR is 'seen'" in ended.stderr.splitlines()[-1]
    assert ended.stderr.rstrip().endswith("set it to an absolute path.")
    assert "Disabled scrapy_neardup" not in ended.stderr
    assert "item_scraped_count" not in ended.stderr


@pytest.mark.slow
def test_a_crawl_without_a_project_folder(without_cfg, tmp_path):
    """With an absolute path, without a project, and where detection is off or there is no crawl."""
    for setting, where in ((tmp_path / "index", "index"), ("seen", ".scrapy/seen")):
        ended = without_cfg(*SCRAPY, "-s", f"NEARDUP_DIR={setting}", SCRAPY_SETTINGS_MODULE="")
        assert ended.returncode == 0, ended.stderr
        assert "'neardup/checked': 1" in ended.stderr
        assert (tmp_path / where / "data.mdb").is_file()
    off = without_cfg(*SCRAPY, "-s", "NEARDUP_ENABLED=0")
    assert (off.returncode, "'item_scraped_count': 1" in off.stderr) == (0, True), off.stderr


def test_fields_of_the_nearest_base_class():
    class Item(dict):
        pass

    fields = config(item_fields={"*": ["any"], dict: ["of dict"]})
    assert fields.fields_of(Item()) == ("of dict",)
    assert fields.fields_of(object()) == ("any",)
    assert config(item_fields={dict: "a"}).fields_of(object()) == ()


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

"""Settings are read and checked once; a bad one stops the crawl before it starts, with one sentence."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from pathlib import Path

import pytest
from scrapy.settings import Settings

from scrapy_neardup import settings as settings_module
from scrapy_neardup.addon import Addon
from scrapy_neardup.downloadermiddleware import NearDupDownloaderMiddleware
from scrapy_neardup.errors import ConfigurationError, ExtractorUnavailable, IndexMismatch, NearDupError
from scrapy_neardup.extension import NearDup
from scrapy_neardup.settings import Config

DOCS = Path(__file__).parents[2] / "docs" / "scrapy.md"


def config(**settings):
    return Config.from_settings(
        Settings({f"NEARDUP_{name.upper()}": value for name, value in settings.items()})
    )


def test_defaults():
    default = config()
    assert (default.enabled, default.policy, default.distance, default.tables) == (True, "drop_items", 3, 4)
    assert (default.dir, default.reset, default.window, default.report, default.debug) == (
        None, False, None, None, False,
    )  # fmt: skip
    assert default.scope("https://a.example/x", None) == ""
    assert (default.extractor, default.extract_timeout, default.min_tokens) == ("trafilatura", 10.0, 50)
    assert (default.extract_memory, default.max_body_size) == (1 << 30, 5 << 20)
    assert default.workers >= 1
    assert not default.item_fields


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("enabled", "0", False),
        ("policy", "drop_page", "drop_page"),
        ("distance", "5", 5),
        ("tables", "10", 10),
        ("tables", 20, 20),
        ("reset", "True", True),
        ("window", "0.5", 0.5),
        ("workers", "3", 3),
        ("extract_timeout", 2, 2.0),
        ("extract_memory", "512M", 512 << 20),
        ("extract_memory", "1.5 GiB", 3 << 29),
        ("extract_memory", 1000, 1000),
        ("max_body_size", "10k", 10240),
        ("min_tokens", "0", 0),
        ("dir", "/absolute/dir", Path("/absolute/dir")),
        ("report", "/x/report.jsonl", Path("/x/report.jsonl")),
        ("report", "", None),
        ("item_fields", ["a", "b"], {object: ("a", "b")}),
        ("item_fields", "a, b", {object: ("a", "b")}),
        ("item_fields", '{"*": "a"}', {object: ("a",)}),
        ("item_fields", {"collections.OrderedDict": ["a"]}, {OrderedDict: ("a",)}),
        ("item_fields", {dict: ("a",)}, {dict: ("a",)}),
    ],
)
def test_values(name, value, attribute):
    assert getattr(config(**{name: value}), name) == attribute


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("enabled", "maybe", "True or False"),
        ("policy", "drop", "'drop_page'"),
        ("scheme", "minhash", "'simhash'"),
        ("distance", 8, "from 0 to 7"),
        ("distance", -1, "from 0 to 7"),
        ("distance", "x", "from 0 to 7"),
        ("tables", 5, "'4' or '10' or '20'"),
        ("window", 0, "days above 0"),
        ("window", "nan", "days above 0"),
        ("workers", 0, "from 1"),
        ("extract_timeout", "soon", "seconds above 0"),
        ("extract_timeout", float("inf"), "seconds above 0"),
        ("extract_memory", "lots", "bytes"),
        ("max_body_size", 0, "bytes"),
        ("min_tokens", 2.5, "whole number"),
        ("dir", 7, "path"),
        ("report", 7, "path"),
        ("scope", "hosts", "'host'"),
        ("scope", "no.such.function", "import path"),
        ("scope", "scrapy_neardup.settings.POLICIES", "not a function"),
        ("extractor", 7, "'plain'"),
        ("item_fields", 7, "list of field names"),
        ("item_fields", "{broken", "list of field names"),
        ("item_fields", {"no.such.Item": ["a"]}, "cannot be imported"),
        ("item_fields", {dict: []}, "list of field names"),
        ("item_fields", [1], "list of field names"),
    ],
)
def test_bad_values(name, value, remedy):
    with pytest.raises(ConfigurationError) as caught:
        config(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"NEARDUP_{name.upper()} ")
    assert remedy in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "hint"), [("NEARDUP_POLCIY", "NEARDUP_POLICY?"), ("NEARDUP_XYZ", "NEARDUP_ENABLED, ")]
)
def test_unknown_names(caplog, name, hint):
    with caplog.at_level(logging.WARNING):
        Config.from_settings(Settings({name: 1}))
    (message,) = caplog.messages
    assert name in message
    assert hint in message


def test_every_setting_is_documented():
    documented = set(re.findall(r"^\| `(NEARDUP_\w+)`", DOCS.read_text(), re.MULTILINE))
    assert documented == set(settings_module._DEFAULTS)


def test_every_stat_is_documented():
    """Each literal name that the code counts under has its row."""
    text = DOCS.read_text()
    names = set()
    for module in DOCS.parents[1].joinpath("scrapy_neardup").glob("*.py"):
        code = module.read_text()
        names.update(re.findall(r'\.count\(\s*"([\w/]+)"', code))
        names.update(f"error/{stage}" for stage in re.findall(r'(?:failed|fails_open)\(\s*"([\w/]+)"', code))
    assert len(names) > 20
    assert not [name for name in sorted(names) if f"`{name}`" not in text]


def test_known_names_do_not_warn(caplog):
    config(policy="tag", dir="x", window=1)
    assert not caplog.messages


def test_relative_dir_is_in_the_data_folder_of_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config(dir="seen").dir.absolute() == tmp_path / ".scrapy" / "seen"
    job = Config.from_settings(Settings({"JOBDIR": str(tmp_path / "job")}))
    assert job.dir == tmp_path / "job" / "neardup"
    both = Config.from_settings(Settings({"JOBDIR": str(tmp_path / "job"), "NEARDUP_DIR": "seen"}))
    assert both.dir.name == "seen"


def test_fields_of_the_nearest_base_class():
    class Item(dict):
        pass

    fields = config(item_fields={"*": ["any"], dict: ["of dict"]})
    assert fields.fields_of(Item()) == ("of dict",)
    assert fields.fields_of(object()) == ("any",)
    assert config(item_fields={dict: "a"}).fields_of(object()) == ()


def test_addon_puts_components_and_leaves_those_of_the_user():
    settings = Settings(
        {"DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: 800}, "EXTENSIONS": {NearDup: None}}
    )
    Addon().update_settings(settings)
    assert dict(settings["DOWNLOADER_MIDDLEWARES"]) == {NearDupDownloaderMiddleware: 800}
    assert dict(settings["EXTENSIONS"]) == {NearDup: None}
    assert list(settings["SPIDER_MIDDLEWARES"].values()) == [60]
    assert list(settings["ITEM_PIPELINES"].values()) == [750]


async def test_extension_that_the_user_disabled(site, crawl, pages):
    urls = [site.article("/a"), site.article("/b")]
    assert len((await crawl(pages, {"EXTENSIONS": {NearDup: None}}, urls=urls)).items) == 2


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"NEARDUP_POLICY": "drop"}, ConfigurationError),
        ({"NEARDUP_EXTRACTOR": "no.such.extractor"}, ExtractorUnavailable),
        ({"NEARDUP_DIR": "/dev/null/index"}, NearDupError),
    ],
)
async def test_bad_settings_stop_at_start(site, crawl, pages, settings, error):
    with pytest.raises(error):
        await crawl(pages, settings, urls=[site.article("/a")])
    assert not site.hits


async def test_index_of_other_parameters_stops_at_start(site, crawl, pages, tmp_path):
    settings = {"NEARDUP_DIR": str(tmp_path / "index")}
    await crawl(pages, settings, urls=[site.article("/a")])
    hits = sum(site.hits.values())
    with pytest.raises(IndexMismatch):
        await crawl(pages, {**settings, "NEARDUP_EXTRACTOR": "trafilatura"}, urls=[site.url + "/a"])
    assert sum(site.hits.values()) == hits

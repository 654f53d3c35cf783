"""Options that all parts share: each default stands once, and each value is read and checked in one place."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.cli.parameters import read_assignments
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Features
from scrapy_neardup.options import DetectionOptions, processors
from scrapy_neardup.plugin.settings import SETTINGS, CrawlOptions

ROOT = Path(__file__).parents[1]


def read(name: str, value: object) -> Any:
    """Return what the setting *name* is for all that share it."""
    (found,) = DetectionOptions.read({f"NEARDUP_{name.upper()}": value}.get).values()
    return found


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [
        ("scheme", "simhash", "simhash"),
        ("distance", "5", 5),
        ("tables", 20, 20),
        ("threshold", "0.8", 0.8),
        ("verify", True, True),
        ("verify", "0", False),
        ("features", {"shingle": 3, "weight": "set"}, Features(shingle=3, weight="set")),
        ("features", '{"units": "characters", "shingle": 5}', Features(units="characters", shingle=5)),
        ("features", {"stop_words": "en,de"}, Features(stop_words="en,de")),
        ("min_tokens", "0", 0),
        ("workers", "3", 3),
        ("extract_timeout", 2, 2.0),
        ("extract_memory", "512M", 512 << 20),
        ("extract_memory", "1.5 GiB", 3 << 29),
        ("max_body_size", "10k", 10240),
    ],
)
def test_values(name: str, value: object, option: object) -> None:
    assert read(name, value) == option


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("scheme", "simhsh", "set it to 'simhash+anchors' or 'simhash' or 'minhash' or"),
        ("distance", 8, "from 0 to 7"),
        ("features", {"stop_words": ["de"]}, "stop_words is text"),
        ("tables", 5, "is 5: set it to 4 or 10 or 20"),
        ("threshold", 1, "similarity between 0 and 1"),
        ("verify", "perhaps", "True or False"),
        ("min_tokens", 2.5, "whole number"),
        ("extractor", 7, "'plain'"),
        ("workers", 0, "from 1"),
        ("extract_timeout", "soon", "seconds above 0"),
        ("extract_timeout", float("inf"), "seconds above 0"),
        ("extract_memory", "lots", "bytes"),
        ("extract_memory", "10", "at least 16777216"),
        ("max_body_size", "9" * 400, "bytes"),
    ],
)
def test_bad_values(name: str, value: object, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(name, value)
    message = str(caught.value)
    assert message.startswith(f"NEARDUP_{name.upper()} ")
    assert remedy in message
    assert "\n" not in message


@pytest.mark.parametrize("empty", [None, ""])
def test_nothing_is_set_by_no_value(empty: object) -> None:
    assert DetectionOptions.read(lambda name: empty) == {}


def test_a_command_reads_what_a_crawl_reads() -> None:
    given = ["verify=0", "NEARDUP_DISTANCE=2", " distance =4", "extract_memory=1G", "TABLES="]
    assert read_assignments(given) == {"verified": False, "distance": 4, "extract_memory": 1 << 30}
    assert read_assignments([]) == {}


@pytest.mark.parametrize("name", [each for each in SETTINGS if each not in DetectionOptions.settings()])
def test_a_command_refuses_what_only_a_crawl_has(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"has no setting {name}: the settings are .*[.]$"):
        read_assignments([f"{name}=1"])


def test_defaults_are_as_documented() -> None:
    rows = re.findall(
        r"^\| `(NEARDUP_\w+)` \|[^|]+\| ([^|]+) \|",
        (ROOT / "docs/scrapy.md").read_text("utf-8"),
        re.MULTILINE,
    )
    said = {name: ast.literal_eval(default.strip("`")) for name, default in rows if default.startswith("`")}
    read = CrawlOptions.read(said.get)
    assert len(read) > 12
    options = CrawlOptions()
    for option, value in read.items():
        if option != "scope":
            assert value == getattr(options, option), option
    assert options.scope is read["scope"]


def test_settings_of_an_audit_may_have_been_read() -> None:
    given = ['FEATURES={"shingle": 3}', "INCLUDE_AREA=main", "EXTRACT_MEMORY=2G", "VERIFY=False"]
    options = replace(AuditOptions(**read_assignments(given), seed=0), seed=1)
    assert (options.features, options.include_area) == (Features(shingle=3), ("main",))


def test_options_on_the_command_line_need_no_scrapy() -> None:
    """Nor do the audit and the commands that take them."""
    script = """
import sys
sys.modules["scrapy"] = None  # importing it fails
from scrapy_neardup import audit, cli
from scrapy_neardup.audit import evaluate, run
from scrapy_neardup import Detector
from scrapy_neardup.cli.parameters import read_assignments
print(read_assignments(["DISTANCE=2"])["distance"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "2\n", done.stderr


@pytest.mark.slow
def test_a_process_that_extracts_imports_neither_scrapy_nor_what_only_the_index_needs() -> None:
    script = "import sys, scrapy_neardup.extraction.task; print([*sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"scrapy", "twisted", "tldextract", "requests"} & set(ast.literal_eval(done.stdout)) == set()


@pytest.mark.parametrize(
    ("limit", "count"),
    [("max 100000\n", 8), ("150000 100000\n", 2), ("1600000 100000\n", 8), ("1000 100000\n", 1), ("odd", 8),
     ("5 0", 8)],
)  # fmt: skip
def test_a_container_gets_as_many_processors_as_it_has_time_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, count: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(limit)
    assert processors(tmp_path / "cpu.max") == count

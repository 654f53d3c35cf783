"""Two audits of one site: pages new, gone and changed, and which paragraphs, as a crawl would say it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.audit import audit
from scrapy_neardup.fingerprint.main_text import paragraphs_of
from tests.audit.corpora import feed, text
from tests.cli.test_cli import run

ONE, TWO, THREE = (text(each, 60) for each in range(3))
BEFORE = [
    {"url": "https://a.example/same", "text": f"{ONE}\n{TWO}"},
    {"url": "https://a.example/other", "text": f"{ONE}\n{TWO}", "crawled_at": 2},
    {"url": "https://a.example/other", "text": "an earlier visit", "crawled_at": 1},
    {"url": "https://a.example/gone", "text": THREE},
]
NOW = [
    {"url": "https://a.example/same#top", "text": f"{ONE}\n{TWO}"},
    {"url": "https://a.example/other", "text": f"{ONE}\n{THREE}"},
    {"url": "https://a.example/\x1b[31mnew", "text": THREE},
]


@pytest.fixture
def audited(tmp_path: Path) -> tuple[Path, Path]:
    """The directories of two audits, each with a seed of its own."""
    for name, rows in (("old", BEFORE), ("new", NOW)):
        audit(feed(tmp_path / f"{name}.jl", rows), tmp_path / name).close()
    return tmp_path / "old", tmp_path / "new"


def test_pages_that_are_new_gone_changed_and_unchanged(audited: tuple[Path, Path]) -> None:
    found = [json.loads(line) for line in run("changes", *audited, "--json").output.splitlines()]
    pages: dict[str, Any] = {each.pop("url").rpartition("/")[2]: each for each in found}
    keys = [next(iter(paragraphs_of(each))).hex() for each in (ONE, TWO, THREE)]
    assert pages == {
        "\x1b[31mnew": {"change": "new"},
        "gone": {"change": "gone"},
        "other": {"change": "changed", "added": {keys[2]: THREE}, "kept": [keys[0]], "removed": [keys[1]]},
        "same": {"change": "unchanged"},
    }
    table = [line.split("\t") for line in run("changes", *audited).output.splitlines()]
    assert ["changed", "https://a.example/other", "1", "1", "1"] in table
    assert {row[0] for row in table} == {"", "new", "gone", "changed"}
    assert "\x1b" not in str(table)


def test_what_cannot_be_compared_is_one_line(audited: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    audit(tmp_path / "old.jl", tmp_path / "plain", extractor="plain").close()
    for other, why in ((audited[0], "named twice"), ("empty", "There is no audit"), ("plain", "extractor")):
        refused = run("changes", audited[0], tmp_path / other)
        assert (refused.exit_code, refused.stderr.count("\n"), why in refused.stderr) == (2, 1, True)

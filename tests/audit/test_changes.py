"""What two audits of one site say of its repeats: fixed, new, still there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.changes import Change, changes
from scrapy_neardup.cli import main
from scrapy_neardup.errors import ConfigurationError

from .corpora import feed, text

if TYPE_CHECKING:
    from pathlib import Path


def page(name: str, content: object, canonical: str = "") -> dict[str, Any]:
    link = f'<link rel=canonical href="https://a.example/{canonical}">' if canonical else ""
    words = text(content, 120)
    return {
        "url": f"https://a.example/{name}",
        "html": f"<html><head><title>Story</title>{link}</head><body><p>{words}.</p></body></html>",
    }


@pytest.fixture
def audits(tmp_path: Path) -> tuple[Path, Path]:
    story = page("a", 1)
    before = [story, *(page(name, 1) for name in ("ab", "ac", "ad", "ae")), page("b", 2)]
    after = [story, page("ab", 1), page("ac", 1, "a"), page("ad", 3), page("b", 1), page("c", 1)]
    for rows, name in ((before, "old"), (after, "new")):
        with audit(feed(tmp_path / f"{name}.jl", rows), tmp_path / name, seed=0):
            pass
    return tmp_path / "old", tmp_path / "new"


def test_changes(audits: tuple[Path, Path]) -> None:
    a = "https://a.example/a"
    assert list(changes(*audits)) == [
        Change("https://a.example/ab", "stays", a, a),
        Change("https://a.example/ac", "handled", a, a),
        Change("https://a.example/ad", "rewritten", a, None),
        Change("https://a.example/ae", "gone", a, None),
        Change("https://a.example/b", "now_repeats", None, a),
        Change("https://a.example/c", "new_page", None, a),
    ]


def test_as_many_stay_to_fix_as_the_summary_counts(tmp_path: Path) -> None:
    """An excerpt of another page, and of much else, is none of them."""
    whole, other = text("whole"), text("other")
    excerpt = " ".join(whole.split()[: int(0.6 * len(whole.split()))])
    texts = {"whole": whole, "excerpt": excerpt, "one": other, "two": other}
    rows = [{"url": f"https://{name}.example/", "text": content} for name, content in texts.items()]
    path = feed(tmp_path / "a.jl", rows)
    for name in ("old", "new"):
        with audit(path, tmp_path / name, hosts=("whole.example",), seed=0) as found:
            assert sorted(found.pages["verdict"].tolist()) == ["exact", "part", "unique", "unique"]
    summary = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert [each.change for each in changes(tmp_path / "old", tmp_path / "new")] == ["stays"]
    assert summary["handled"]["to_fix"] == 1


def test_command(audits: tuple[Path, Path]) -> None:
    shown = CliRunner().invoke(main, ["changes", *map(str, audits)])
    assert shown.exit_code == 0
    assert "stays" in shown.output
    told = CliRunner().invoke(main, ["changes", *map(str, audits), "--json"]).output
    assert json.loads(told.splitlines()[0]) == {
        "url": "https://a.example/ab", "change": "stays",
        "before": "https://a.example/a", "now": "https://a.example/a",
    }  # fmt: skip


def test_what_is_no_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no audit"):
        list(changes(tmp_path, tmp_path))
    (tmp_path / "pages.jsonl").write_text('{"url": 1}\n')
    with pytest.raises(ConfigurationError, match="line 1 is no page"):
        list(changes(tmp_path, tmp_path))

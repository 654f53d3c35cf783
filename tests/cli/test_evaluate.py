"""`scrapy-neardup evaluate`: pairs judged as in a crawl, scored as counted by hand; bad input is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from scrapy_neardup.audit import audit
from tests.audit.corpora import edited, feed, text

from .test_cli import run as run_command

#: id, text, and for pairs with the document "0": label, kind, and whether a duplicate.
DOCUMENTS = [
    ("same", text(0), "3", "copy", True),
    ("typo", edited(text(0), 2), "3", "typo", True),
    ("cut", " ".join(text(0).split()[:240]), "2", "cut", True),
    ("rewritten", edited(text(0), 100), "2", "rewritten", False),
    ("other", text(1), "0", "other", False),
    ("unsure", edited(text(0), 15), "", "unsure", False),
]


def labelled(folder: Path, rows: list[dict[str, Any]], table: list[tuple[str, ...]]) -> tuple[Path, Path]:
    """Audit *rows*, and write a *table* of pairs."""
    pairs = folder / "pairs.tsv"
    audit(feed(folder / "docs.jl", rows), folder / "audit", extractor="plain", seed=0).close()
    pairs.write_text("\n".join("\t".join(row) for row in table) + "\n")
    return pairs, folder / "audit"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rows = [{"id": name, "text": content} for name, content, *_ in [("0", text(0)), *DOCUMENTS]]
    head = ("id1", "more", "id2", "label", "kind")
    pairs = [("0", "-", name, label, kind) for name, _, label, kind, _ in DOCUMENTS]
    return labelled(tmp_path, rows, [head, *pairs])


def run(*arguments: object, status: int = 0) -> Result:
    result = run_command("evaluate", *arguments)
    assert result.exit_code == status, result.output
    return result


def facts(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def test_figures_are_those_counted_by_hand(files: tuple[Path, Path]) -> None:
    found = facts(*files)
    by_kind = {row["kind"]: (row["label"], row["n"], row["longer_first"]) for row in found["by_kind"]}
    wanted = {kind: (label, 1, int(near)) for _, _, label, kind, near in DOCUMENTS}
    assert by_kind | {"unsure": wanted["unsure"]} == wanted
    # Of four positives three are found, of one negative none.
    assert (found["precision"], found["recall"]) == (1, 0.75)
    assert found["f1"] == pytest.approx(6 / 7)
    assert "precision 1.000, recall 0.750, f1 0.857" in run(*files).stdout


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_both_orders_are_shown_apart(tmp_path: Path, names: tuple[str, str]) -> None:
    """A cut text repeats the whole, the whole does not repeat it: each is half of what a crawl meets."""
    texts = {"a": text(0), "b": " ".join(text(0).split()[:172])}
    rows = [{"url": f"https://{name}.example/", "text": each} for name, each in texts.items()]
    pair = [f"https://{name}.example/" for name in names]
    found = facts(*labelled(tmp_path, rows, [("id1", "id2", "label"), (*pair, "2")]), "--worst", 3)
    (row,) = found["by_kind"]
    assert (row["longer_first"], row["shorter_first"]) == (1, 0)
    assert (found["precision"], found["recall"], found["worst"]) == (1, 0.5, [])


@pytest.mark.parametrize("scheme", ["simhash", "minhash", "bottomk", "supershingles"])
def test_settings_are_overridden(files: tuple[Path, Path], scheme: str) -> None:
    found = facts(*files, "--set", f"scheme={scheme}", "--set", "NEARDUP_MIN_TOKENS=10")
    assert found["settings"] == {"scheme": scheme, "NEARDUP_MIN_TOKENS": "10"}
    assert {row["kind"]: row["longer_first"] for row in found["by_kind"]}["copy"] == 1
    nothing = facts(*files, "--set", "min_tokens=1000")
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)
    assert "audit again for other ones" in run(*files, "--set", "EXTRACTOR=plain", status=2).output
    assert "There is no audit in" in run(files[0], files[0].parent, status=2).output


def test_worst_pairs_say_what_decided(tmp_path: Path) -> None:
    texts = {"zero": text(0), "copy": text(0), "short": "a few words", "other": text(9)}
    wrong = {
        ("zero", "copy", "0"): "digest",
        ("zero", "short", "3"): "too short, or a wall",
        ("zero", "other", "3"): "no candidate",
    }
    rows = [{"url": f"https://a.example/{name}", "text": each} for name, each in texts.items()]
    table = [("id1", "id2", "label")]
    table += [(f"https://a.example/{a}", f"https://a.example/{b}", label) for a, b, label in wrong]
    files = labelled(tmp_path, rows, table)
    found = facts(*files, "--worst", 99)["worst"]
    assert {
        (each["id1"][18:], each["id2"][18:], each["label"]): each["decided_by"] for each in found
    } == wrong
    assert found[0]["id2"] == "https://a.example/copy"
    assert "\ttoo short, or a wall\n" in run(*files, "--worst", 99).stdout
    assert len(facts(*files, "--worst", 2)["worst"]) == 2


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        ("id1\tid2\n1\t1\n", "no table"),
        ("", "no table"),
        ("id1\tid2\tlabel\n1\t1\t7\n", "pair 1: "),
        ("id1\tid2\tlabel\n1\n", "pair 1: "),
        ("id1\tid2\tlabel\n1\tnine\t3\n", "such as '1'"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(files: tuple[Path, Path], table: str, remedy: str) -> None:
    files[0].write_text(table)
    result = run(*files, status=2)
    assert remedy in result.output
    assert len(result.output.strip().splitlines()) == 1

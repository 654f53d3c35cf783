"""`scrapy-neardup evaluate`: pairs judged as in a crawl, scored as counted by hand; bad input is named."""

from __future__ import annotations

import csv
import gzip
import json
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from scrapy_neardup import Detector
from scrapy_neardup.audit.texts import read_texts
from scrapy_neardup.cli import main

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]


def text(seed: int, words: int = 300) -> str:
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(words)) + "."


def edited(seed: int, every: int) -> str:
    """The same, with each so-manieth word replaced."""
    parts = text(seed).split()
    return " ".join("zzz" if place % every == every - 1 else word for place, word in enumerate(parts))


def html(main_text: str, canonical: str = "") -> str:
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    return f"<html><head>{link}</head><body><article><p>{main_text}</p></article></body></html>"


#: id, text, and for pairs with the document "0": label, kind, and whether a duplicate.
DOCUMENTS = [
    ("same", text(0), "3", "copy", True),
    ("typo", edited(0, 150), "3", "typo", True),
    ("cut", " ".join(text(0).split()[:240]), "2", "cut", True),
    ("rewritten", edited(0, 3), "2", "rewritten", False),
    ("other", text(1), "0", "other", False),
    ("unsure", edited(0, 20), "", "unsure", False),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    docs, pairs = tmp_path / "docs.jl.gz", tmp_path / "pairs.tsv"
    with gzip.open(docs, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": 0, "text": text(0)}) + "\n")
        for name, content, *_ in DOCUMENTS:
            file.write(json.dumps({"id": name, "text": content}) + "\n\n")
    with pairs.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["id1", "more", "id2", "label", "kind"])
        writer.writerows(["0", "-", name, label, kind] for name, _, label, kind, _ in DOCUMENTS)
    return docs, pairs


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments)])
    assert result.exit_code == status, result.output
    return result


def facts(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def test_figures_are_those_counted_by_hand(files: tuple[Path, Path]) -> None:
    found = facts(*files)
    assert found["pairs"] == len(DOCUMENTS)
    by_kind = {row["kind"]: (row["label"], row["n"], row["found"]) for row in found["by_kind"]}
    assert {kind: by_kind[kind] for _, _, _, kind, _ in DOCUMENTS if kind != "unsure"} == {
        kind: (label, 1, int(near)) for _, _, label, kind, near in DOCUMENTS if kind != "unsure"
    }
    # Of four positives three are found, of one negative none.
    assert (found["precision"], found["recall"]) == (1, 0.75)
    assert found["f1"] == pytest.approx(6 / 7)
    assert found["same"] == {"precision": 1, "recall": 1, "f1": pytest.approx(1)}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("options", [()])
def test_both_orders_are_shown_apart(tmp_path: Path, swapped: bool, options: tuple[str, ...]) -> None:
    """A cut text repeats the whole, the whole does not repeat it: each is half of what a crawl meets."""
    docs, pairs = tmp_path / "docs.jl", tmp_path / "pairs.tsv"
    cut = " ".join(text(0).split()[:172])
    docs.write_text(
        json.dumps({"id": "whole", "text": text(0), "host": "a.example"})
        + "\n"
        + json.dumps({"id": "cut", "text": cut, "host": "b.example"})
    )
    names = ["cut", "whole"] if swapped else ["whole", "cut"]
    pairs.write_text("id1\tid2\tlabel\tkind\n{}\t{}\t2\tcut\n".format(*names))
    found = facts(docs, pairs, *options)
    (row,) = found["by_kind"]
    assert (row["found"], row["longer_first"], row["shorter_first"]) == (int(swapped), 1, 0)
    assert (found["precision"], found["recall"]) == (1, 0.5)
    assert "missed" not in run(docs, pairs, "--worst", 3).stdout


def test_a_crawl_with_one_document_stored_says_the_same(files: tuple[Path, Path]) -> None:
    found = {row["kind"]: bool(row["found"]) for row in facts(*files)["by_kind"]}
    for name, content, _, kind, _ in DOCUMENTS[:5]:  # what is unsure depends on the seed of the index
        with Detector.open() as detector:
            detector.add(content, url=name)
            assert detector.check(text(0), url="0").is_duplicate is found[kind]


@pytest.mark.parametrize("scheme", ["simhash", "minhash", "bottomk", "supershingles"])
def test_settings_are_overridden(files: tuple[Path, Path], scheme: str) -> None:
    found = facts(*files, "--set", f"scheme={scheme}", "--set", "NEARDUP_MIN_TOKENS=10")
    assert found["settings"] == {"scheme": scheme, "NEARDUP_MIN_TOKENS": "10"}
    assert {row["kind"]: row["found"] for row in found["by_kind"]}["copy"] == 1
    nothing = facts(*files, "--set", "min_tokens=1000")
    assert sum(row["found"] for row in nothing["by_kind"]) == 0
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)


def test_worst_pairs_say_which_step_decided(tmp_path: Path) -> None:
    numbers = [text(7).replace(".", f" {n} {n * 3} {n * 7} {n * 11} {n * 13}.") for n in (1001, 2003)]
    wall = "Please log in to continue reading. Already a subscriber? Sign in to your account. " + text(5, 45)
    texts = {
        "zero": text(0), "copy": text(0), "short": "a few words", "wall": wall, "new": edited(0, 3),
        "less": edited(0, 9), "one": numbers[0], "two": numbers[1], "other": text(9), "unlike": text(9),
    }  # fmt: skip
    wrong = {
        ("zero", "copy", "0"): "equal texts",
        ("zero", "short", "3"): "too short, or a wall",
        ("wall", "wall", "3"): "too short, or a wall",
        ("zero", "other", "3"): "no candidate: ",
        ("one", "two", "3"): "alike but for other numbers, as pages of a template: ",
        ("zero", "new", "3"): "no",
        ("zero", "less", "3"): "no",
    }
    docs, pairs = tmp_path / "docs.jl", tmp_path / "pairs.tsv"
    host = {"host": "a.example"}
    docs.write_text("".join(json.dumps({"id": n, "text": t, **host}) + "\n" for n, t in texts.items()))
    pairs.write_text("id1\tid2\tlabel\n" + "".join("\t".join(pair) + "\n" for pair in wrong))
    found = facts(docs, pairs, "--worst", 99)["worst"]
    said = {(each["id1"], each["id2"], each["label"]): each["step"] for each in found}
    assert said.keys() == wrong.keys()
    for pair, step in said.items():
        assert step.startswith(wrong[pair]), (pair, step)
    assert "  too short, or a wall" in run(docs, pairs, "--worst", 99).stdout
    assert len(facts(docs, pairs, "--worst", 2)["worst"]) == 2
    assert "worst" not in facts(docs, pairs)


def test_the_cache_is_filled_as_it_goes_and_stays_open_to_others(tmp_path: Path) -> None:
    docs, cache = tmp_path / "docs.jl", tmp_path / "texts.sqlite"
    docs.write_text("".join(json.dumps({"id": n, "html": html(text(n))}) + "\n" for n in range(40)))
    counts: list[int] = []

    def look(_: int) -> None:
        with closing(sqlite3.connect(cache, timeout=0.1)) as other, other:
            other.execute("INSERT OR REPLACE INTO main_texts VALUES ('other', '', '', '')")
            counts.append(other.execute("SELECT count(*) FROM main_texts").fetchone()[0])

    texts = read_texts(docs, None, extractor="plain", timeout=10, memory=1 << 30, cache=cache, advance=look)
    assert len(texts) == 40
    assert counts == [*range(2, 42)]


def test_html_is_extracted_once_and_its_canonical_link_tells_the_site(tmp_path: Path, cache: Path) -> None:
    docs, pairs = tmp_path / "docs.jl", tmp_path / "pairs.tsv"
    pages = {"a": html(text(0), "https://a.example/1"), "b": html(edited(0, 60), "https://b.example/1")}
    # A busy process may look at its clock late, so pages take far longer than the time that they get below.
    much = "<br>" * 300_000
    docs.write_text(
        "".join(json.dumps({"id": name, "html": page + much}) + "\n" for name, page in pages.items())
    )
    pairs.write_text("id1\tid2\tlabel\na\tb\t3\n")
    first = facts(docs, pairs, "--worst", 1)
    assert first["recall"] == 1
    assert (cache / "scrapy-neardup" / "texts.sqlite").stat().st_size > 0
    again = facts(docs, pairs, "--set", "extract_timeout=0.001")  # no page could be extracted in that time
    assert again["by_kind"] == first["by_kind"]
    other = facts(docs, pairs, "--set", "extract_timeout=0.001", "--cache", tmp_path / "elsewhere")
    assert other["recall"] == 0


@pytest.mark.parametrize(
    ("docs", "pairs", "remedy"),
    [
        ('{"id": 1, "text": "a"}', "id1\tid2\n1\t1\n", "no column label"),
        ('{"id": 1, "text": "a"}', "id1\tid2\tlabel\n", "no pairs"),
        ('{"id": 1, "text": "a"}', "", "no column id1, id2, label"),
        ('{"id": 1, "text": "a"}', "id1\tid2\tlabel\n1\t1\t7\n", "line 2: the label '7'"),
        ('{"id": 1, "text": "a"}', "id1\tid2\tlabel\n1\n", "line 2: 1 columns"),
        ('{"id": 1, "text": "a"}', "id1\tid2\tlabel\n1\tnine\t3\n", "such as 'nine'"),
        ('{"id": 1}', "id1\tid2\tlabel\n1\t1\t3\n", 'neither "text" nor "html"'),
        ("[1]", "id1\tid2\tlabel\n1\t1\t3\n", "line 1: a document is an object"),
        ("{", "id1\tid2\tlabel\n1\t1\t3\n", "line 1: it is not JSON"),
        ("\x1f\x8b", "id1\tid2\tlabel\n1\t1\t3\n", "docs.jl"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(tmp_path: Path, docs: str, pairs: str, remedy: str) -> None:
    (tmp_path / "docs.jl").write_bytes(docs.encode("latin-1"))
    (tmp_path / "pairs.tsv").write_text(pairs)
    result = run(tmp_path / "docs.jl", tmp_path / "pairs.tsv", status=2)
    assert remedy in result.output
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_documents_are_a_feed_that_an_audit_reads(tmp_path: Path) -> None:
    pages = [
        {"url": f"https://a.example/{n}", "title": f"Page {n}", "text": text(n % 3) + f" {text(n, 5)}"}
        for n in range(6)
    ]
    (tmp_path / "feed.jl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    rows = ["id1\tid2\tlabel", *(f"https://a.example/{n}\thttps://a.example/{n + 3}\t3" for n in range(3))]
    (tmp_path / "labels.tsv").write_text("\n".join(rows) + "\n")
    found = facts(tmp_path / "feed.jl", tmp_path / "labels.tsv")
    assert found["by_kind"][0]["n"] == 3


def test_scores_by_seed(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": text(0), "url": "https://one.example/a"},
        {"id": "b", "text": text(0), "url": "https://one.example/b"},
        {"id": "c", "text": text(1), "url": "https://two.example/c"},
        {"id": "d", "text": text(2), "host": "two.example"},
        {"id": "e", "html": html(text(0))},
        {"id": "f", "html": html(text(3))},
    ]
    docs, pairs = tmp_path / "docs.jl", tmp_path / "pairs.tsv"
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs.write_text("id1\tid2\tlabel\na\tb\t3\nc\td\t0\na\te\t2\nb\tf\t2\na\tc\t0\n")
    arguments = ["evaluate", str(docs), str(pairs), "--cache", str(tmp_path / "cache"), "--seeds", "3"]
    found = json.loads(CliRunner().invoke(main, [*arguments, "--seed", "4294967295", "--json"]).stdout)
    assert [row["seed"] for row in found["by_seed"]] == [4294967295, 0, 1]
    assert {(row["precision"], round(row["recall"], 3)) for row in found["by_seed"]} == {(1.0, 0.667)}
    # The kinds are counted over all seeds, too.
    assert [(row["label"], row["n"], row["found"]) for row in found["by_kind"]] == [
        ("3", 3, 3), ("2", 6, 3), ("0", 6, 0),
    ]  # fmt: skip
    shown = CliRunner().invoke(main, arguments)
    for words in ("2\t\t6\t3\t0.500", "seed\tprecision\trecall\tF1\n0\t1.000"):
        assert words in shown.stdout

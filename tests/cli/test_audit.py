"""`audit` and `compare` on the command line: output, status, hostile input."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.audit.sources.records import Origin
from scrapy_neardup.cli.output import watching
from tests.audit.corpora import edited, template, text
from tests.audit.corpora import feed as write_feed

from .test_cli import run


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    rows = [{"url": f"https://host{n % 2}.example/{n}", "text": text(n // 2)} for n in range(10)]
    rows.append({"url": "https://evil.example/\x1b[31m[bold]\u202e", "text": text(0)})
    return write_feed(tmp_path / "feed.jl", rows)


def test_audit(feed: Path, tmp_path: Path) -> None:
    result = run("audit", feed, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert dict(line.split("\t") for line in result.output.splitlines()[:12]) == {
        "pages": "11", "unique": "5", "exact": "6", "near": "0", "part": "0", "template": "0",
        "wall": "0", "too short": "0", "revisit": "0", "clusters": "5", "problems": "0",
        "repeats to fix": "6",
    }  # fmt: skip
    assert "3\thttps://host0.example/0" in result.output
    assert f"{tmp_path}/out/drop.txt: 5 to remove" in result.output
    assert len((tmp_path / "out" / "drop.txt").read_text().splitlines()) == 5
    assert "problems.jsonl" not in result.output
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


def test_problems_have_a_status_of_their_own(feed: Path, tmp_path: Path) -> None:
    with feed.open("a") as file:
        file.write("\x1b[31mbroken\n")
    result = run("audit", feed, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "line 12" in result.output
    assert f"{tmp_path}/out/problems.jsonl has all 1.\n" in result.output
    assert "\x1b" not in result.output
    assert json.loads((tmp_path / "out" / "problems.jsonl").read_text())["place"] == "line 12"
    # That no page has a URL is none, but said.
    rows = [{"address": f"https://a.example/{n}", "text": text(n)} for n in range(3)]
    result = run("audit", write_feed(tmp_path / "other.jl", rows), "--out", tmp_path / "other")
    assert (result.exit_code, "--url-field" in result.output) == (0, True)


def test_json_and_options(feed: Path, tmp_path: Path) -> None:
    arguments = ("--json", "--set", "SCHEME=minhash", "--prefer-host", "host1.example")
    result = run("audit", feed, "--out", tmp_path / "out", *arguments)
    assert result.exit_code == 0
    facts = json.loads(result.output)
    assert facts["pages"] == 11
    assert facts["settings"]["scheme"] == "minhash"
    assert {row["canonical"].split("/")[2] for row in facts["largest_clusters"]} == {"host1.example"}
    again = run("audit", feed, "--out", tmp_path / "out", *arguments, "--set", "MIN_TOKENS=500")
    other = json.loads(again.output)
    assert (other["verdicts"]["too_short"], other["settings"]["scheme"]) == (11, "minhash")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "nothing.jl", "--out", "out"), "nothing.jl does not exist"),
        (("audit", "feed.jl", "--out", "out", "--set", "DISTANC=3"), "did you mean NEARDUP_DISTANCE"),
        (("audit", "feed.jl", "--out", "feed.jl"), "is a file"),
        (("audit", "feed.jl", "--out", "out", "--set", "EXCLUDE_AREA=p["), "NEARDUP_EXCLUDE_AREA: 'p['"),
        (("audit", "feed.jl", "--out", "out", "--set", "TABLES=5"), "NEARDUP_TABLES is '5': set it to 4"),
        (("audit", "feed.jl", "--out", "out", "--set", "DISTANCE"), "DISTANCE sets nothing"),
        (("audit", "feed.jl", "--out", "out", "--master", "local[2]"), "are for --engine spark"),
        (("audit", "feed.jl", "--out", "out", "--earlier", "before"), "are for --engine spark"),
    ],
)
def test_trouble_is_one_line(
    feed: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(feed.parent)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert not Path("out", "report.html").exists()


def documents(tmp_path: Path, *texts: str) -> list[Path]:
    paths = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    for path, content in zip(paths, texts, strict=True):
        path.write_text(content)
    return paths


def compared(*arguments: Any) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run("compare", *arguments, "--json").output)
    return facts


@pytest.mark.parametrize(
    ("one", "other", "verdict", "why"),
    [
        (edited(text(1), 3), text(1), "near", "alike"),
        (text(1).upper(), text(1), "exact", "digest"),
        (text(2), text(1), "different", "no candidate"),
        (edited(text(1), 80), text(1), "different", "similarity"),
        (template(0, 1), template(0, 2), "template", "numbers"),
        ("short", text(1), "too_short", "too short, or a wall"),
        (f"{text(1)} {text(2)}", text(1), "fuller", "known"),
        (text(1), f"{text(1)} {text(2)}", "different", "length"),
        ("yes no " * 40, "yes no " * 60, "different", "variety"),
    ],
)
def test_compare(tmp_path: Path, one: str, other: str, verdict: str, why: str) -> None:
    paths = documents(tmp_path, one, other)
    found = compared(*paths, "--url1", "https://a.example/1", "--url2", "https://a.example/2")
    assert (found["verdict"], found["decided_by"]) == (verdict, why)


def test_compare_shows_what_differs(tmp_path: Path) -> None:
    words = text(1).split()
    words[100] = "replaced"
    output = run("compare", *documents(tmp_path, text(1), " ".join(words))).output
    assert "verdict\tnear\n" in output
    assert f"- {text(1).split()[100]}\n+ replaced\n" in output
    page = tmp_path / "page.html"
    page.write_text(f"<html><body><nav>Home</nav><article><p>{text(1)}</p></article>")
    assert compared(page, *documents(tmp_path, text(1)))["verdict"] == "exact"


def test_compare_says_with_urls_what_a_crawl_would(tmp_path: Path) -> None:
    """The sites decide whether other numbers make a template, the pages whether it is a revisit."""
    words = text("story").split()
    one, other = " ".join([*words, "1234", "99"]), " ".join([*words, "5678", "77"])
    a, b = documents(tmp_path, one, other)
    for url1, url2 in (
        ("https://a.example/1", "https://a.example/2"),
        ("https://a.example/1", "https://b.example/2"),
        ("https://a.example/1", "https://a.example/1#top"),
    ):
        with Detector.open() as detector:
            detector.add(other, url=url2)
            wanted = detector.check(one, url=url1).kind
        assert compared(a, b, "--url1", url1, "--url2", url2)["verdict"] == wanted
    assert wanted == "revisit"


def test_compare_of_what_is_no_document_is_one_line(tmp_path: Path) -> None:
    (text_file,) = documents(tmp_path, text("page"))
    large = tmp_path / "large.html"
    with large.open("wb") as file:
        file.write(b"<html><body>")
        file.truncate((64 << 20) + 1)
    os.mkfifo(tmp_path / "pipe")
    special = "no regular file"
    reasons = {large: "more than 67108864 bytes", tmp_path / "pipe": special, Path("/dev/zero"): special}
    for path, why in reasons.items():
        result = run("compare", path, text_file)
        assert result.exit_code == 2
        assert why in result.stderr
        assert "Traceback" not in result.output


def test_a_damaged_store_is_one_line(feed: Path, tmp_path: Path) -> None:
    assert run("audit", feed, "--out", tmp_path / "out", "--seed", 1).exit_code == 0
    store = tmp_path / "out" / "signatures.sqlite"
    content = store.read_bytes()
    dice = random.Random(4)
    ends = set()
    for number in range(14):
        damaged = bytearray(content) if number else bytearray(b"no database at all" * 1000)
        # The tables' pages at the beginning have the most to break.
        damaged[dice.randrange(len(content) if number % 2 else 8192)] ^= 1 << dice.randrange(8)
        store.write_bytes(damaged)
        result = run("audit", feed, "--out", tmp_path / "out")
        ends.add(result.exit_code)
        if result.exit_code:
            assert result.stderr.count("\n") == 1
            assert any(each in result.stderr for each in ("delete it", "again", "--overwrite")), result.stderr
    assert ends == {0, 2}


def test_names_and_texts_in_no_encoding(tmp_path: Path) -> None:
    row = {"title": "\udc00"}
    rows = [row | {"url": f"https://a.example/\ud800{n}", "text": text(n // 2) + " \udfff"} for n in range(6)]
    path = tmp_path / "\udcfffeed.jl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    result = run("audit", path, "--out", tmp_path / "out", "--json", "--kept", tmp_path / "kept")
    assert result.exit_code == 3, result.output
    dropped = (tmp_path / "out" / "drop.txt").read_text().count("\n")
    assert (tmp_path / "kept" / path.name).read_bytes().count(b"\n") == 7 - dropped < 7
    for file in (tmp_path / "out").iterdir():
        if file.suffix in (".jsonl", ".json", ".txt", ".html"):
            assert file.read_bytes().decode("utf-8")
    facts = json.loads(result.stdout)
    assert (facts["pages"], facts["sources"][0]["pages"]) == (6, 6)
    write_feed(path, [{"text": text(n // 3)} for n in range(6)])  # which is read again, since it has changed
    facts = json.loads(run("audit", path, "--out", tmp_path / "out", "--json").stdout)
    assert [facts["verdicts"][each] for each in ("unique", "exact")] == [2, 4]
    assert (
        run("filter", path, "--against", tmp_path / "seen", "--out", tmp_path / "b.jl", "--add").exit_code
        == 0
    )
    words = documents(tmp_path, text(0))[0].rename(tmp_path / "\udcff.txt")
    assert run("compare", words, words).exit_code == 0
    assert run("audit", tmp_path / "\udcffnone.jl", "--out", tmp_path / "out").exit_code == 2


def test_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("time.monotonic", iter([0.0, *map(float, range(100)), 125.0]).__next__)
    with watching() as watch:
        for page in range(100):
            watch("Reading", page + 1, Origin("feed\x1b.jl", f"line {page}"))
        watch("Comparing", 2_000_000, None)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in said] == ["Reading"] * 3 + ["Comparing"]
    assert said[0] == "Reading, 31 pages, 30 seconds: feed\N{REPLACEMENT CHARACTER}.jl, line 30"

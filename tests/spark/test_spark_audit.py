"""An audit on Spark has the rows of one on one machine, for any order, partitioning and way of input."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from scrapy_neardup import ConfigurationError
from scrapy_neardup.audit import audit as audit_here
from scrapy_neardup.audit.clustering import components
from scrapy_neardup.audit.filter import filter_against
from scrapy_neardup.audit.output.files import only_numbers_differ, read_rows
from scrapy_neardup.audit.url_rules import COLUMNS, by_site
from scrapy_neardup.cli import main
from tests.audit.corpora import edited, feed, template, text
from tests.audit.sources.archives import http, record, write_warc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HERE = bool(find_spec("pyspark")) and bool(shutil.which("java") or os.environ.get("JAVA_HOME"))
if os.environ.get("SPARK_REQUIRED"):
    assert HERE, "PySpark or Java is missing: pip install -e '.[spark]', and install Java 17"
elif not HERE:
    pytest.skip("needs PySpark and Java", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

from scrapy_neardup.spark import (
    SparkAudit,
    audit,
    audit_paths,
    clusters,
    earlier,
    frames,
    make_index,
    start_session,
)
from scrapy_neardup.spark.clusters import connected
from scrapy_neardup.spark.frames import Workspace

TABLES = ("pages", "clusters", "pairs")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setattr(frames, "ROWS", 16)  # small tables of groups, as in large crawls
    # Most plans run once, on few rows: to compile them takes half of the processor time.
    settings = (
        "driver.memory=1g", "sql.shuffle.partitions=2", "sql.adaptive.enabled=false",
        "sql.autoBroadcastJoinThreshold=-1", "sql.codegen.wholeStage=false",
        "sql.codegen.factoryMode=NO_CODEGEN", "ui.showConsoleProgress=false",
    )  # fmt: skip
    given = " ".join(f"--conf spark.{each}" for each in settings)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
    session = start_session("local[2]")
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    monkeypatch.undo()


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def rows_here(directory: Path, table: str) -> list[dict[str, Any]]:
    lines = (directory / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()
    return [rounded(json.loads(line)) for line in lines]


def rows_of(found: Any, table: str) -> list[dict[str, Any]]:
    """Return the rows in the order of the files; Spark itself would read the largest file first."""
    written = pyarrow.dataset.dataset(f"{found.out}/{table}.parquet").to_table()
    return [rounded(row) for row in written.to_pylist()]


def dropped(found: Any) -> list[str]:
    files = sorted(Path(found.out, "drop.txt").glob("part-*"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_frame_in_any_order_and_an_earlier_audit(spark: SparkSession, tmp_path: Path) -> None:
    pages = crawl(11, stories=8)
    with audit_here(feed(tmp_path / "a.jl", pages), tmp_path / "here", seed=3, workers=1) as here:
        assert len(here.boilerplate) == 1
    random.Random(2).shuffle(pages)
    columns = ("url", "text", "title", "fetched", "colour", "code")
    rows = [tuple(page.get(name) for name in columns) for page in pages]
    schema = "url string, text string, title string, fetched double, colour string, code long"
    first, second = (
        spark.createDataFrame(part, schema).repartition(number)
        for number, part in ((1, rows[:40]), (3, rows[40:]))
    )
    before = audit(first, str(tmp_path / "before"), seed=3)
    second.write.parquet(str(tmp_path / "second"))
    found = audit_paths(
        [f"{before.out}/signatures.parquet", str(tmp_path / "second")], str(tmp_path / "spark")
    )
    for table in TABLES:
        assert rows_of(found, table) == rows_here(tmp_path / "here", table), table
    with pytest.raises(ConfigurationError, match="other settings"):
        audit(second, str(tmp_path / "other"), earlier=[before.out], min_tokens=41, scheme="minhash")
    with pytest.raises(ConfigurationError, match="There are results"):
        audit(second, str(tmp_path / "spark"))
    with pytest.raises(ConfigurationError, match="scheme is 'nope'"):
        audit(first, before.out, overwrite=True, scheme="nope")
    assert Path(before.out, "summary.json").exists()  # nothing was begun
    with pytest.raises(ConfigurationError, match="No pages"):
        audit(first.limit(0), before.out, overwrite=True)  # one that fails leaves no results
    assert not Path(before.out, "summary.json").exists()
    assert make_index(found.out, str(tmp_path / "index")) > len(pages) / 2


def test_new_pages_repeat_what_a_filter_leaves_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the index of the earlier audits; what is left is audited as if it was alone."""
    pages, outs, index = crawl(5), list[str](), tmp_path / "index"
    feeds = [str(feed(tmp_path / f"{n}.jl", pages[n::3])) for n in range(3)]
    for number, source in enumerate(feeds):
        if number == 2:  # in many tasks, by way of a join
            monkeypatch.setattr(clusters, "ALONE", 1)
            monkeypatch.setattr(earlier, "FEW", 1)
        outs.append(str(tmp_path / f"audit{number}"))
        found = audit_paths([source], outs[-1], seed=3, earlier=outs[:-1])
        if number < 2:
            kept = sum(found.summary["verdicts"][name] for name in ("unique", "template"))
            assert make_index(outs[-1], str(index)) == kept
    left_out = filter_against(feeds[2], index, tmp_path / "left.jl").repeats
    expected = {(each.url, each.verdict, each.match, round(each.similarity, 4)) for each in left_out}
    assert {verdict for _, verdict, *_ in expected} >= {"exact", "near"}
    names = ("url", "verdict", "canonical", "similarity")
    rows = rows_of(found, "pages")[: len(expected)]
    assert {tuple(row[name] for name in names) for row in rows} == expected
    with audit_here(tmp_path / "left.jl", tmp_path / "here", seed=3, workers=1):
        for table in TABLES:
            there = rows_of(found, table)[len(rows) * (table == "pages") :]
            assert there == rows_here(tmp_path / "here", table), table
    here = {*(tmp_path / "here" / "drop.txt").read_text().splitlines()}
    assert {*dropped(found)} - here == {
        url
        for url, verdict, match, alike in expected
        # Near ones of a series stay, as their texts would have to be read to tell.
        if verdict == "exact" or (alike >= 0.9 and not only_numbers_differ(url, match))
    }
    assert found.summary["pages"] == len(pages[2::3]) == sum(found.summary["verdicts"].values())


def test_components_in_rounds(spark: SparkSession, tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    chain = np.stack((np.arange(40), np.arange(1, 41)), axis=1) + 100
    star = np.stack((np.full(30, 60), np.arange(200, 230)), axis=1)
    edges = dice.permutation(np.concatenate((dice.integers(0, 100, (50, 2)), chain, star)))
    edges = edges[edges[:, 0] != edges[:, 1]]
    frame = spark.createDataFrame(edges.tolist(), "a long, b long")
    space = Workspace(spark, str(tmp_path))
    found = {row["row"]: row["component"] for row in connected(frame, space).collect()}
    expected = components(300, edges)
    assert found == {page: expected[page] for page in np.unique(edges).tolist()}


def test_every_kind_of_input_at_once_by_the_command_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "ALONE", 100)  # pages are compared by many tasks, as of large crawls
    sources = inputs(tmp_path, crawl(7, stories=10))
    options = ["--seed", "3", "--set", "extractor=plain", "--set", "extract_timeout=60"]
    results = {}
    for engine in ("local", "spark"):
        arguments = [*sources, "--out", str(tmp_path / engine), "--engine", engine, "--json", *options]
        found = CliRunner().invoke(main, ["audit", *arguments])
        assert found.exit_code == 3, found.output  # a line and a table cannot be read
        results[engine] = json.loads(found.stdout)
    same = ("pages", "verdicts", "handled", "clusters", "pairs", "skipped", "problems", "largest_clusters")
    here, there = ({name: results[engine][name] for name in same} for engine in results)
    assert here == there
    assert (here["problems"], here["skipped"]) == (2, {"not_html": 2})
    assert all(here["verdicts"][verdict] for verdict in ("unique", "exact", "near", "template", "wall"))
    written = SparkAudit(spark, str(tmp_path / "spark"), {})
    for table in TABLES:
        assert rows_of(written, table) == rows_here(tmp_path / "local", table), table
    assert dropped(written) == (tmp_path / "local" / "drop.txt").read_text().splitlines()
    rules = [by_site(read_rows(tmp_path / name, "pages", *COLUMNS)) for name in results]
    assert rules[0] == rules[1]  # `scrapy-neardup rules` takes either


def inputs(folder: Path, pages: list[dict[str, Any]]) -> list[str]:
    """Spread *pages* over files of all kinds, some of them such as Spark itself would not read or misread."""
    parts = [pages[start::6] for start in range(6)]
    lines = feed(folder / "a.jl", parts[0])
    with lines.open("a") as file:
        file.write("no JSON\n")
    hidden = feed(folder / "_more[1].jl", parts[1])
    for name, column, rows in (("b", "text", parts[2]), ("c", "content", parts[3])):
        table = pa.table({key: [row.get(key) for row in rows] for key in ("url", "title")})
        table = table.append_column(column, pa.array([row["text"] for row in rows]))
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    damaged = folder / "d.parquet"
    damaged.write_bytes((folder / "b.parquet").read_bytes()[:-20])
    site = folder / "site.example" / "news"
    site.mkdir(parents=True)
    for number, page in enumerate(parts[4]):
        (site / f"{number}.html").write_text(html_of(page), encoding="utf-8")
    records = [record("response", page["url"], http(html_of(page).encode())) for page in parts[5]]
    records += 2 * [record("response", "https://i.example/", http(b"GIF89a", Content_Type="image/gif"))]
    write_warc(folder / "crawl.warc.gz", records)
    found = [lines, lines, hidden, damaged, site.parent, folder / "crawl.warc.gz"]
    return [*map(str, found), str(folder / "[bc].parquet")]


def html_of(page: dict[str, Any]) -> str:
    title = page.get("title", "")
    return f"<html><head><title>{title}</title></head><body><p>{page['text']}</p></body></html>"


def test_what_cannot_be_read_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="text"):
        audit(spark.createDataFrame([(1,)], "number long"), str(tmp_path / "none"))
    arguments = ["file:///no/such/feed.jl", "--engine", "spark", "--out", str(tmp_path / "none")]
    found = CliRunner().invoke(main, ["audit", *arguments])
    assert (found.exit_code, found.output.count("\n")) == (2, 2), found.output
    assert "/no/such/feed.jl" in found.output


def test_the_demo_with_an_executor_that_is_killed_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends all that it has started, and the rows are those of one machine."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "example_project")
    demo, out, killed = import_module("spark_audit"), tmp_path / "demo", []
    monkeypatch.setattr(demo, "OUT", out)

    def executors() -> list[psutil.Process]:
        found = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                if {"--executor-id", "--worker-url"} < {*process.cmdline()}:
                    found.append(process)
        return found

    def kill() -> None:
        while not ((out / "audit" / "work" / "named").exists() and (running := executors())):
            time.sleep(0.1)
        killed.append(running[0])
        running[0].kill()

    threading.Thread(target=kill, daemon=True).start()
    assert demo.main() == 0
    assert killed
    assert not executors()
    found = SparkAudit(None, str(out / "audit"), {})  # type: ignore[arg-type]
    seed = json.loads(Path(found.out, "settings.json").read_text())["identity"]["seed"]
    archives = sorted(out.glob("network.*"))
    with audit_here(archives, tmp_path / "here", seed=seed, workers=1) as here:
        assert {"unique", "exact", "near"} <= {*here.pages["verdict"].tolist()}
    for table in TABLES:
        assert rows_of(found, table) == rows_here(tmp_path / "here", table), table
    assert dropped(found) == (tmp_path / "here" / "drop.txt").read_text().splitlines()


def test_one_text_very_often_and_a_page_that_is_too_large(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "ALONE", 100)
    url = "concat('https://h', id % 50, '.example/', id) url"
    copies = spark.range(6_000).selectExpr(url, f"'{text('same', 200)}' text")
    large = spark.range(1).selectExpr("'https://a.example/' url", "repeat('a large page ', 4000000) text")
    found = audit(copies.unionByName(large), str(tmp_path / "out"), seed=3)
    verdicts = {name: count for name, count in found.summary["verdicts"].items() if count}
    assert verdicts == {"unique": 1, "exact": 5_999}
    assert (found.summary["clusters"], found.summary["problems"]) == (1, 1)


def crawl(seed: int, stories: int = 24) -> list[dict[str, Any]]:
    """Return pages in a random order, as the items of a feed."""
    rng = random.Random(seed)
    pages: list[dict[str, Any]] = []

    def add(url: str, content: str, **fields: Any) -> None:
        pages.append({"url": url, "text": content, **fields})

    for number in range(stories):
        story = text((seed, number), rng.randint(60, 400))
        site = f"https://s{rng.randrange(6)}.example"
        add(f"{site}/{number}", story, title=f"Story {number}", fetched=rng.choice([None, 1e9 + number]))
        for copy in range(rng.randrange(4)):
            other = f"http{rng.choice(['', 's'])}://s{rng.randrange(8)}.example/{rng.randrange(40)}/{number}-{copy}"
            changes = rng.choice([0, 0, 3, 8, 20, 40])
            add(other, edited(story, changes, (seed, copy)) if changes else story, title=f"Story {number}")
    # A site whose pages all have a note, and whose titles all have its name.
    note = text((seed, "note"), 60)
    for number in range(18):
        own = text((seed, "own", number // 2), 90)
        add(f"https://note.example/{number}", f"{own}\n{note}", title=f"{text(number, 2)} | The Notes")
    # Two releases of one documentation.
    for release in ("1.0", "2.0"):
        for number in range(16):
            words = text((seed, "doc", number), 150)
            url = f"https://docs.example/{release}/{number}.html"
            add(url, edited(words, 2, release), title=f"{text((seed, number), 2)} - Manual {release}")
    # Pages of a template, more than are all compared with each other; equal pages; a chain of small steps.
    for number in range(70):
        add(f"https://t.example/{number}", template(seed, number), title=f"Report {number}")
    for number in range(40):
        add(f"https://e{number % 4}.example/{number}", text((seed, "equal"), 200))
    words = text((seed, "chain"), 300).split()
    for step in range(30):
        add(f"https://c{step:02}.example/", " ".join(words))
        words[step * 4 : step * 4 + 4] = text((seed, "step", step), 4).split()
    for number in range(8):
        add(f"https://w{number}.example/", text((seed, "wall"), 60))
    add("https://s0.example/0#top", pages[0]["text"])
    for number in range(4):
        add(f"https://h{number}.example/", _html(seed, number))
    # Items with one text: some say the same, and each has a number of its own.
    for number in range(40):
        said = {"colour": f"shade {number % 7}", "code": 100 + 3 * number}
        add(f"https://i{number % 2}.example/item/{number}", text((seed, "item"), 150), **said)
    rng.shuffle(pages)
    return pages


def _html(seed: int, number: int) -> str:
    said = ('<meta name="robots" content="noindex">', '<link rel="canonical" href="https://h2.example/">')
    head = said[number] if number < len(said) else ""
    story = text((seed, "html"), 200)
    return f"<html><head><title>A page</title>{head}</head><body><article><p>{story}.</p></article>"

"""An audit finds what comparing each page with each would, in any order, and goes on where it was killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrapy_neardup import ConfigurationError, Detector
from scrapy_neardup.audit import audit, reading
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.output.files import FILES
from scrapy_neardup.audit.run import opened_audit
from scrapy_neardup.audit.sources.records import MAX_URL, SourceUnavailable
from scrapy_neardup.audit.store import FILE

from .corpora import crawl, edited, feed, template, text
from .sources.archives import http, record, write_warc


def verdicts(found: Any) -> dict[str, str]:
    return dict(zip(found.pages["url"].tolist(), found.pages["verdict"].tolist(), strict=True))


def contents(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in FILES if (directory / name).exists()}


def test_every_kind_of_page(tmp_path: Path) -> None:
    # A short text is a wall if it is met on many sites.
    note, few = text("wall on many sites", 60), text("few", 60)
    notes = [{"url": f"https://site{n}.example/", "text": note} for n in range(8)]
    notes += [{"url": f"https://few{n}.example/", "text": few} for n in range(3)]
    with audit(feed(tmp_path / "a.jl", [*crawl(), *notes])) as found:
        said = verdicts(found)
    assert said["https://a.example/0"] == "unique"
    assert said["https://b.example/copy/0"] == "exact"
    assert said["https://c.example/near?id=0"] == "near"
    assert {said[f"https://t.example/{n}"] for n in range(8)} == {"template"}
    assert said["https://a.example/login0"] == said["https://a.example/login1"] == "wall"
    assert said["https://a.example/short"] == "too_short"
    assert said["https://a.example/1#top"] == "revisit"
    assert {said[f"https://site{n}.example/"] for n in range(8)} == {"wall"}
    assert [said[f"https://few{n}.example/"] for n in range(3)] == ["unique", "exact", "exact"]
    pages = found.pages
    members = pages["canonical"] != np.arange(len(pages))
    assert (pages["distance"][members] < 65).all()
    assert np.isnan(pages["similarity"][~members]).all()
    assert found.clusters["size"].sum() == (pages["cluster"] >= 0).sum()


def test_same_files_whatever_the_order_and_the_workers(tmp_path: Path) -> None:
    pages = crawl(260)  # enough for more than one process
    half = len(pages) // 2
    results = []
    for number, workers in enumerate((1, 3)):
        random.Random(number).shuffle(pages)
        names = [feed(tmp_path / "one.jl", pages[:half]), feed(tmp_path / "two.jl", pages[half:])]
        # The files are named in another order, too.
        audit(names[:: -1 if number else 1], tmp_path / str(number), workers=workers, seed=7).close()
        results.append(contents(tmp_path / str(number)))
    assert len(results[0]) == len(FILES)
    assert results[0] == results[1]


def test_a_chain_of_small_steps_is_not_one_cluster(tmp_path: Path) -> None:
    words = text("chain", 400).split()
    rows = []
    for step in range(100):
        # On one site, larger steps make pages of a template.
        rows.append({"url": f"https://{step:03}.example/", "text": " ".join(words)})
        words[step * 4 : step * 4 + 4] = text(("step", step), 4).split()
    with audit(feed(tmp_path / "a.jl", rows), seed=7) as found:
        near = found.pairs["kind"] == "near"
        steps = {*zip(found.pairs["first"][near].tolist(), found.pairs["second"][near].tolist(), strict=True)}
        assert len(steps & {(n, n + 1) for n in range(99)}) > 80
        assert len(found.clusters) > 3
        members = found.pages["cluster"] >= 0
        assert np.nanmin(found.pages["similarity"][members]) > 0.5


def html(content: str) -> bytes:
    paragraphs = "".join(f"<p>{part}.</p>" for part in (content[:900], content[900:]))
    return f"<html><head><title>A &lt;b&gt; story</title></head><body><article>{paragraphs}".encode()


def test_web_archives_and_their_revisits(tmp_path: Path) -> None:
    story = html(text("archived"))
    records = [
        record("response", "http://a.example/", http(story), WARC_Payload_Digest="sha1:A"),
        record("revisit", "http://a.example/", b"", WARC_Payload_Digest="sha1:A"),
        record("revisit", "http://b.example/", b"", WARC_Refers_To_Target_URI="http://a.example/"),
        record("revisit", "http://c.example/", b"", WARC_Payload_Digest="sha1:elsewhere"),
    ]
    write_warc(tmp_path / "a.warc.gz", records)
    with audit(tmp_path / "a.warc.gz", extractor="plain") as found:
        assert found.pages[["url", "verdict"]].tolist() == [
            ("http://a.example/", "unique"),
            ("http://a.example/", "revisit"),
            ("http://b.example/", "exact"),
        ]
        assert found.pages["title"].tolist() == ["A <b> story"] * 3
        assert found.skipped == {"revisit_of_another_crawl": 1}
        assert found.problems == ()
        assert text("archived")[:100] in (found.text(0) or "")


def test_a_fuller_page_is_no_copy_of_the_page_that_is_kept(tmp_path: Path) -> None:
    """A cut text goes where the whole stays; the whole never goes for the cut one."""
    whole = text("fuller")
    cut = " ".join(whole.split()[: int(0.6 * len(whole.split()))])
    rows = [{"url": "http://cut.example/", "text": cut}, {"url": "http://whole.example/", "text": whole}]
    path = feed(tmp_path / "a.jl", rows)
    with audit(path, tmp_path / "out", hosts=("whole.example",), seed=0) as found:
        assert verdicts(found) == {"http://cut.example/": "part", "http://whole.example/": "unique"}
        assert found.clusters.tolist() == [(1, 2, 0, 0, 1, 0)]
        assert found.pairs["kind"].tolist() == ["part"]
    assert not (tmp_path / "out" / "drop.txt").read_text()
    audit(path, tmp_path / "out", hosts=("whole.example",), drop_similarity=0.0).close()
    assert (tmp_path / "out" / "drop.txt").read_text() == "http://cut.example/\n"
    with audit(path, hosts=("cut.example",), seed=0) as found:
        assert verdicts(found) == {"http://cut.example/": "unique", "http://whole.example/": "unique"}


def test_texts_and_urls_over_the_limit_are_problems(tmp_path: Path) -> None:
    rows = [{"url": f"https://a.example/{n}", "text": text(n, 50 + n)} for n in range(3)]
    rows.append({"url": f"https://a.example/{'x' * MAX_URL}", "text": text(0, 50)})
    with audit(feed(tmp_path / "a.jl", rows), max_body_size=len(rows[1]["text"])) as found:
        assert [place for _, place, _ in found.problems] == ["line 3", "line 4"]
    with pytest.raises(SourceUnavailable, match=r"problems: 4, first in .*a.jl, line 1: more than 10 bytes"):
        audit(tmp_path / "a.jl", max_body_size=10)


def test_only_what_is_new_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed: list[Any] = []

    def counted(texts: Any, *rest: Any) -> Any:
        signed.extend(kept := list(texts))
        return spread(kept, *rest)

    spread = reading.spread
    monkeypatch.setattr(reading, "spread", counted)
    path, out = feed(tmp_path / "a.jl", crawl()), tmp_path / "out"
    audit(path, out).close()
    before, count = contents(out), len(signed)
    with audit(path, out) as found:
        assert len(signed) == count == len(found.pages)
    assert contents(out) == before
    feed(tmp_path / "b.jl", [{"url": "https://z.example/", "text": text("new")}])
    with audit([path, tmp_path / "b.jl"], out) as found:
        assert verdicts(found)["https://z.example/"] == "unique"
    assert len(signed) == count + 1
    other: dict[str, Any] = {"features": AuditOptions(scheme="simhash").features, "scheme": "simhash"}
    with audit(path, out, overwrite=True, **other) as found:
        assert "https://z.example/" not in verdicts(found)
    assert len(signed) == 2 * count + 1


SLOW = """
import os, time
from scrapy_neardup.extraction.libraries import Plain

def extract(html, url):
    time.sleep(0.05)
    with open(os.environ["LOG"], "a") as file:
        file.write(f"{url}\\n")
    return Plain()(html, url)
"""


@pytest.mark.slow
def test_goes_on_where_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    pages = tmp_path / "pages"
    pages.mkdir()
    for number in range(80):
        (pages / f"{number}.html").write_bytes(html(f"{text(number // 2, 120)} {number}"))
    log = tmp_path / "log"
    script = (
        "import sys; from scrapy_neardup.audit import audit\n"
        "audit(sys.argv[1], sys.argv[2], extractor='slow:extract', workers=1, seed=0)\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "LOG": str(log), "PATH": ""}
    command = [sys.executable, "-c", script, str(pages), str(tmp_path / "out")]
    with subprocess.Popen(command, env=environment) as process:
        deadline = time.monotonic() + 60
        while (not log.exists() or log.read_text().count("\n") < 50) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    time.sleep(0.2)  # for the extracting process to notice
    done = log.read_text().count("\n")
    assert 50 <= done < 70
    with pytest.raises(ConfigurationError, match="interrupted"), opened_audit(tmp_path / "out"):
        pass
    subprocess.run(command, env=environment, check=True, timeout=60)
    again = log.read_text().count("\n") - done
    assert again < 80 - done + 30  # what was done in the last second is lost
    results = contents(tmp_path / "out")
    monkeypatch.syspath_prepend(tmp_path)
    subprocess.run([*command[:-1], str(tmp_path / "whole")], env=environment, check=True, timeout=60)
    assert contents(tmp_path / "whole") == results


def test_another_threshold(tmp_path: Path) -> None:
    path = feed(tmp_path / "a.jl", crawl())
    with audit(path, tmp_path / "out", seed=0) as found:
        loose = verdicts(found)
    with audit(path, tmp_path / "out", min_similarity=0.97) as found:
        strict = verdicts(found)
    assert {(loose[url], strict[url]) for url in loose if loose[url] != strict[url]} == {("near", "unique")}
    assert (found.pairs["similarity"][found.pairs["kind"] == "near"] >= np.float32(0.97)).all()


def test_two_audits_at_once_and_other_files_in_the_way(tmp_path: Path) -> None:
    path = feed(tmp_path / "a.jl", crawl())
    with audit(path, tmp_path / "out"), pytest.raises(ConfigurationError, match="in use"):
        audit(path, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("mine")
    with pytest.raises(ConfigurationError, match="no audit's"):
        audit(path, tmp_path / "mine")
    assert (tmp_path / "mine" / "report.html").read_text() == "mine"


def test_results_of_others_are_kept(tmp_path: Path) -> None:
    one, two = (
        feed(tmp_path / f"{name}.jl", [{"url": f"https://{name}.example/", "text": text(name)}])
        for name in ("one", "two")
    )
    out = tmp_path / "out"
    audit([one], out).close()
    before = contents(out)
    with pytest.raises(ConfigurationError, match=r"other sources \(.*one.jl\): .*--overwrite"):
        audit([two], out)
    with pytest.raises(ConfigurationError, match=r"other settings \(extractor\): .*--overwrite"):
        audit([one], out, extractor="plain")
    assert contents(out) == before
    # More sources are no others, and neither is another threshold.
    with audit([one, two], out, min_similarity=0.9) as found:
        assert len(found.pages) == 2
    with audit([two], out, overwrite=True) as found:
        assert verdicts(found) == {"https://two.example/": "unique"}


def test_nothing_to_audit(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "style.css").write_text("p { color: red }")
    for name, message in (("empty", "empty: name"), ("other", r"other \(left out: 1 other file\): name")):
        with pytest.raises(SourceUnavailable, match=f"No pages in .*{message} what was crawled"):
            audit(tmp_path / name, tmp_path / "out")
        assert [each.name for each in (tmp_path / "out").iterdir()] == [FILE]
    # Nothing is lost with that, so nothing is in the way.
    path = feed(tmp_path / "a.jl", [{"url": "https://a.example/", "text": text(0)}])
    with pytest.raises(SourceUnavailable, match=r"problems: 1, first in .*a.jl, line 1: .*--text-field"):
        audit(path, tmp_path / "out", text_field="nope")
    with audit(path, tmp_path / "out") as found:
        assert verdicts(found) == {"https://a.example/": "unique"}


def test_results_of_other_audits_in_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    feed(tmp_path / "crawl" / "a.jl", crawl())
    for out in ("crawl/earlier", "crawl/more/earlier", "now"):
        with audit(tmp_path / "crawl", tmp_path / out) as found:
            assert len(found.pages) == len(crawl())
            assert found.problems == ()
    assert found.skipped["results_of_an_audit"] == 2
    with pytest.raises(SourceUnavailable, match="has the results of an audit: name what that has read"):
        audit([tmp_path / "crawl/earlier"])


def test_each_audit_draws_a_seed_and_keeps_it(tmp_path: Path) -> None:
    """Who knows the seed of one audit cannot craft a text for another."""
    path = feed(tmp_path / "a.jl", crawl(5))
    seeds, prints = set(), []
    for name in ("one", "two"):
        with audit(path, tmp_path / name) as found:
            seeds.add(seed := found.settings.header.seed)
            rows = found._store.load(found.settings.header)  # not part of the results
            prints.append(int(rows.record["fingerprint"][0]))
        with audit(path, tmp_path / name) as found:
            assert found.settings.header.seed == seed
    assert len(seeds) == 2
    assert (prints[0] ^ prints[1]).bit_count() > 7
    with pytest.raises(ConfigurationError, match=r"other settings \(seed\)"):
        audit(path, tmp_path / "one", seed=5)


def test_what_search_engines_know_already_is_told_from_what_is_to_fix(tmp_path: Path) -> None:
    hidden, page = '<meta name="robots" content="noindex">', html(text("known"))

    def written(name: str, *heads: str) -> Path:
        bodies = [page.replace(b"<title>", f"{head}<title>".encode()) for head in heads]
        responses = [record("response", f"https://a.example/{n}", http(b)) for n, b in enumerate(bodies, 1)]
        write_warc(tmp_path / name, responses)
        return tmp_path / name

    canonical = '<link rel="canonical" href="https://a.example/1#x">'
    alternate = '<link rel="alternate" hreflang="en-GB" href="/1">'
    path = written("a.warc.gz", "", canonical, alternate, hidden, "")
    with audit(path, tmp_path / "out", extractor="plain") as found:
        assert found.pages["handled"].tolist() == ["", "canonical", "hreflang", "noindex", ""]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["handled"] == {"canonical": 1, "hreflang": 1, "noindex": 1, "to_fix": 1}
    pages = [json.loads(line) for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert [page["noindex"] for page in pages] == [False, False, False, True, False]
    assert pages[1]["declared"] == "https://a.example/1#x"
    assert json.loads(pages[2]["hreflang"]) == {"en-gb": "https://a.example/1"}
    # Nothing goes for a page that may not be indexed.
    with audit(written("b.warc.gz", hidden, hidden), tmp_path / "hidden", extractor="plain") as found:
        assert found.pages["verdict"].tolist() == ["unique", "exact"]
    assert not (tmp_path / "hidden" / "drop.txt").read_text()


def test_pages_of_a_template_are_judged_as_in_a_crawl(tmp_path: Path) -> None:
    """One sibling is enough: of a page with other numbers than the first no copy is made but an equal one."""
    first, second = template("t", 1), template("t", 2)
    texts = [first, second, edited(second, 3), second.upper(), edited(first, 3)]
    rows = [{"url": f"https://a.example/{n}", "text": each} for n, each in enumerate(texts)]
    with Detector.open() as detector:
        met = [detector.add(row["text"], url=row["url"]).kind for row in rows]
    with audit(feed(tmp_path / "a.jl", rows), seed=0) as found:
        said = found.pages["verdict"].tolist()
    assert met == ["unique", "template", "template", "exact", "near"]
    assert said[2:] == met[2:]

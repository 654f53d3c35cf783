"""Rules out of an audit: each is right for the pages that it was learned from."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tldextract
from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.url_rules import by_site, differ, find_rules, for_discarder, normalised
from scrapy_neardup.plugin.settings import plain_url, read_rules
from tests.cli.test_cli import run as run_command

#: URLs of each page of a site, of which all but the first have something that changes nothing.
SPELLINGS = {
    "sid": ("http://a.example/t?id={0}", "http://a.example/t?id={0}&sid={1}"),
    "utm_medium&utm_source": (
        "http://a.example/t?id={0}",
        "http://a.example/t?id={0}&utm_medium=mail&utm_source={1}",
    ),
    "print/": ("http://a.example/n/{0}", "http://a.example/print/n/{0}"),
    "/amp": ("http://a.example/n/{0}", "http://a.example/n/{0}/amp"),
    "category/*/": ("http://a.example/p/{0}", "http://a.example/category/c{1}/p/{0}"),
    "-print": ("http://a.example/n-{0}.html", "http://a.example/n-{0}-print.html"),
    "index.html": ("http://a.example/n/{0}/", "http://a.example/n/{0}/index.html"),
    "/": ("http://a.example/n/{0}", "http://a.example/n/{0}/"),
    "www.": ("http://a.example/n/{0}", "http://www.a.example/n/{0}"),
    "https": ("http://a.example/n/{0}", "https://a.example/n/{0}"),
    ";jsessionid": ("http://a.example/n/{0}.do", "http://a.example/n/{0}.do;jsessionid={1}"),
    "A": ("http://a.example/n/page{0}", "http://a.example/N/Page{0}"),
}


@pytest.fixture(autouse=True, scope="module")
def offline() -> Iterator[None]:
    """Let duplicate-url-discarder fetch no public suffixes."""
    with pytest.MonkeyPatch.context() as patched:
        known = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
        patched.setattr(tldextract.tldextract, "TLD_EXTRACTOR", known)
        yield


def row(url: str, cluster: int | None = None, **more: Any) -> dict[str, Any]:
    verdict = "unique" if cluster is None else "near"
    plain = {"title": "", "declared": None, "tokens": 100, "verdict": verdict}
    return {"url": url, "cluster": cluster, **plain, **more}


def site(*spellings: str, pages: int = 60) -> list[dict[str, Any]]:
    """The rows of *pages*, each under all URLs."""
    return [
        row(each.format(page, f"{page * 7919 % 1000:03x}"), page)
        for page in range(pages)
        for each in spellings
    ]


def joins(rows: list[dict[str, Any]], change: Callable[[str], str]) -> tuple[int, int]:
    """Count the URLs that *change* makes one with another of the same page, and those of other pages."""
    right = wrong = 0
    for pages in by_site(rows).values():
        groups: dict[str, list[Any]] = {}
        for url, page in pages.items():
            groups.setdefault(change(url), []).append(page)
        for group in groups.values():
            known = [page for page in group if page.content is not None]
            if len(known) > 1 and differ(known):
                wrong += len(known) - 1
            else:
                right += max(len(known) - 1, 0)
    return right, wrong


def ours(rows: Iterable[dict[str, Any]], least: float = 0.95) -> Callable[[str], str]:
    """Return what NEARDUP_RULES does to URLs."""
    rules = read_rules("NEARDUP_RULES", json.dumps([rule.facts() for rule in find_rules(rows, least)]))
    return lambda url: normalised(plain_url(url, rules))


def zytes(rows: Iterable[dict[str, Any]], folder: Path, least: float = 0.95) -> Callable[[str], str]:
    """Return what duplicate-url-discarder does to URLs."""
    path = folder / "rules.json"
    path.write_text(json.dumps([*for_discarder(rows, least)]))
    canonical = UrlCanonicalizer([path])
    return lambda url: normalised(canonical.process_url(url))


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_changes_nothing_is_found_by_itself(name: str, tmp_path: Path) -> None:
    rows = site(*SPELLINGS[name])
    (rule,) = find_rules(rows)
    assert (rule.edit.name, rule.support, rule.urls) == (name, 60, 120)
    assert 0.95 < rule.precision < 0.96
    assert len(rule.examples) == 2
    assert joins(rows, ours(rows)) == (60, 0)
    if "?" in SPELLINGS[name][0]:
        change = zytes(rows, tmp_path)
        assert joins(rows, change) == (60, 0)
        assert change("http://b.example/n/1/?sid=2") == "http://b.example/n/1/?sid=2"


def test_one_after_the_other() -> None:
    page = "http://a.example/n/{0}"
    print_page = "http://www.a.example/print/n/{0}"
    rows = site(page, page + "?sid={1}", print_page, print_page + "?sid={1}", "http://www.a.example/n/{0}")
    assert joins(rows, ours(rows)) == (240, 0)


def test_a_rule_asks_for_many_pages_and_no_exception() -> None:
    short, long = SPELLINGS["sid"]
    assert [*find_rules(site(short, long, pages=51))] == []
    assert len([*find_rules(site(short, long, pages=26), 0.9)]) == 1
    # One page, however often, says little of the others.
    assert [*find_rules([row(f"http://a.example/t?sid={each}", 0) for each in range(500)])] == []
    # Nor does a URL of many question marks, which is read in linear time.
    started = time.thread_time()
    assert [*find_rules([row("http://a.example/t" + "?" * 30_000)])] == []
    assert time.thread_time() - started < 5
    rows = site(short, long)
    rows[-1] = row(rows[-1]["url"])
    assert [*find_rules(rows)] == []
    rows[-1] = row(rows[-1]["url"], verdict="too_short")
    assert len([*find_rules(rows)]) == 1
    # What is on many kinds of pages is for all of the host.
    urls = [f"http://a.example/{name}/{{0}}" for name in "abc"]
    many = [each for url in urls for each in site(url, f"{url}?s=1")]
    for number, each in enumerate(many):
        each["cluster"] = number // 2
    assert [rule.scope for rule in find_rules(many)] == [("a.example",)]


def test_memory_does_not_grow_with_the_names_of_parameters() -> None:
    names = ["&".join(f"n{page}x{each}=1" for each in range(100)) for page in range(600)]
    rows = [*site(*SPELLINGS["sid"]), *(row(f"http://a.example/t?{each}") for each in names)]
    tracemalloc.start()
    (rule,) = find_rules(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rule.edit.name == "sid"
    assert most < 20 << 20, most  # each name at a time would take 50 MB


def test_lines_that_change_by_chance_do_not_count_if_the_page_names_one_as_canonical() -> None:
    for declared, rules in ((None, 0), ("http://a.example/t", 1)):
        rows = [
            row(url.format(page, page), declared=declared and f"{declared}?id={page}", verdict="template")
            for page in range(60)
            for url in SPELLINGS["sid"]
        ]
        assert len([*find_rules(rows)]) == rules
        rows[-1]["tokens"] = 50
        assert [*find_rules(rows)] == []


def test_another_name_or_a_part_is_another_page() -> None:
    for more in ({"title": "Red lamp"}, {"verdict": "part"}):
        rows = site(*SPELLINGS["sid"])
        for plain, each in zip(rows[::2], rows[1::2], strict=True):
            plain["title"] = "Blue lamp"
            each |= {"title": "Blue lamp", **more}
        assert [*find_rules(rows)] == []
    # Not so what is called otherwise on another site, whose page is the canonical one.
    rows = [each | {"title": "Blue lamp", "verdict": "exact"} for each in site(*SPELLINGS["sid"])]
    rows += [row(f"https://b.example/{page}", page, title="Red lamp", verdict="unique") for page in range(60)]
    assert len([*find_rules(rows)]) == 1


QUERIES = st.lists(st.sampled_from(["a=1", "a=2", "b=1", "b=2", "A=1", "a", "%"]), max_size=3)
URLS = st.builds(
    "{}://{}a.example/{}{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "www."]),
    st.sampled_from(["", "p/", "P/"]),
    st.sampled_from(["", 0, 1, 2]),
    st.sampled_from(["", "/", "/amp", ";s=1"]),
    QUERIES.map(lambda query: "?" * bool(query) + "&".join(query)),
)


@given(
    st.lists(st.tuples(URLS, st.sampled_from([None, 0, 0, 1, 2]), st.sampled_from(["", "x"])), max_size=60)
)
def test_no_rule_joins_what_is_known_to_be_different(
    tmp_path_factory: Any, pages: list[tuple[str, int | None, str]]
) -> None:
    rows = [row(url, cluster, declared=declared) for url, cluster, declared in pages]
    assert joins(rows, ours(rows, 0.3))[1] == 0
    assert joins(rows, zytes(rows, tmp_path_factory.getbasetemp(), 0.3))[1] == 0


def test_the_command(tmp_path: Path) -> None:
    rows = site(*SPELLINGS["sid"])
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))

    run = partial(run_command, "rules", tmp_path)
    (rule,) = json.loads(run().output)
    assert rule["why"]["pages"] == 60
    assert run("--format", "regex").output == f"{rule['url']}\t{rule['to']}\n"
    assert json.loads(run("--format", "duplicate-url-discarder").output)[0]["args"] == ["sid"]
    # There are no rules for paths in that of another program.
    rows = [*rows, *(row(each["url"].replace("/t?", "/print/t?"), each["cluster"]) for each in rows)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert "without print/" in run().output
    theirs = json.loads(run("--format", "duplicate-url-discarder").output)
    assert {each["processor"] for each in theirs} == {"queryRemoval"}
    none = run("--min-precision", "0.99")
    assert json.loads(none.stdout) == []
    assert none.stderr.startswith("No rule")
    rows = site(*(each.replace("&", "&\x1b") for each in SPELLINGS["sid"]))
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert "(?:\N{REPLACEMENT CHARACTER}sid)" in run("--format", "regex").output

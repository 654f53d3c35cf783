"""Pages of one site go by their names, and two items of one site that visibly differ share no cluster."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.clustering import notes_differ
from scrapy_neardup.audit.names import name_pages
from scrapy_neardup.audit.sources.feeds import note_of

from .corpora import edited, feed, text


def release(folder: str, version: str, changes: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "url": f"https://docs.example/{folder}/class{n}.html",
            "title": f"Class{n}{text(n, 1)} (lib {version} API)",
            "text": edited(text(("class", n)), changes, folder),
        }
        for n in range(20)
    ]


def test_the_number_of_a_release_is_no_part_of_the_names_of_its_pages(tmp_path: Path) -> None:
    crawl = [*release("37", "3.7.1"), *release("39", "3.9.0-SNAPSHOT"), *release("310", "3.10", changes=3)]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        said = found.pages["verdict"].tolist()
        assert (said.count("exact"), said.count("near")) == (20, 20)
    assert len((tmp_path / "out" / "drop.txt").read_text().split()) == 20  # the others are a series
    years = [*release("2023", "2023"), *release("2024", "2024", changes=3)]  # those of a path are no releases
    with audit(feed(tmp_path / "b.jl", years), seed=0) as found:
        assert found.pages["verdict"].tolist().count("near") == 0


def test_a_page_of_a_template_repeats_itself_in_another_release(tmp_path: Path) -> None:
    crawl = [
        {
            "url": f"https://docs.example/{version}/class{n}.html",
            "title": f"Class{n}{text(n, 1)} (lib {version})",
            "text": text("shared") + f" class{n} {text(n, 1)} " + ("" if n % 2 else version),
        }
        for version in ("1.0", "2.0")
        for n in range(20)
    ]
    with audit(feed(tmp_path / "a.jl", crawl), seed=0) as found:
        pages = found.pages
        joined = pages[pages["canonical"] != range(len(pages))]
        assert len(joined) == 20
        for page in joined:
            kept = pages["url"][page["canonical"]]
            assert page["url"].replace("2.0", "1.0") == kept.replace("2.0", "1.0")


def test_another_name_is_another_page_and_a_longer_one_is_not_dropped_unasked(tmp_path: Path) -> None:
    others = [
        {"url": f"https://docs.example/1.0/{name}", "title": name, "text": edited(text("story"), 3, name)}
        for name in ("lib.gamma", "lib.random.gamma", "lib.random.Other.gamma")
    ]
    story = {"url": "https://docs.example/1.0/z", "title": "Gamma", "text": text("long story")}
    again = {**story, "url": "https://docs.example/1.0/zz", "title": "Gamma print version"}
    crawl = [*release("1.0", "1.0"), *others, story, again]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert found.pages["verdict"].tolist()[-5:] == ["template"] * 3 + ["unique", "near"]
    assert (tmp_path / "out" / "drop.txt").read_text() == ""


def test_the_name_of_the_site_and_the_section_of_a_story_name_no_page() -> None:
    heads = [f"Page {text(n, 1)} | Great Site" for n in range(20)]
    urls = [f"https://a.example/{n}" for n in range(20)]
    names, instead = name_pages([1] * 20, urls, heads, ["Great Site"] * 20)
    assert (instead, names.differ(0, 1)) == (dict(enumerate(heads)), True)
    names, instead = name_pages([1] * 20, urls, ["Great Site"] * 20, ["Great Site"] * 20)
    assert (instead, names.differ(0, 1)) == ({}, False)
    story = "Council agrees on a plan for the harbour"
    names, _ = name_pages([1] * 2, urls[:2], [f"{story} | Sport", f"{story} | News"], [story, story.upper()])
    assert (names.differ(0, 1), names.are_equal(0, 1)) == (False, False)


def test_pages_of_a_series_are_not_dropped_for_their_numbers(tmp_path: Path) -> None:
    def notes(version: int, url: str) -> dict[str, Any]:
        words = text("notes").split()
        return {"url": url, "title": "Project", "text": " ".join([*words[:150], str(version), *words[150:]])}

    def dropped(name: str, *urls: str) -> list[str]:
        rows = [notes(version, url) for version, url in enumerate(urls, 6)]
        with audit(feed(tmp_path / f"{name}.jl", rows), tmp_path / name, seed=0) as found:
            assert {*found.pages["verdict"].tolist()} == {"unique", "near"}
        return (tmp_path / name / "drop.txt").read_text().split()

    assert dropped("series", "https://a.example/notes-5-6", "https://a.example/notes-5-7") == []
    assert len(dropped("copies", "https://a.example/notes", "https://a.example/print/notes")) == 1


KETTLE = {"name": "Kettle", "price": "19.99", "colour": "red", "tags": ["kitchen", "steel"]}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, False), ({"name": "KETTLE | The Shop"}, False), ({"tags": ["steel", "kitchen"]}, True),
        ({"id": 17}, False), ({"productId": "x1"}, False), ({"item_url": "https://b.example/"}, False),
        ({"image": "/pictures/7.png"}, False), ({"sha1": "a" * 40}, False), ({"position": 5}, False),
        ({"crawled_at": "2024-05-01T10:00:00Z"}, False), ({"timestamp": 1.7e9}, False),
        ({"price": "24.99"}, True), ({"colour": "blue"}, True), ({"name": "Pan"}, True),
        ({"sku": "KT-100"}, True), ({"size": 12}, True), ({"about": text(1, 90)}, True),
    ],
)  # fmt: skip
def test_what_an_item_says(changed: dict[str, Any], told: bool) -> None:
    assert notes_differ(note_of(KETTLE), note_of(KETTLE | changed)) == told
    assert notes_differ(note_of(KETTLE | changed), note_of(KETTLE)) == told
    assert not notes_differ(note_of(KETTLE | changed), b"")


@pytest.mark.parametrize("sites", ["a", "abc"])
def test_brute_force_over_random_feeds(tmp_path: Path, sites: str) -> None:
    """No two pages of one site in a cluster differ; on one site none is lost."""
    rng = random.Random(3)
    rows: list[dict[str, Any]] = []
    for number in range(120):
        story = text(number % 4, 200)
        item = {"colour": rng.choice(["red", "blue"]), "price": rng.choice(["1.99", "2.99", None])}
        site = rng.choice(sites)
        rows.append({
            "url": f"https://{site}.example/{number}", "id": number, "hash": f"{number:08x}",
            "text": edited(story, 2, number) if number % 3 else story, **item,
        })  # fmt: skip
    with audit(feed(tmp_path / "a.jl", rows), tmp_path / "out", seed=0) as found:
        pages = found.pages
    items = {row["url"]: (row["url"][8], row["colour"], row["price"]) for row in rows}
    for number in range(len(found.clusters)):
        said = [items[url] for url in pages["url"][pages["cluster"] == number].tolist()]
        for site in "abc":
            assert len({each for each in said if each[0] == site}) <= 1
    kinds: dict[Any, list[str]] = {}
    for row in rows:
        kinds.setdefault((items[row["url"]], row["id"] % 4), []).append(row["url"])
    alone = {*pages["url"][pages["cluster"] < 0].tolist()}
    lost = [urls for urls in kinds.values() if len(urls) > 1 and {*urls} & alone]
    assert not lost or sites == "abc"
    assert len(lost) < 10
    assert (pages["cluster"] >= 0).sum() > 90


def test_on_two_sites_the_text_decides_unless_amounts_differ(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://{site}.example/", "text": text("one"), "price": price, "author": site}
        for site, price in (("a", "1.99"), ("b", "2.99"), ("c", None), ("d", "$1.99"))
    ]
    with audit(feed(tmp_path / "a.jl", rows), seed=0) as found:
        assert found.pages["verdict"].tolist() == ["unique", "unique", "exact", "exact"]


def test_many_items_with_one_text_are_no_square(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://a.example/{n}", "text": text("one"), "shade": f"Red {n // 2}"} for n in range(600)
    ]
    with audit(feed(tmp_path / "a.jl", rows), seed=0) as found:
        assert found.clusters["size"].tolist() == [2] * 300
        assert len(found.pairs) < 5000
        assert np.isin(found.pages["verdict"], ("unique", "exact")).all()

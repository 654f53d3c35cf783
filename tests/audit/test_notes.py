"""Two items of one site that visibly differ share no cluster; identifiers, URLs and times do not count."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.audit import audit, rethreshold
from scrapy_neardup.audit.names import UNIQUE, clashing, differ, note_of, telling_notes

from .corpora import edited, feed, text

if TYPE_CHECKING:
    from pathlib import Path

KETTLE = {"name": "Kettle", "price": "19.99", "colour": "red", "tags": ["kitchen", "steel"]}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, False), ({"name": "KETTLE | The Shop"}, False), ({"tags": ["steel", "kitchen"]}, True),
        ({"id": 17}, False), ({"productId": "x1"}, False), ({"item_url": "https://b.example/"}, False),
        ({"image": "/pictures/7.png"}, False), ({"sha1": "a" * 40}, False), ({"position": 5}, False),
        ({"crawled_at": "2024-05-01T10:00:00Z"}, False), ({"timestamp": 1.7e9}, False),
        ({"price": "24.99"}, True), ({"colour": "blue"}, True), ({"name": "Pan"}, True),
        ({"tags": ["garden"]}, True), ({"size": 12}, True), ({"about": text(1, 90)}, True),
    ],
)  # fmt: skip
def test_what_an_item_says(changed: dict[str, Any], told: bool) -> None:
    assert differ(note_of(KETTLE), note_of(KETTLE | changed)) == told
    assert differ(note_of(KETTLE | changed), note_of(KETTLE)) == told
    assert not differ(note_of(KETTLE | changed), b"")


def test_a_code_that_is_another_one_on_each_page_of_a_site_says_nothing() -> None:
    urls = [f"https://a.example/{n}" for n in range(UNIQUE)]
    items = [{"article": f"A{n}", "shelf": n // 2, "price": n, "name": f"Kettle {n}"} for n in range(UNIQUE)]
    notes = telling_notes([note_of(item) for item in items], [1] * UNIQUE, urls)
    alike = [note_of({**items[0], "article": f"A{n}"}) for n in range(UNIQUE)]
    for one, other in combinations(telling_notes(alike, [1] * UNIQUE, urls), 2):
        assert one == other
    # What people read is no code, and neither is what several pages have.
    assert all(differ(one, other) for one, other in combinations(notes, 2))
    # A page that was fetched twice has its code twice; on another site, and on few pages, codes count.
    again = telling_notes(alike * 2, [1] * 2 * UNIQUE, urls * 2)
    assert len({*again}) == 1
    few = telling_notes(alike, [n % 2 for n in range(UNIQUE)], urls)
    assert differ(few[0], few[2])


def test_those_that_clash_are_told_in_order() -> None:
    red, blue = note_of(KETTLE), note_of(KETTLE | {"colour": "blue"})
    assert [*clashing([red, blue, red, blue])] == [1, 3]
    assert [*clashing([red, note_of(KETTLE | {"name": "Kettle | Shop"}), red])] == []


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
            "code": 7 * number,
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
    before = (tmp_path / "out" / "pages.jsonl").read_bytes()
    with rethreshold(tmp_path / "out"):
        assert (tmp_path / "out" / "pages.jsonl").read_bytes() == before


def test_on_two_sites_the_text_decides(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://{site}.example/", "text": text("one"), "price": price}
        for site, price in (("a", "1.99"), ("b", "2.99"), ("c", None))
    ]
    with audit(feed(tmp_path / "a.jl", rows), seed=0) as found:
        assert found.pages["verdict"].tolist() == ["unique", "exact", "exact"]


def test_many_items_with_one_text_are_no_square(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://a.example/{n}", "text": text("one"), "shade": f"Red {n // 2}"} for n in range(600)
    ]
    with audit(feed(tmp_path / "a.jl", rows), seed=0) as found:
        assert found.clusters["size"].tolist() == [2] * 300
        assert len(found.pairs) < 5000
        assert np.isin(found.pages["verdict"], ("unique", "exact")).all()

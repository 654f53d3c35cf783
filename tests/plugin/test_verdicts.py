"""Walls, fuller pages and pages of templates keep callbacks and items under every policy, and are counted."""

from __future__ import annotations

import json
import random

import pytest

ONE_AT_A_TIME = {"CONCURRENT_REQUESTS": 1}
WALL = (
    "Before you go on, please prove that you are human. We have noticed unusual traffic from your network. "
    "Tick the box and solve the captcha below to return to the page that you asked for, and accept our "
    "apologies for the trouble."
)


def filled(words: str, value: int) -> str:
    """The same text with other numbers at four places."""
    parts = words.split()
    for place in range(20, 280, 65):
        parts.insert(place, str(value * place))
    return " ".join(parts)


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_walls_and_templates_keep_their_items(site, crawl, pages, text, page, policy):
    words = text(3, 300)
    bodies = {
        "/article": text(1),
        "/copy": text(1),
        "/wall/1": WALL,
        "/wall/2": WALL,
        "/report/1": filled(words, 7),
        "/report/2": filled(words, 11),
        "/report/3": filled(words, 13),
        "/report/2/copy": filled(words, 11),
    }
    site.pages.update({path: page(body) for path, body in bodies.items()})
    settings = {**ONE_AT_A_TIME, "NEARDUP_POLICY": policy}
    result = await crawl(pages, settings, urls=[site.url + path for path in bodies])
    counts = {
        name: result[name]
        for name in ("checked", "unique", "duplicate/exact", "duplicate/near", "wall", "template")
    }
    assert counts == {
        "checked": 8, "unique": 2, "duplicate/exact": 2, "duplicate/near": 0, "wall": 2, "template": 2,
    }  # fmt: skip
    assert result["confirmed"] == 4  # templates are stored, walls are not
    assert not result.errors
    kept = {item["url"].removeprefix(site.url) for item in result.items}
    assert kept == (set(bodies) if policy == "tag" else set(bodies) - {"/copy", "/report/2/copy"})
    assert set(result.spider.matches) == (
        set() if policy == "drop_page" else {f"{site.url}/copy", f"{site.url}/report/2/copy"}
    )


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_a_fuller_page_keeps_its_items_and_its_copies_are_told_by_it(
    site, crawl, pages, text, page, tmp_path, policy
):
    whole = text(5, 600)
    bodies = {
        "/preview": " ".join(whole.split()[:300]),
        "/whole": whole,
        "/copy": f"{whole} Shared by a reader.",
    }
    site.pages.update({path: page(body) for path, body in bodies.items()})
    report = tmp_path / "report.jl"
    settings = {**ONE_AT_A_TIME, "NEARDUP_POLICY": policy, "NEARDUP_REPORT": str(report)}
    result = await crawl(pages, settings, urls=[site.url + path for path in bodies])
    names = ("checked", "unique", "fuller", "duplicate/near", "confirmed")
    assert {name: result[name] for name in names} == dict(zip(names, (3, 1, 1, 1, 2), strict=True))
    kept = {item["url"].removeprefix(site.url) for item in result.items}
    assert kept == (set(bodies) if policy == "tag" else {"/preview", "/whole"})
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert [(line["verdict"], line["url"], line["match"], line["action"]) for line in lines] == [
        ("fuller", f"{site.url}/whole", f"{site.url}/preview", "passed"),
        ("near", f"{site.url}/copy", f"{site.url}/whole", policy),
    ]


async def test_templates_and_walls_of_a_kept_index(site, crawl, pages, text, page, tmp_path, monkeypatch):
    """The next crawl revisits what was stored, and still takes no page of a template for a copy."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)  # numbers may collide in a filter
    words = text(3, 300)
    for number in range(4):
        site.pages[f"/{number}"] = page(filled(words, 100 + 7 * number))
    site.pages["/wall"] = page(WALL)
    urls = [f"{site.url}/{number}" for number in range(3)] + [f"{site.url}/wall"]
    settings = {**ONE_AT_A_TIME, "NEARDUP_DIR": str(tmp_path / "index")}
    first = await crawl(pages, settings, urls=urls)
    assert (first["unique"], first["template"], first["wall"]) == (1, 2, 1)
    again = await crawl(pages, settings, urls=[*urls, f"{site.url}/3"])
    assert (again["revisit"], again["template"], again["wall"], again["duplicate"]) == (3, 1, 1, 0)
    assert len(again.items) == 5


async def test_pages_with_one_intro_or_footer_and_main_texts_of_their_own_are_all_kept(
    site, crawl, pages, text
):
    """Lists, lyrics and Thai have no full stops; what their pages have in common has."""
    shared = "".join(f"<p>{text(number, 60)}.</p>" for number in range(4))
    thai = [chr(letter) + "\u0e32" for letter in range(0x0E01, 0x0E2F)]

    def article(kind: str, number: int) -> str:
        dice = random.Random(f"{kind} {number}")
        if kind == "thai":
            own = "".join(
                f"<p>{' '.join(''.join(dice.choices(thai, k=9)) for _ in range(4))}</p>" for _ in range(6)
            )
            return f"<article>{own}</article><footer>{shared}</footer>"
        lines = [text(dice.random(), 7) for _ in range(60)]
        if kind == "lyrics":
            return f"<article><p>{'<br>'.join(lines)}</p></article><footer>{shared}</footer>"
        if kind == "list":
            return f"<article>{shared}<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul></article>"
        return f"<article>{shared}<p>{' '.join(lines)}</p></article>"

    for kind in ("thai", "lyrics", "list", "unended"):
        for number in range(3):
            site.pages[f"/{kind}/{number}"] = f"<html><body>{article(kind, number)}</body></html>".encode()
    site.pages["/list/copy"] = site.pages["/list/0"]
    settings = {**ONE_AT_A_TIME, "NEARDUP_EXTRACTOR": "trafilatura"}
    result = await crawl(pages, settings, urls=[site.url + path for path in site.pages])
    names = ("checked", "unique", "duplicate/exact", "duplicate")
    assert {name: result[name] for name in names} == dict(zip(names, (13, 12, 1, 1), strict=True))
    kept = {item["url"].removeprefix(site.url) for item in result.items}
    assert kept == {*site.pages} - {"/list/copy"}
    assert not result.errors

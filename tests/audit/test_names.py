"""Pages of one site go by their names: their titles, but for what the site and a release put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.names import name_pages

from .corpora import edited, feed, text

if TYPE_CHECKING:
    from pathlib import Path


def release(folder: str, version: str, changes: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "url": f"https://docs.example/{folder}/class{n}.html",
            "title": f"Class{n}{text(n, 1)} (lib {version} API)",
            "text": edited(text(("class", n)), changes, folder),
        }
        for n in range(20)
    ]


def verdicts(found: Any) -> list[str]:
    return found.pages["verdict"].tolist()  # type: ignore[no-any-return]


def test_the_number_of_a_release_is_no_part_of_the_names_of_its_pages(tmp_path: Path) -> None:
    crawl = [*release("37", "3.7.1"), *release("39", "3.9.0-SNAPSHOT")]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert verdicts(found).count("exact") == 20
    assert len((tmp_path / "out" / "drop.txt").read_text().split()) == 20


def test_years_of_a_path_are_no_releases(tmp_path: Path) -> None:
    crawl = [*release("2023", "2023"), *release("2024", "2024", changes=3)]
    with audit(feed(tmp_path / "a.jl", crawl), seed=0) as found:
        assert verdicts(found).count("near") == 0


def test_a_longer_name_is_another_one(tmp_path: Path) -> None:
    names = ["lib.gamma", "lib.random.gamma", "lib.random.Other.gamma"]
    story = [
        {"url": f"https://docs.example/1.0/{name}", "title": name, "text": edited(text("story"), 3, name)}
        for name in names
    ]
    with audit(feed(tmp_path / "a.jl", [*release("1.0", "1.0"), *story]), seed=0) as found:
        assert {*verdicts(found)[-3:]} == {"template"}


def test_what_only_adds_words_to_a_title_is_near_and_not_dropped_unasked(tmp_path: Path) -> None:
    story = {"url": "https://docs.example/1.0/z", "title": "Gamma", "text": text("story")}
    again = {**story, "url": "https://docs.example/1.0/zz", "title": "Gamma print version"}
    with audit(
        feed(tmp_path / "a.jl", [*release("1.0", "1.0"), story, again]), tmp_path / "out", seed=0
    ) as found:
        assert verdicts(found).count("near") == 1
    assert (tmp_path / "out" / "drop.txt").read_text() == ""


def test_a_headline_that_is_the_name_of_the_site_names_no_page() -> None:
    heads = [f"Page {text(n, 1)} | Great Site" for n in range(20)]
    urls = [f"https://a.example/{n}" for n in range(20)]
    names, instead = name_pages([1] * 20, urls, heads, ["Great Site"] * 20)
    assert instead == dict(enumerate(heads))
    assert names.differ(0, 1)
    names, instead = name_pages([1] * 20, urls, ["Great Site"] * 20, ["Great Site"] * 20)
    assert not instead
    assert not names.differ(0, 1)


def test_a_page_of_a_template_repeats_itself_in_another_release(tmp_path: Path) -> None:
    def classes(version: str) -> list[dict[str, Any]]:
        return [
            {
                "url": f"https://docs.example/{version}/class{n}.html",
                "title": f"Class{n}{text(n, 1)} (lib {version})",
                "text": text("shared") + f" class{n} {text(n, 1)} " + ("" if n % 2 else version),
            }
            for n in range(20)
        ]

    with audit(feed(tmp_path / "a.jl", [*classes("1.0"), *classes("2.0")]), seed=0) as found:
        pages = found.pages
        joined = pages[pages["canonical"] != range(len(pages))]
        assert len(joined) == 20
        for page in joined:
            kept = pages["url"][page["canonical"]]
            assert page["url"].replace("2.0", "1.0") == kept.replace("2.0", "1.0")

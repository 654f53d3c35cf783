"""Pages of one site go by their names: their titles, but for what the site and a release put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.names import name_pages
from scrapy_neardup.audit.urls import place_of

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


def test_a_release_may_stand_behind_the_name_of_what_it_is_of(tmp_path: Path) -> None:
    crawl = [*release("lib-3.7.1/html", "3.7.1"), *release("lib-3.10.0/html", "3.10.0", changes=3)]
    with audit(feed(tmp_path / "a.jl", crawl), seed=0, urls=("*/lib-3.10.0/*",)) as found:
        assert verdicts(found).count("near") == 20
        assert all("3.10.0" in url for url in found.pages["url"][found.pages["verdict"] == "unique"])
    assert place_of("https://a.example/lib-2.1/x") == ("/lib-2.1", "https://a.example/lib/x")
    assert place_of("https://a.example/docs/lib_v2.1.3/x")[0] == "/docs/lib_v2.1.3"
    assert place_of("https://a.example/notes/lib-2.1")[0] == ""  # a page
    assert place_of("https://a.example/story-2/x")[0] == ""


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


def numbered(heads: list[str], titles: list[str]) -> Any:
    """Return the names of pages of one site, with others whose titles have nothing in common with them."""
    more = [f"Other{n} {text(n, 1)}" for n in range(20)]
    urls = [f"https://a.example/{n}" for n in range(len(heads) + 20)]
    return name_pages([1] * len(urls), urls, [*heads, *more], [*titles, *more])[0]


def test_where_the_headline_is_only_a_heading_the_title_in_the_head_tells_pages_apart() -> None:
    names = numbered(["Events for July 2016", "Events for May 2020"], ["Products", "Products"])
    assert names.differ(0, 1)
    # The heading of a nested class, and headlines of several stories on one page.
    names = numbered(["Anchor.Close (API)", "Form.Close (API)"], ["Close", "Close"])
    assert names.differ(0, 1)
    several = "How two firms track phones What northern lights are Why routers stay on"
    names = numbered(["How two firms track phones", "What northern lights are"], [several, several])
    assert names.differ(0, 1)


def test_a_headline_that_many_pages_share_names_a_kind_of_page() -> None:
    parts = ["Async", "Cache", "Export", "Rest", "Spring"]
    heads = [f"Project Team: {part}" for part in parts]
    assert numbered(heads, ["Project Team"] * 5).differ(0, 4)
    assert not numbered([*heads[:4], heads[0]], ["Project Team"] * 5).differ(0, 4)
    # Not if they are so few that they may be one story in some sections.
    assert not numbered(heads[:4], ["Project Team"] * 4).differ(0, 3)


def test_the_section_in_the_title_of_a_story_tells_no_pages_apart() -> None:
    story = "Council agrees on a plan for the harbour"
    assert not numbered([f"{story} | Sport", f"{story} | News"], [story, story]).differ(0, 1)
    sections = ["Sport today"] * 15 + ["News today"] * 15
    assert not numbered(sections, [story] * 30).differ(0, 29)


def test_case_tells_pages_apart_where_as_many_words_have_the_same_capitals() -> None:
    def differ(one: str, other: str) -> bool:
        return bool(numbered([one, other], [one, other]).differ(0, 1))

    assert differ("LINK /Fr", "LINK /FR")
    assert differ("CL option zI", "CL option ZI")
    assert not differ("Council agrees on NATO plan", "COUNCIL AGREES ON NATO PLAN")
    assert not differ("Council Agrees", "COUNCIL AGREES")
    assert not differ("Council And Harbour", "Council and Harbour")
    assert not differ("/Fr", "/FR")


def test_what_is_equal_under_another_name_is_listed_and_not_dropped_unasked(tmp_path: Path) -> None:
    story = {"url": "https://docs.example/1.0/z", "title": "LINK /Fr", "text": text("story")}
    other = {**story, "url": "https://docs.example/1.0/zz", "title": "LINK /FR"}
    again = {**story, "url": "https://docs.example/1.0/zzz"}
    with audit(
        feed(tmp_path / "a.jl", [*release("1.0", "1.0"), story, other, again]), tmp_path / "out", seed=0
    ) as found:
        assert verdicts(found).count("exact") == 2
    assert (tmp_path / "out" / "drop.txt").read_text() == "https://docs.example/1.0/zzz\n"


def test_pages_of_a_series_are_not_dropped_for_their_numbers(tmp_path: Path) -> None:
    def notes(version: int, url: str) -> dict[str, Any]:
        words = text("notes").split()
        return {"url": url, "title": "Project", "text": " ".join([*words[:150], str(version), *words[150:]])}

    def dropped(name: str, *urls: str) -> list[str]:
        rows = [notes(version, url) for version, url in enumerate(urls, 6)]
        with audit(feed(tmp_path / f"{name}.jl", rows), tmp_path / name, seed=0) as found:
            assert {*verdicts(found)} == {"unique", "near"}
        return (tmp_path / name / "drop.txt").read_text().split()

    assert dropped("series", "https://a.example/notes-5-6", "https://a.example/notes-5-7") == []
    assert len(dropped("copies", "https://a.example/notes", "https://a.example/print/notes")) == 1

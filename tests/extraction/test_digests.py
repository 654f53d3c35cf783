"""Lists of other articles are left out of a text, those that the page is about are not."""

from __future__ import annotations

import pytest

from scrapy_neardup import Detector

from .test_segment import OWN, TITLE, extracted, marked, page, paragraphs

HEADED = f"<h1>{TITLE}</h1>"
SHORT = [f"{text[:120]}." for text in paragraphs(201, 9)]
NAMES = [text[:40] for text in paragraphs(202, 9)]


def linked(name: str, number: int = 0) -> str:
    return f"<a href='/news/{number}'>{name}</a>"


def items(tag: str = "li", names: list[str] = NAMES, texts: list[str] = SHORT) -> str:
    """Entries of a title that is a link, and a text."""
    return "".join(
        f"<{tag}><h4>{linked(name, number)}</h4><p>{text}</p><span>5 May 2021</span></{tag}>"
        for number, (name, text) in enumerate(zip(names, texts, strict=True))
    )


LISTS = {
    "in a list": f"<ul>{items()}</ul>",
    "in elements without a meaning": f"<div>{items('div')}</div>",
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_other_articles_is_no_part_of_the_text(name: str) -> None:
    article = f"<div>{marked(OWN)}</div>"
    assert extracted(page(HEADED + article + LISTS[name])).text.split("\n") == OWN
    assert extracted(page(HEADED + LISTS[name] + article)).text.split("\n") == OWN
    assert extracted(page(LISTS[name] + HEADED + article)).text.split("\n") == OWN


KEPT = {
    "the article goes on behind it": f"<div>{marked(OWN[:3])}<ul>{items()}</ul>{marked(OWN[3:])}</div>",
    "an entry is too long for one of another article": f"<div>{marked(OWN[:4])}</div><ul>"
    + items("li", NAMES[:4], [*SHORT[:3], " ".join(OWN[4:] + paragraphs(204, 1))])
    + "</ul>",
    "links that unfold the answers to questions": f"<div>{marked(OWN[:4])}</div><ul>{items()}</ul>".replace(
        "'/news/", "'#answer-"
    ),
    "much more than the other paragraphs": f"<div>{marked(OWN[:3])}</div><ul>{items() * 3}</ul>",
    "an introduction and a list": f"<div>{marked(OWN[:1])}</div><ul>{items()}</ul>",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_list_is_part_of_what_the_page_is_about(name: str) -> None:
    kept = extracted(page(HEADED + KEPT[name])).text
    assert SHORT[1] in kept


def test_pages_of_a_site_with_an_introduction_in_common_and_other_lists_are_two_pages() -> None:
    introduction = marked(paragraphs(207, 3))

    def listing(seed: int) -> str:
        names, texts = (
            [text[:45] for text in paragraphs(seed, 7)],
            [f"{text[:150]}." for text in paragraphs(seed + 1, 7)],
        )
        return page(f"{HEADED}<div>{introduction}</div><ul>{items('li', names, texts)}</ul>")

    first, second = extracted(listing(210)), extracted(listing(220))
    assert first.text == second.text
    with Detector.open() as detector:
        assert detector.add(first, url="https://a.example/list").kind == "unique"
        assert not detector.check(second, url="https://a.example/list?page=2").is_duplicate
        assert detector.check(first, url="https://a.example/list?page=1").kind == "exact"


def test_lists_beside_an_article_make_no_other_page_of_its_copy_on_another_site() -> None:
    def copy(seed: int) -> str:
        names, texts = (
            [text[:45] for text in paragraphs(seed, 8)],
            [f"{text[:190]}." for text in paragraphs(seed + 1, 8)],
        )
        return page(f"{HEADED}<div>{marked(OWN)}</div><ul>{items('li', names, texts)}</ul>")

    with Detector.open() as detector:
        assert detector.add(extracted(copy(230)), url="https://harbour-site.com/a").kind == "unique"
        assert detector.check(extracted(copy(240)), url="https://island-site.com/b").is_duplicate

"""What is of others is left out of a text: lists of other articles, and letters that an answer quotes."""

from __future__ import annotations

import re
import textwrap

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint.main_text import MainText

from .test_segment import OWN, TITLE, extracted, marked, page, paragraphs, told_apart

HEADED = f"<h1>{TITLE}</h1>"
SHORT = [f"{text[:120]}." for text in paragraphs(201, 9)]
NAMES = [text[:40] for text in paragraphs(202, 9)]


def items(tag: str = "li", names: list[str] = NAMES, texts: list[str] = SHORT) -> str:
    """Entries of a title that is a link, and a text."""
    return "".join(
        f"<{tag}><h4><a href='/news/{number}'>{name}</a></h4><p>{text}</p><span>5 May 2021</span></{tag}>"
        for number, (name, text) in enumerate(zip(names, texts, strict=True))
    )


def others(seed: int) -> str:
    """A list of other articles."""
    texts = [f"{text[:150]}." for text in paragraphs(seed + 1, 8)]
    return f"<ul>{items('li', [text[:45] for text in paragraphs(seed, 8)], texts)}</ul>"


@pytest.mark.parametrize("listed", [f"<ul>{items()}</ul>", f"<div>{items('div')}</div>"])
def test_a_list_of_other_articles_is_no_part_of_the_text(listed: str) -> None:
    article = f"<div>{marked(OWN)}</div>"
    for body in (HEADED + article + listed, HEADED + listed + article, listed + HEADED + article):
        assert extracted(page(body)).text.split("\n") == OWN


KEPT = {
    "the article goes on behind it": f"<div>{marked(OWN[:3])}<ul>{items()}</ul>{marked(OWN[3:])}</div>",
    "links that unfold the answers to questions": f"<div>{marked(OWN[:4])}</div><ul>{items()}</ul>".replace(
        "'/news/", "'#answer-"
    ),
    "much more than the other paragraphs": f"<div>{marked(OWN[:3])}</div><ul>{items() * 3}</ul>",
    "an introduction and a list": f"<div>{marked(OWN[:1])}</div><ul>{items()}</ul>",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_list_is_part_of_what_the_page_is_about(name: str) -> None:
    assert SHORT[1] in extracted(page(HEADED + KEPT[name])).text


def test_pages_of_a_site_with_an_introduction_in_common_and_other_lists_are_two_pages() -> None:
    introduction = f"{HEADED}<div>{marked(paragraphs(207, 3))}</div>"
    first, second = (extracted(page(introduction + others(seed))) for seed in (210, 220))
    assert first.text == second.text
    told_apart(first, second)


def test_lists_beside_an_article_make_no_other_page_of_its_copy_on_another_site() -> None:
    copies = [extracted(page(f"{HEADED}<div>{marked(OWN)}</div>{others(seed)}")) for seed in (230, 240)]
    with Detector.open() as detector:
        assert detector.add(copies[0], url="https://harbour-site.com/a").kind == "unique"
        assert detector.check(copies[1], url="https://island-site.com/b").is_duplicate


def archived(lines: list[str], form: str, title: str) -> MainText:
    """A letter in the archive of a mailing list."""
    text = [line.replace("<", "&lt;").replace(">", "&gt;") for line in lines]
    text = [re.sub(r"(https:\S+)", r'<a href="\1">\1</a>', line) for line in text]
    if form == "pre":
        body = "<pre>" + "\n".join(text) + "</pre>"
    else:
        body = "<p>" + "<br>\n".join(text).replace("<br>\n<br>", "</p><p>") + "</p>"
    return extracted(page(f"<h1>{title}</h1>{body}", title))


@pytest.mark.parametrize("form", ["pre", "br"])
@pytest.mark.parametrize("words", [5, 60, 150])
def test_an_answer_is_another_page_than_the_letter_that_it_quotes(form: str, words: int) -> None:
    """It was dropped as a copy. Whether an answer is long or short, its own words are its text."""
    letter = [textwrap.wrap(text, 68) for text in paragraphs(50, 4, 50)]
    (answer,) = paragraphs(51, 1, words)
    said = [line for text in letter for line in (*text, "")]
    said[-1:] = [f"https://list.example/{'file' * 60}"] * 3  # no links of the answer
    quotation = [f"> {line}".rstrip() for line in said]
    replied = ["On Monday, Ann Lee wrote:", *quotation, "", *textwrap.wrap(answer, 70)]
    first, second = (archived(lines, form, "A summer harbour") for lines in (said, replied))
    assert answer[:30] in second.text
    assert letter[1][0][:30] not in second.text
    told_apart(first, second)


@pytest.mark.parametrize("form", ["pre", "br"])
def test_pages_that_differ_in_what_they_quote_are_no_copies(form: str) -> None:
    """They were dropped: a letter may be of little but what it quotes."""
    thoughts, around = paragraphs(53, 3, 25), paragraphs(52, 3, 40)
    found = [archived(["Ann Lee wrote:", f"> {each}", "", *around], form, "Thoughts") for each in thoughts]
    assert not any(thought in each.text for thought, each in zip(thoughts, found, strict=True))
    told_apart(*found)

"""An answer is another page than the letter that it quotes, as archives of mailing lists have them."""

from __future__ import annotations

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.extraction.segment import Segment

from .test_segment import page, paragraphs

segment = Segment()


def wrapped(text: str, mark: str = "", width: int = 70) -> list[str]:
    lines, line = [], mark
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = mark
        line += ("" if line in ("", mark) else " ") + word
    return [*lines, line]


def archived(lines: list[str], form: str) -> str:
    """A letter in the archive of a mailing list."""
    text = [line.replace("<", "&lt;").replace(">", "&gt;") for line in lines]
    if form == "pre":
        return "<pre>" + "\n".join(text) + "</pre>"
    return "<p>" + "<br>\n".join(text).replace("<br>\n<br>", "</p><p>") + "</p>"


@pytest.mark.parametrize("form", ["pre", "br"])
@pytest.mark.parametrize("words", [5, 60, 150])
def test_an_answer_is_another_page_than_the_letter_that_it_quotes(form: str, words: int) -> None:
    """It was dropped as a copy. Whether an answer is long or short, its own words are its text."""
    letter = paragraphs(50, 4, 50)
    (answer,) = paragraphs(51, 1, words)
    quotation = [line for text in letter for line in (*wrapped(text, "> "), ">")]
    said = [line for text in letter for line in (*wrapped(text), "")]
    replied = ["On Monday, Ann Lee wrote:", *quotation, "", *wrapped(answer)]
    first, second = (
        segment(page(f"<h1>A summer harbour</h1>{archived(lines, form)}", "A summer harbour"), None)
        for lines in (said, replied)
    )
    assert first is not None
    assert second is not None
    assert answer[:30] in second.text
    assert letter[1][:30] not in second.text
    with Detector.open() as detector:
        assert detector.add(first, url="https://list.example/1.html").kind == "unique"
        assert detector.add(second, url="https://list.example/2.html").kind in ("unique", "too_short")


@pytest.mark.parametrize("form", ["pre", "br"])
def test_pages_that_differ_in_what_they_quote_are_no_copies(form: str) -> None:
    """They were dropped: a letter may be of little but what it quotes."""
    around = paragraphs(52, 3, 40)
    with Detector.open() as detector:
        for number, thought in enumerate(paragraphs(53, 3, 25)):
            lines = ["Ann Lee wrote:", f"> {thought}", "", *around]
            found = segment(page(f"<h1>Thoughts</h1>{archived(lines, form)}", "Thoughts"), None)
            assert found is not None
            assert thought not in found.text
            assert not detector.add(found, url=f"https://thoughts-site.com/{number}").is_duplicate

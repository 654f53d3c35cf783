"""What a letter quotes from another one is no text of its own; a session at a prompt quotes nothing."""

from __future__ import annotations

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.extraction.quotations import quoted_lines
from scrapy_neardup.extraction.segment import Segment

from .test_segment import page, paragraphs

segment = Segment()

QUOTED = ["> The harbour stays open all summer, for the first", "> time in many years.", ">"]


def wrapped(text: str, mark: str = "", width: int = 70) -> list[str]:
    lines, line = [], mark
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = mark
        line += ("" if line in ("", mark) else " ") + word
    return [*lines, line]


@pytest.mark.parametrize(
    "source", ["On Monday, Ann Lee wrote:", "Am 3. Mai schrieb Ann Lee:", "Ann Lee a écrit :"]
)
@pytest.mark.parametrize("between", [[], ["", ""]])
def test_lines_that_a_letter_quotes(source: str, between: list[str]) -> None:
    letter = [source, *between, *QUOTED, "And so it should.", "> Is it?", "Yes."]
    assert [line for line, quoted in zip(letter, quoted_lines(letter), strict=True) if not quoted] == [
        source,
        *between,
        "And so it should.",
        "Yes.",
    ]


def test_a_letter_that_begins_with_a_quotation_of_a_quotation() -> None:
    letter = ["> Ann Lee wrote:", *(f">{line}" for line in QUOTED), "", "So do I."]
    assert quoted_lines(letter) == [True] * 4 + [False] * 2


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Nothing is quoted here: not a line."],
        QUOTED,  # and nothing said
        ["On Monday Ann wrote:", *QUOTED],
        ["Somebody said", *QUOTED, "and went."],  # nobody who knows whom
        ["Try this:", "> npm install", "> npm start", "Now it runs."],
        [
            "Numbers are printed as follows:",
            ">>> print(1.5)  # as they are, whatever the language of the user.",
            "1.5",
        ],
        ["FASTA:", ">sequence 1", "ACGT"],
        [
            "1c1",
            "< The harbour is closed.",
            "---",
            "> The harbour stays open all summer, for the first time.",
        ],
    ],
)
def test_what_quotes_nothing(lines: list[str]) -> None:
    assert quoted_lines(lines) == [False] * len(lines)


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

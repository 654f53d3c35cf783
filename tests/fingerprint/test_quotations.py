"""What a letter quotes from another one is no text of its own; a session at a prompt quotes nothing."""

from __future__ import annotations

import random
import textwrap

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint.main_text import parted, quoted_lines

QUOTED = ["> The harbour stays open all summer, for the first", "> time in many years.", ">"]


@pytest.mark.parametrize(
    "source",
    [
        "On Monday, Ann Lee wrote:",
        "Am 3. Mai schrieb Ann Lee:",
        "Ann Lee a écrit :",
        "Ann Lee <ann@quay.example>:",
        "Ann Lee (ann at quay.example):",
        "4 Jun, 10:05, Ann Lee:",
        "Анна Ли писала:",
    ],
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
        ["The statement in full:", *QUOTED, "So far the council."],
        ["Our services:", "> We build harbours of wood and of stone, in all seasons.", "Call us."],
        ["Example 4:", "> > " + "a long line of output " * 10, "Done."],
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


@pytest.mark.parametrize("mark", ["> ", "|> ", ">> ", "> > "])
def test_marks_of_quoted_lines(mark: str) -> None:
    """Some programs put a stroke before the mark; who leaves out one of two letters begins with two marks."""
    letter = ["On Monday, Ann Lee wrote:", *(mark + line[2:] for line in QUOTED[:2]), "And so it should."]
    assert quoted_lines(letter) == [False, True, True, False]


def test_a_long_line_is_a_paragraph_however_it_ends() -> None:
    quoted = "> " + "The harbour stays open all summer " * 7 + "for the first time, yours, Ann"
    letter = ["On Monday, Ann Lee wrote:", quoted, "And so it should."]
    assert quoted_lines(letter) == [False, True, False]


def test_what_a_plain_text_quotes_is_left_out() -> None:
    letter = ["On Monday, Ann Lee wrote:", *QUOTED, "And so it should."]
    assert parted("\n".join(letter)) == ("On Monday, Ann Lee wrote:\nAnd so it should.", "\n".join(QUOTED))
    for text in ("", "a > b", "One line.\nAnother, where 2 > 1.\n"):
        assert parted(text) == (text, "")


def test_the_signature_of_an_answer_is_left_out() -> None:
    """Two short answers of one person, with titles and addresses below, were taken for copies."""
    letter = ["On Monday, Ann Lee wrote:", *QUOTED, "--", "And so it should.", *["-"] * 20, "Yes."]
    own = ["On Monday, Ann Lee wrote:", "--", "And so it should.", *["-"] * 20, "Yes."]
    signature = ["-- ", "Bob Ray", "1 Quay"]
    parts = parted("\n".join([*letter, *signature]))
    assert parts == ("\n".join(own), "\n".join([*QUOTED, *signature]))
    assert parted("Yes. 2 > 1.\n-- \nBob Ray") == ("Yes. 2 > 1.\n-- \nBob Ray", "")


def letter_of(dice: random.Random, words: int) -> str:
    return " ".join("".join(dice.choices("bdfglmnrst", k=5)) for _ in range(words)).capitalize() + "."


@pytest.mark.parametrize("mark", ["> ", "|> "])
def test_an_answer_in_plain_text_is_no_copy_of_the_letter_that_it_quotes(mark: str) -> None:
    """It was: most of its words are those of the letter."""
    dice = random.Random(13)
    letter = [letter_of(dice, 50) for _ in range(4)]
    marks = {"initial_indent": mark, "subsequent_indent": mark}
    quoted = "\n".join(textwrap.fill(each, 66, **marks) for each in letter)
    answer = textwrap.fill(letter_of(dice, 45), 70)
    with Detector.open() as detector:
        said = "\n\n".join(textwrap.fill(each, 70) for each in letter)
        assert detector.add(said, url="https://list-site.com/1").kind == "unique"
        verdict = detector.add(
            f"On Monday, Ann Lee wrote:\n{quoted}\n\n{answer}\n", url="https://list-site.com/2"
        )
        assert verdict.kind == "unique"
        # And an answer to that, which quotes both, is another one.
        twice = "\n".join(f"> {line}" for line in (*quoted.split("\n"), *answer.split("\n")))
        again = textwrap.fill(letter_of(dice, 45), 70)
        text = f"On Tuesday, Bob Ray wrote:\n{twice}\n\n{again}\n"
        assert detector.add(text, url="https://list-site.com/3").kind == "unique"


def test_plain_texts_that_differ_in_what_they_quote_are_no_copies() -> None:
    """In Markdown a quotation is marked as in a letter, and may be all that a page has of its own."""
    dice = random.Random(17)
    around = letter_of(dice, 60)
    with Detector.open() as detector:
        for number in range(3):
            text = f"The thought of the day:\n> {letter_of(dice, 20)}\n\n{around}\n"
            assert not detector.add(text, url=f"https://thoughts-site.com/{number}").is_duplicate
            assert detector.add(text, url=f"https://copy-{number}-site.com/").kind == "exact"

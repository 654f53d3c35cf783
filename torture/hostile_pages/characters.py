"""Odd characters, and words, numbers and lines without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import page, sentences

if TYPE_CHECKING:
    import random

    from torture.crawling import Answer

_ODD = (
    "\0\x01\x08\x0b\x0c\x1b\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a"
    "\u202e\u2060\u2066\u2069\u3164\ufe0f\ufeff\ufff9\ufffc\ufffd\uffff\U000e0001\U000e0020\U0010ffff"
)


def odd_characters(dice: random.Random) -> Answer:
    def spoiled(text: str) -> str:
        return "".join(each + (dice.choice(_ODD) if dice.random() < 0.2 else "") for each in text)

    return page(*map(spoiled, sentences(dice)))


def surrogates(dice: random.Random) -> Answer:
    return page(*("\ud800".join(each.split()) + "\udfff" * 50 for each in sentences(dice)))


def combining(dice: random.Random) -> Answer:
    """Normalisation orders the marks of each letter: a letter with a hundred thousand of them takes long."""
    marks = "".join(
        dice.choices(
            "\u0300\u0316\u0327\u0345\u3099\u0591\u0f71\U0001d165", k=int(10 ** dice.uniform(2, 5.5))
        )
    )
    return page(*sentences(dice), "a" + marks + " word " + marks)


def joined(dice: random.Random) -> Answer:
    chain = "\u200d".join(dice.choices("👨👩👧❤🏳🦰a一", k=int(10 ** dice.uniform(2, 5.5))))
    return page(*sentences(dice), chain)


def directions(dice: random.Random) -> Answer:
    marks = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069"
    return page(
        *("".join(f"{dice.choice(marks)}{word} " for word in each.split()) for each in sentences(dice))
    )


def ligatures(dice: random.Random) -> Answer:
    """One character of which NFKC makes eighteen."""
    return page(*sentences(dice), "\ufdfa" * int(10 ** dice.uniform(3, 5.5)))


def one_word(dice: random.Random) -> Answer:
    size = int(10 ** dice.uniform(5, 6.5))
    return page("".join(dice.choices("abc字กаا.-_'’", k=50)) * (size // 50), *sentences(dice))


def one_character(dice: random.Random) -> Answer:
    return page(dice.choice("a1.-, ่\u0300字\u200b￼") * int(10 ** dice.uniform(5, 6.4)), *sentences(dice))


def numbers(dice: random.Random) -> Answer:
    many = " ".join(str(dice.randrange(10 ** dice.randint(1, 40))) for _ in range(20_000))
    return page(many, "9" * dice.randint(1, 100_000), *sentences(dice))


def many_lines(dice: random.Random) -> Answer:
    return page("<br>".join(dice.choices("abcdefgh", k=int(10 ** dice.uniform(3, 5.5)))), *sentences(dice))

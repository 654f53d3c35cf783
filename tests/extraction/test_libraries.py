"""The main text is the sentences of what was extracted, or all of it.

It is never only what other pages have, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.extraction.libraries import main_text
from scrapy_neardup.fingerprint.main_text import MainText

from .hostile import ENGLISH, FRENCH
from .test_segment import told_apart

SHORT = "So the harbour will stay open, said the mayor on Tuesday night."  # 63 letters


def text_of(extracted: str, html: str) -> str:
    return (main_text(extracted, html) or MainText("")).text


def page(*paragraphs: str) -> str:
    return "<html><body>" + "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs) + "</body></html>"


def test_visible_sentences_join_what_has_few_letters() -> None:
    others = [f"{ENGLISH} {number}." for number in range(12)]
    visible = page("Menu", *others, SHORT)
    # Of all that is visible only paragraphs of 100 letters count, because the boilerplate is visible, too.
    assert text_of("", visible) == "\n".join(others)
    assert text_of(f"{SHORT}\n{others[0][:120]}", visible) == "\n".join(
        [f"{SHORT} {others[0][:120]}", *others]
    )
    # Lines too short for the fingerprint are a paragraph of it when they are joined.
    assert text_of("one\ntwo\nthree", visible) == "\n".join(["one two three", *others])


def test_what_is_visible_never_takes_the_place_of_an_extraction() -> None:
    extracted = "\n".join([ENGLISH] * 2)
    assert text_of(extracted, page(*[FRENCH] * 40)) == extracted


LATIN = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
CYRILLIC = [a + b for a in "бвгдклмнпрст" for b in "аеиоу"]
HAN = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生"
THAI = [a + b for a in "กขคงจชดตถทนบปผฟมยรลวสห" for b in "าะ"]


class Parts(NamedTuple):
    """Parts of a page: what all have before the article, its own lines, what all have after it."""

    before: list[str]
    own: list[str]
    after: list[str]


def words(dice: random.Random, syllables: list[str], count: int) -> str:
    return " ".join("".join(dice.choices(syllables, k=3)) for _ in range(count))


def sentences(syllables: list[str], count: int) -> list[str]:
    """The same for every page of a site: *count* paragraphs of some 300 letters that end like a sentence."""
    dice = random.Random(1)
    return [words(dice, syllables, 45) + "." for _ in range(count)]


def thai(dice: random.Random) -> Parts:
    """An article of some 350 letters, less than the footer below it."""
    return Parts(
        [],
        [" ".join(words(dice, THAI, 4).replace(" ", "") for _ in range(3)) for _ in range(5)],
        sentences(LATIN, 3),
    )


def lyrics(dice: random.Random) -> Parts:
    return Parts([], [words(dice, LATIN, 7) for _ in range(40)], sentences(LATIN, 6))


def short_items(dice: random.Random) -> Parts:
    """Lines that the fingerprint leaves out if there are paragraphs, on a page with hardly anything else."""
    return Parts(sentences(CYRILLIC, 6), [words(dice, CYRILLIC, 3) for _ in range(110)], [])


def few_letters(dice: random.Random) -> Parts:
    return Parts([], [words(dice, LATIN, 9) for _ in range(6)], sentences(LATIN, 3))


def without_stops(dice: random.Random) -> Parts:
    return Parts([], ["".join(dice.choices(HAN, k=15)) for _ in range(20)], sentences(LATIN, 3))


def unended(dice: random.Random) -> Parts:
    return Parts(
        sentences(CYRILLIC, 3), [words(dice, CYRILLIC, 400) for _ in range(3)], sentences(CYRILLIC, 3)
    )


KINDS = [thai, lyrics, short_items, few_letters, without_stops, unended]


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_what_is_not_shared_is_kept(kind: Callable[[random.Random], Parts]) -> None:
    before, own, after = kind(random.Random(2))
    text = text_of("\n".join(before + own), page(*before, *own, *after))
    assert all(line in text for line in own)


@pytest.mark.parametrize("extractor", ["segment", "trafilatura", "resiliparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_share_only_what_surrounds_their_main_text_are_no_copies(
    kind: Callable[[random.Random], Parts], extractor: str
) -> None:
    texts = []
    for number in range(2):
        before, own, after = kind(random.Random(number))
        article = "".join(f"<p>{line}</p>" for line in before + own)
        footer = "".join(f"<p>{line}</p>" for line in after)
        html = f"<html><body><article>{article}</article><footer>{footer}</footer></body></html>"
        found = load_extractor(extractor)(html, None)
        texts.append(found if isinstance(found, MainText) else MainText(found or ""))
    told_apart(*texts)

"""Chinese words in place of characters are cut right; but SimHash finds more copies by characters."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import hamming
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.segment import RjiebaSegmenter, segment
from scrapy_neardup.fingerprint.simhash import fingerprint
from scrapy_neardup.fingerprint.terms import hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.fingerprint.tokens import Tokens

ARTICLES = Path(__file__).parents[2] / "example_project" / "network" / "articles"


class InTwos:
    identity = "in twos"

    def cut(self, text: str) -> Sequence[str]:
        return [word for run in text.split("\n") for word in (run[i : i + 2] for i in range(0, len(run), 2))]


class Rewriting(InTwos):
    identity = "rewriting"

    def cut(self, text: str) -> Sequence[str]:
        return ["国" * len(text)]


def words(text: str) -> list[str]:
    text = normalise(text)
    return segment(text, tokenise(text), RjiebaSegmenter()).words


def test_words_of_a_sentence() -> None:
    assert words("我们中出了一个叛徒") == ["我们", "中出", "了", "一个", "叛徒"]  # from the README of rjieba


def test_words_do_not_cross_punctuation_and_other_scripts_stay() -> None:
    assert words("今天北京，大学 iPhone 15发布；東京タワー") == [
        "今天", "北京", "大学", "iphone", "15", "发布", "東京", "タ", "ワ", "ー",
    ]  # fmt: skip


def numbers(tokens: Tokens) -> list[str]:
    return [word for word, number in zip(tokens.words, tokens.numbers, strict=True) if number]


@given(st.text(st.sampled_from("中国人。，a1 か〆々〇\u0301\u302aก\n")))
def test_only_han_characters_are_joined(text: str) -> None:
    text = normalise(text)
    tokens = tokenise(text)
    joined = segment(text, tokens, InTwos())
    assert "".join(joined.words) == "".join(tokens.words)
    assert (
        len(joined)
        == len(joined.unspaced)
        == len(joined.syllables)
        == len(joined.letters)
        == len(joined.numbers)
    )
    han = tokens.unspaced & ~tokens.syllables
    assert [word for word, single in zip(joined.words, joined.unspaced, strict=True) if single] == [
        word for word, kana in zip(tokens.words, tokens.syllables, strict=True) if kana
    ]
    assert len(joined.words) <= len(tokens.words) <= len(joined.words) + np.count_nonzero(han)
    assert joined.numbers.sum() <= tokens.numbers.sum()


def test_a_word_of_numbers_is_a_number() -> None:
    text = "三十人人人十"
    assert numbers(segment(text, tokenise(text), InTwos())) == ["三十"]


def test_a_segmenter_that_changes_the_text_is_refused() -> None:
    text = "中国人"
    with pytest.raises(ConfigurationError, match=r"'rewriting' gave other characters .* in order\.$"):
        segment(text, tokenise(text), Rewriting())


def test_a_segmenter_that_fails_is_named() -> None:
    class Failing:
        identity = "failing 1"

        def cut(self, text: str) -> list[str]:
            raise OSError("no dictionary")

    text = "中国人"
    with pytest.raises(ConfigurationError, match=r"'failing 1' has failed \(OSError\('no dictionary'\)\)"):
        segment(text, tokenise(text), Failing())


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(ConfigurationError, match=r"scrapy-neardup\[chinese\]"):
        RjiebaSegmenter()


def test_the_identity_has_the_version() -> None:
    name, release = RjiebaSegmenter().identity.split()
    assert name == "rjieba"
    assert release[0].isdigit()


def chinese_articles() -> list[str]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(ARTICLES.glob("*.txt")))
    bodies = [text.partition("\n\n")[2] for text in texts if text.startswith("language: zh")]
    return [body for body in bodies if len(body) > 400]


def edited(article: str, other: str, dice: np.random.Generator) -> str:
    """Put a few characters or phrases of another article in the place of as many, or leave out a sentence."""
    kind = dice.integers(3)
    if kind == 0:
        sentences = article.split("。")
        del sentences[dice.integers(len(sentences) - 1)]
        return "。".join(sentences)
    characters = list(article)
    for _ in range(dice.integers(3, 11)):
        size = 1 if kind == 1 else dice.integers(2, 5)
        at, source = dice.integers(len(article) - size), dice.integers(len(other) - size)
        characters[at : at + size] = other[source : source + size]
    return "".join(characters)


@pytest.mark.parametrize("weight", ["tf", "sqrt", "set"])
def test_characters_find_more_copies_than_words(weight: str) -> None:
    segmenter = RjiebaSegmenter()

    def fingerprints(text: str) -> tuple[int, int]:
        text = normalise(text)
        characters = tokenise(text)
        both = (characters, segment(text, characters, segmenter))
        return tuple(fingerprint(hash_tokens(units), weight) for units in both)  # type: ignore[arg-type, return-value]

    articles = chinese_articles()
    assert len(articles) >= 5
    originals = [fingerprints(article) for article in articles]
    dice = np.random.default_rng(11)
    distances = [
        [
            hamming(a, b)
            for a, b in zip(original, fingerprints(edited(article, articles[i - 1], dice)), strict=True)
        ]
        for _ in range(40)
        for i, (article, original) in enumerate(zip(articles, originals, strict=True))
    ]
    by_characters, by_words = np.mean(np.array(distances) <= 3, axis=0)
    assert by_characters > by_words
    others = [hamming(a[0], b[0]) for a, b in combinations(originals, 2)]
    assert min(others) > 7  # and no two different articles are near each other

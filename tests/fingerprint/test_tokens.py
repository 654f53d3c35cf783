"""Tokens are what a regular expression gives, in every script; Chinese words and stop words are cut right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Features, Fingerprinter
from scrapy_neardup.fingerprint.normalise import fold_letters, normalise
from scrapy_neardup.fingerprint.segmenters import load_segmenter, segment, stop_words, without
from scrapy_neardup.fingerprint.tokens import BETWEEN, HAN, LETTER, SYLLABLE, tokenise

ONE_LETTER = r"[[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]"
ONE_SYLLABLE = rf"[[\p{{Hiragana}}\p{{Katakana}}\u30FC{ONE_LETTER}]&&\p{{L}}]"
ONE_HAN = r"[\p{Han}&&[\p{L}\p{Nl}]]"
NUMBER = regex.compile(r"\p{Nd}|[\p{Han}&&[\p{Numeric_Type=Numeric}\p{Nl}]]", regex.V1)
WORD = rf"[[\p{{L}}\p{{N}}]--{ONE_SYLLABLE}--{ONE_HAN}]"
ORACLE = regex.compile(
    rf"(?P<single>(?P<syllable>(?P<letter>{ONE_LETTER})|{ONE_SYLLABLE})\p{{M}}*+|{ONE_HAN}\p{{M}}*+)"
    rf"|{WORD}(?:{WORD}|\p{{M}})*+",
    regex.V1,
)
MIXED = st.text(
    st.one_of(
        # Beyond are marks that normalising removes.
        st.characters(max_codepoint=0x3FFFF, exclude_categories=("Cs",), exclude_characters="\x1f"),
        st.sampled_from("aé\u0301日本三十カーなไทยก็ကြ်ខ្មែ가हिन्दी19٣๒〇  .-'’\n"),
    )
)


@given(MIXED)
@example("\u0301")
@example("日\u0301a")
@example("a日b 日本a\u0301日")
def test_equals_a_regular_expression(text: str) -> None:
    text = fold_letters(text)
    tokens = tokenise(text)
    matches = list(ORACLE.finditer(text))
    assert tokens.words == [match.group() for match in matches]
    assert (tokens.kinds >= HAN).tolist() == [match["single"] is not None for match in matches]
    assert (tokens.kinds >= SYLLABLE).tolist() == [match["syllable"] is not None for match in matches]
    assert (tokens.kinds >= LETTER).tolist() == [match["letter"] is not None for match in matches]
    assert tokens.numbers.tolist() == [bool(NUMBER.search(match.group())) for match in matches]


@given(st.lists(st.text("ab 日ไ1."), min_size=1, max_size=4))
def test_texts_split_together_are_those_split_alone(texts: list[str]) -> None:
    tokens = tokenise(BETWEEN.join(texts))
    parts = [tokens[start:stop].words for start, stop in pairwise(tokens.bounds)]
    assert parts == [tokenise(text).words for text in texts]


class InTwos:
    identity = "in twos"

    def cut(self, text: str) -> Sequence[str]:
        return [word for run in text.split("\n") for word in (run[i : i + 2] for i in range(0, len(run), 2))]


class Rewriting(InTwos):
    def cut(self, text: str) -> Sequence[str]:
        return ["国" * len(text)]


class Failing(InTwos):
    def cut(self, text: str) -> Sequence[str]:
        raise OSError("no dictionary")


class NoIdentity:
    cut = InTwos.cut


@given(st.text(st.sampled_from("中国人。，a1 か〆々〇\u0301\u302aก\n")))
def test_only_han_characters_are_joined(text: str) -> None:
    text = normalise(text)
    tokens = tokenise(text)
    joined = segment(tokens, InTwos())
    assert "".join(joined.words) == "".join(tokens.words)
    han = tokens.kinds == HAN
    assert [word for word, single in zip(joined.words, joined.kinds, strict=True) if single] == [
        word for word, kana in zip(tokens.words, tokens.kinds >= SYLLABLE, strict=True) if kana
    ]
    assert len(joined.words) <= len(tokens.words) <= len(joined.words) + np.count_nonzero(han)
    assert joined.numbers.sum() <= tokens.numbers.sum()


def test_a_word_of_numbers_is_a_number() -> None:
    assert segment(tokenise("三十人人人十"), InTwos()).numbers.tolist() == [True, False, False]


def test_rjieba_by_its_name() -> None:
    text = "今天北京，大学 iPhone 15发布；東京タワー。我们中出了一个叛徒"
    words = segment(tokenise(normalise(text)), load_segmenter("rjieba")).words
    assert " ".join(words) == "今天 北京 大学 iphone 15 发布 東京 タ ワ ー 我们 中出 了 一个 叛徒"
    signature = Fingerprinter(Features(segmenter="rjieba")).signature(text)
    assert signature.tokens == 12 + 2  # kana count half
    assert signature.fingerprint != Fingerprinter().signature(text).fingerprint


def test_a_segmenter_by_its_import_path() -> None:
    made = Fingerprinter(Features(segmenter=f"{__name__}:InTwos"))
    assert made.signature("市政府周二通过了计划，" * 6).tokens == 30
    assert made.segmenter == "in twos"


@pytest.mark.parametrize(
    ("path", "error"),
    [("no_such_package.cut", "cannot be used"), (":missing", "cannot be used"),
     (":NoIdentity", "cannot be used"), (":Rewriting", "gave other characters"), (":Failing", "has failed")],
)  # fmt: skip
def test_what_is_no_segmenter_is_refused(path: str, error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        Fingerprinter(Features(segmenter=path if path[0] != ":" else __name__ + path)).signature("中国人")


TEXTS = st.lists(st.sampled_from(["the", "and", "cat", "2025", "的", "猫", "は", "หมา", "word2"])).map(
    " ".join
)


@given(TEXTS, st.sets(st.sampled_from(["the", "的", "は", "2025", "cat"])))
def test_the_other_tokens_are_left_with_what_is_known_of_them(text: str, words: set[str]) -> None:
    tokens = tokenise(text)
    left = [i for i, word in enumerate(tokens.words) if word not in words] or list(range(len(tokens.words)))
    kept = without(tokens, words)
    assert kept.words == [tokens.words[i] for i in left]
    for name in ("kinds", "numbers"):
        assert np.array_equal(getattr(kept, name), getattr(tokens, name)[left])


def test_stop_words_are_left_out_of_all_but_the_digest() -> None:
    text = "The council of the town closed the old bridge for repairs. " * 9
    made = Fingerprinter(Features(stop_words="en,de"))
    signature, plain = made.signature(text), Fingerprinter().signature(text)
    kept = without(tokenise(normalise(text)), stop_words(["en", "de"])).words
    assert signature.tokens == len(kept) < plain.tokens
    assert signature.sketch == Fingerprinter().signature(" ".join(kept)).sketch
    assert signature.digest == plain.digest


def test_a_language_without_a_list_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"No stop words for xx: set stop_words to some of af, .*en"):
        stop_words(["en", "xx"])


@pytest.mark.parametrize(
    ("package", "use", "name", "extra"),
    [("rjieba", load_segmenter, "rjieba", "chinese"), ("stopwordsiso", stop_words, ["en"], "stopwords")],
)
def test_a_missing_package_is_named(
    package: str, use: Callable[[Any], object], name: object, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"scrapy-neardup\[{extra}\]"):
        use(name)

"""Tokens are what a regular expression over Unicode properties gives, in every script."""

from __future__ import annotations

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.tokens import tokenise

LETTER = r"[[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]"
SYLLABLE = rf"[[\p{{Hiragana}}\p{{Katakana}}\u30FC{LETTER}]&&\p{{L}}]"
HAN = r"[\p{Han}&&[\p{L}\p{Nl}]]"
NUMBER = regex.compile(r"\p{Nd}|[\p{Han}&&[\p{Numeric_Type=Numeric}\p{Nl}]]", regex.V1)
WORD = rf"[[\p{{L}}\p{{N}}]--{SYLLABLE}--{HAN}]"
ORACLE = regex.compile(
    rf"(?P<single>(?P<syllable>(?P<letter>{LETTER})|{SYLLABLE})\p{{M}}*+|{HAN}\p{{M}}*+)|{WORD}(?:{WORD}|\p{{M}})*+",
    regex.V1,
)
MIXED = st.text(
    st.one_of(
        st.characters(
            max_codepoint=0x3FFFF, exclude_categories=()
        ),  # beyond are marks that normalising removes
        st.sampled_from("aé\u0301日本三十カーなไทยก็ကြ်ខ្មែ가हिन्दी19٣๒〇  .-'’\n"),
    )
)


@given(MIXED)
@example("\u0301")
@example("日\u0301a")
@example("a日b 日本a\u0301日")
def test_equals_a_regular_expression(text: str) -> None:
    tokens = tokenise(text)
    matches = list(ORACLE.finditer(text))
    assert tokens.words == [match.group() for match in matches]
    assert tokens.unspaced.tolist() == [match["single"] is not None for match in matches]
    assert tokens.syllables.tolist() == [match["syllable"] is not None for match in matches]
    assert tokens.letters.tolist() == [match["letter"] is not None for match in matches]
    assert tokens.numbers.tolist() == [bool(NUMBER.search(match.group())) for match in matches]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n.,-", ""),
        ("it's 3.5 % of x_y", "it s 3 5 of x y"),
        ("новый год, año nuevo", "новый год año nuevo"),
        ("हिन्दी में", "हिन्दी में"),
        ("한국어 텍스트", "한국어 텍스트"),
        ("東京2024年", "東 京 2024 年"),
        ("ラーメンと水", "ラ ー メ ン と 水"),
        ("ที่นี่", "ที่ นี่"),
        ("café\u0301s", "café\u0301s"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert tokenise(text).words == expected.split()

"""A text with accents, points or digits of another script has the letters of the text without them."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.normalise import fold_letters, normalise

# Two lone surrogates may meet and make one character, and NUL is a space where it stands beside letters that
# are not of ASCII.
LETTERS = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",), min_codepoint=1),
        st.sampled_from("aéёйșşıİאָתَـيکك٣۴५๖がカ\u3099한国 \n"),
    )
)


def letters(text: str) -> str:
    return fold_letters(normalise(text))


@pytest.mark.parametrize(
    ("written", "also"),
    [
        ("Ёлка", "Елка"),
        ("știri și țări", "ştiri şi ţări"),
        ("İSTANBUL IŞIK", "istanbul ışık"),
        ("ΑΘΗΝΑ, ΤΟ ΠΡΩΙ", "Αθήνα, το πρωί"),
        ("كُتُبٌ جَدِيدَة", "كتب جديدة"),
        ("كتـــاب", "كتاب"),
        ("أحمد إلى الآن", "احمد الى الان"),
        ("یک کتاب", "يك كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("ज़मीन", "जमीन"),
        ("١٢٣ ۴۵ ६७ ๘๙ ১", "123 45 67 89 1"),
    ],
)
def test_one_text_in_two_ways(written: str, also: str) -> None:
    assert normalise(written) != normalise(also)
    assert letters(written) == letters(also)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("か", "が"),
        ("は", "ぱ"),
        ("कि", "का"),
        ("क", "क्"),
        ("มา", "ม่า"),
        ("ກາ", "ກ່າ"),
        ("한", "하"),
        ("ł", "l"),
        ("hùng", "hưng"),
        ("peña", "pena"),
        ("рой", "рои"),
        ("လူ့", "လူ"),
        ("ড়", "ড"),
        ("日", "曰"),
    ],
)
def test_what_is_another_letter_stays_one(one: str, other: str) -> None:
    assert letters(one) != letters(other)


@given(LETTERS, LETTERS)
def test_letters_depend_on_nothing_around_them(one: str, other: str) -> None:
    assert fold_letters(one + other) == fold_letters(one) + fold_letters(other)
    assert fold_letters(fold_letters(one)) == fold_letters(one)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_stays(text: str) -> None:
    assert fold_letters(text) == text


def test_digits_are_those_of_ascii() -> None:
    basic = filter(str.isdecimal, map(chr, range(0x20000)))
    assert all(fold_letters(digit) == str(unicodedata.decimal(digit)) for digit in basic)


def test_code_points_beyond_all_tables() -> None:
    text = "ё" + chr(sys.maxunicode) + "\ud800ё"
    assert fold_letters(text) == "е" + chr(sys.maxunicode) + "\ud800е"


def test_words_stay_apart() -> None:
    assert len(fold_letters("é\0è").split()) == 2


def test_signatures_have_the_letters_and_digests_the_text() -> None:
    sign = Fingerprinter().signature
    accents, plain = sign("Șapte țări, ٧ اتّفاقات"), sign("Şapte ţări, 7 اتفاقات")
    assert accents.digest != plain.digest
    assert (accents.fingerprint, accents.sketch, accents.numbers) == (
        plain.fingerprint,
        plain.sketch,
        plain.numbers,
    )


@pytest.mark.parametrize("around", ["\ud800 é ", "\ud800 é \U0001f600"])
def test_long_texts_with_lone_surrogates(around: str) -> None:
    text = (around + "ё") * 10_000
    assert fold_letters(text) == (around + "е") * 10_000

"""Normalisation gives one form to all encodings of the same text, and never fails."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.normalise import composed, fold_letters, normalise
from scrapy_neardup.matching.items import ItemNotes
from scrapy_neardup.matching.sites import host_of

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too


def test_every_character_by_the_book() -> None:
    for block in range(0, 0x30000, 0x100):
        points = [point for point in range(block, block + 0x100) if not 0xD800 <= point < 0xE000]
        for written in ("{0} a{0}\u0327b\n", "a{0}{0}b\n"):  # beside a mark, and in text of letters alone
            text = "".join(written.format(chr(point)) for point in points)
            once = normalise(text)
            assert once == normalise(once) == by_the_book(text), hex(block)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\u200b\n ", ""),
        ("ﬁne ＡＢＣ１２３ ½", "fine abc123 1⁄2"),
        ("Straße STRASSE", "strasse strasse"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("MAÑANA man\u0303ana", "mañana mañana"),
        ("\ud800x\ude00", "?x?"),  # halves of a pair, apart
        ("a" + "\u0323" * 99, "ạ" + "\u0323" * 31),
        ("The “Inn”  – 10 o’clock…\n \n  On\u00a0top\n", "the “inn” – 10 o’clock...\non top"),
        ("H\u0331 “K”", "\u1e96 “k”"),  # composed once it is a small letter
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(
    st.text(
        st.sampled_from("aAß İıΑάᾳ\u0345ςé\u0301\u0323ﬁ①²Å\u212bｶﾞか\u3099한\u1100\u1161漢😀")
        | st.characters(exclude_categories=("Cs",))
    )
)
def test_normalised_text_takes_no_other_way_than_the_rest(text: str) -> None:
    assert normalise(text) == by_the_book(text) == normalise(normalise(text))


def by_the_book(text: str) -> str:
    folded = unicodedata.normalize("NFD", regex.sub(r"\p{Default_Ignorable_Code_Point}", "", text)).casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    lines = [" ".join(line.split()) for line in folded.splitlines()]
    return "\n".join(line for line in lines if line)


@pytest.mark.parametrize("text", ["\u0301\u0323", "\u0f73", "\u0301\uff9e\u034f"])
@pytest.mark.parametrize(
    "fold", [normalise, composed, ItemNotes().describe, lambda text: host_of(f"//{text}{time.time()}")]
)
def test_time_is_linear_in_runs_of_marks(fold: Callable[[str], object], text: str) -> None:
    def seconds(length: int) -> float:
        run = (text * length)[:length]
        times = []
        for _ in range(3):
            started = time.process_time()
            fold(run)
            times.append(time.process_time() - started)
        return min(times)

    # Sixteen times the text: sixteen times the time if it is linear, 256 times if it is quadratic.
    assert seconds(64_000) < 64 * seconds(4_000)


# NUL is a space where it stands beside letters that are not of ASCII.
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
        ("Ёлка", "Елка"), ("știri și țări", "ştiri şi ţări"), ("İSTANBUL IŞIK", "istanbul ışık"),
        ("ΑΘΗΝΑ, ΤΟ ΠΡΩΙ", "Αθήνα, το πρωί"), ("كُتُبٌ جَدِيدَة", "كتب جديدة"), ("كتـــاب", "كتاب"),
        ("أحمد إلى الآن", "احمد الى الان"), ("یک کتاب", "يك كتاب"), ("שָׁלוֹם", "שלום"), ("ज़मीन", "जमीन"),
        ("١٢٣ ۴۵ ६७ ๘๙ ১", "123 45 67 89 1"),
    ],
)  # fmt: skip
def test_one_text_in_two_ways(written: str, also: str) -> None:
    assert normalise(written) != normalise(also)
    assert letters(written) == letters(also)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("か", "が"), ("は", "ぱ"), ("कि", "का"), ("क", "क्"), ("มา", "ม่า"), ("ກາ", "ກ່າ"), ("한", "하"),
        ("ł", "l"), ("hùng", "hưng"), ("peña", "pena"), ("рой", "рои"), ("လူ့", "လူ"), ("ড়", "ড"), ("日", "曰"),
    ],
)  # fmt: skip
def test_what_is_another_letter_stays_one(one: str, other: str) -> None:
    assert letters(one) != letters(other)


@given(LETTERS, LETTERS)
def test_letters_depend_on_nothing_around_them(one: str, other: str) -> None:
    assert fold_letters(one + other) == fold_letters(one) + fold_letters(other)
    assert fold_letters(fold_letters(one)) == fold_letters(one)


def test_digits_are_those_of_ascii() -> None:
    basic = filter(str.isdecimal, map(chr, range(0x20000)))
    assert all(fold_letters(digit) == str(unicodedata.decimal(digit)) for digit in basic)


def test_code_points_beyond_all_tables() -> None:
    assert fold_letters(f"ё{chr(sys.maxunicode)}ё") == f"е{chr(sys.maxunicode)}е"


def test_signatures_have_the_letters_and_digests_the_text() -> None:
    sign = Fingerprinter().signature
    accents, plain = sign("Șapte țări, ٧ اتّفاقات"), sign("Şapte ţări, 7 اتفاقات")
    assert accents.digest != plain.digest
    for name in ("fingerprint", "sketch", "numbers"):
        assert getattr(accents, name) == getattr(plain, name)

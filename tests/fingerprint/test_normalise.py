"""Normalisation gives one form to all encodings of the same text, and never fails."""

from __future__ import annotations

import random
import time
import unicodedata
from typing import TYPE_CHECKING

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import normalise as module
from scrapy_neardup.fingerprint.normalise import composed, normalise
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202e\u2066\u2069\ufe0f\u034f"
CASED = "abcxyzäöüéñçàßабвгджщэюяαβγδω"


@given(ANY_TEXT)
def test_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_is_idempotent_on_every_character() -> None:
    for block in range(0, 0x30000, 0x100):
        once = normalise(
            "".join(f"{chr(point)} a{chr(point)}\u0327b\n" for point in range(block, block + 0x100))
        )
        assert normalise(once) == once, hex(block)


@given(ANY_TEXT)
def test_composed_and_decomposed_text_are_one(text: str) -> None:
    assert normalise(unicodedata.normalize("NFC", text)) == normalise(unicodedata.normalize("NFD", text))


def test_marks_are_in_order_before_they_are_folded() -> None:
    composed = "\u1f80\u0323"  # alpha with breathing and iota subscript, and a dot below
    assert normalise(composed) == normalise(unicodedata.normalize("NFD", composed))


@given(st.lists(st.tuples(ANY_TEXT, st.sampled_from(INVISIBLE))))
def test_invisible_characters_do_not_count(parts: list[tuple[str, str]]) -> None:
    visible = "".join(text for text, _ in parts)
    assert normalise("".join(text + mark for text, mark in parts)) == normalise(visible)


@given(st.text(CASED + " .0"))
def test_case_does_not_count(text: str) -> None:
    assert normalise(text.upper()) == normalise(text.lower()) == normalise(text.casefold())


@given(
    st.lists(st.text("abc한日", min_size=1), min_size=1),
    st.sampled_from([" ", "  ", "\t", "\u00a0", "\u3000 "]),
)
def test_white_space_within_a_paragraph_does_not_count(words: list[str], space: str) -> None:
    assert normalise(space.join(words)) == " ".join(words)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", " \n\t\n ", "\u2028", "\u2029", "\x85", "\x0c"])
def test_every_line_end_is_one_newline(end: str) -> None:
    assert normalise(f"one{end}two{end}") == "one\ntwo"


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
        ("\ud800x", "\ud800x"),
        ("\ud83dx\ude00", "\ud83dx\ude00"),  # halves of a pair, apart
        ("The “Inn”  – 10 o’clock…\n \n  On\u00a0top\n", "the “inn” – 10 o’clock...\non top"),
        ("H\u0331 “K”", "\u1e96 “k”"),  # composed once it is a small letter
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(
    st.text(
        st.sampled_from("aAß İıΑάᾳ\u0345ςé\u0301\u0323ﬁ①²Å\u212bｶﾞか\u3099한\u1100\u1161漢😀")
        | st.characters()
    )
)
def test_normalised_text_takes_no_other_way_than_the_rest(text: str) -> None:
    assert normalise(text) == by_the_book(text)


def by_the_book(text: str) -> str:
    folded = unicodedata.normalize("NFD", regex.sub(r"\p{Default_Ignorable_Code_Point}", "", text)).casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    lines = [" ".join(line.split()) for line in folded.splitlines()]
    return "\n".join(line for line in lines if line)


# Of several classes, some of which decompose to two, are letters before they are folded, become letters, or
# are in no class; and what stands between.
MARKS = "\u0301\u0323\u0345\u0f73\u0f75\u0f71\u0f74\uff9e\uff9f\u0344\u093e\u093c\u3099\u1160\u11a8\u034f"
BASES = "aé\u1f82\u0958\u1100ｶ漢 "


@examples(60)
@given(st.data())
def test_long_runs_of_marks_are_normalised_like_any_text(data: st.DataObject) -> None:
    runs = st.lists(st.text(MARKS, min_size=20, max_size=100) | st.sampled_from(BASES), max_size=5)
    text = "".join(data.draw(runs))
    assert normalise(text) == by_the_book(text)
    assert normalise(normalise(text)) == normalise(text)
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize("seed", range(6))
def test_text_of_many_pieces_is_normalised_as_a_whole(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = MARKS + BASES + "\u1161\u11ab한ㅏﾡßﬁ\n"
    weights = [rng.random() ** 4 for _ in alphabet]
    text = "".join(rng.choices(alphabet, weights, k=150_000))
    text = regex.sub(r"[\p{M}\uFF9E\uFF9F]{64,}", lambda run: run[0][:64], text)  # or the book takes for ever
    assert normalise(text) == by_the_book(text)


@pytest.mark.parametrize("character", ["é", "😀", "İ", "𝐀"])
def test_what_holds_the_interpreter_lock_gets_no_more_than_a_piece(
    character: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    fold = module._plainly_folded
    monkeypatch.setattr(module, "_plainly_folded", lambda text: [sizes.append(len(text)), fold(text)][1])
    text = f"{character} " * module._LONG
    assert normalise(text) == by_the_book(text)
    assert len(sizes) > 1
    assert max(sizes) <= module.PIECE


@pytest.mark.parametrize(
    "text",
    [
        "\u0301\u0323",
        "e" + 40 * "\u0301" + 40 * "\u0323",
        "\u0f73",
        "\u0301\uff9e",
        "\u0345\u0301",
        "\u0301\u034f\u0323",
    ],
)
@pytest.mark.parametrize("fold", [normalise, composed])
def test_time_is_linear_in_runs_of_marks(fold: Callable[[str], str], text: str) -> None:
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


@given(st.text(MARKS + BASES + "\uac00\u1161\u11ab \n\ud800", max_size=300))
def test_composed_is_nfc(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_composed_in_pieces() -> None:
    rng = random.Random(3)
    text = "".join(rng.choices(MARKS[:5] + BASES + "\n", k=200_000))
    assert composed(text) == unicodedata.normalize("NFC", text)

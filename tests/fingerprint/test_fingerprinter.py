"""Signatures: equal for equal texts, near for copies, apart for pages of one template, for any text at all."""

from __future__ import annotations

import pickle
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import (
    BINS,
    Features,
    Fingerprinter,
    Signature,
    hamming,
    simhash,
    similarity,
    verify,
)
from scrapy_neardup.fingerprint.hashing import CACHE_SIZE

FINGERPRINTER = Fingerprinter()
ANY_TEXT = st.text(st.characters(exclude_categories=()))

# Words of several scripts, to make articles of any length from.
VOCABULARIES = {
    "english": [
        "the",
        "of",
        "to",
        "and",
        "in",
        "that",
        "council",
        "river",
        "bridge",
        "water",
        "night",
        "people",
        "engineer",
        "report",
        "cost",
        "said",
        "first",
        "new",
        "city",
        "from",
        "with",
        "after",
        "winter",
        "spring",
        "closed",
        "open",
        "north",
        "harbour",
        "light",
        "train",
        "market",
        "school",
        "doctor",
    ],
    "russian": [
        "и",
        "в",
        "на",
        "что",
        "совет",
        "река",
        "мост",
        "вода",
        "ночь",
        "люди",
        "инженер",
        "отчёт",
        "сказал",
        "первый",
        "новый",
        "город",
        "после",
        "зима",
        "весна",
        "закрыт",
        "открыт",
        "север",
        "гавань",
        "свет",
        "поезд",
        "рынок",
        "школа",
        "врач",
        "министр",
        "завод",
    ],
    "chinese": [
        "的",
        "是",
        "在",
        "了",
        "市政府",
        "河流",
        "桥梁",
        "水",
        "夜晚",
        "人们",
        "工程师",
        "报告",
        "费用",
        "表示",
        "第一",
        "新",
        "城市",
        "冬天",
        "春天",
        "关闭",
        "开放",
        "港口",
        "火车",
        "市场",
        "学校",
        "医生",
        "部长",
        "工厂",
    ],
    "thai": [
        "ที่",
        "และ",
        "ใน",
        "ของ",
        "เมือง",
        "แม่น้ำ",
        "สะพาน",
        "น้ำ",
        "กลางคืน",
        "ผู้คน",
        "วิศวกร",
        "รายงาน",
        "ราคา",
        "กล่าว",
        "ใหม่",
        "ฤดูหนาว",
        "ปิด",
        "เปิด",
        "ท่าเรือ",
        "รถไฟ",
        "ตลาด",
        "โรงเรียน",
        "แพทย์",
    ],
}


def article(language: str, seed: int, sentences: int = 60) -> list[str]:
    """Sentences of made-up text in which, as in any, few words are frequent and most are rare."""
    dice = random.Random(f"{language} {seed}")
    words = VOCABULARIES[language]
    names = ["".join(dice.choices(word, k=4)) for word in words for _ in range(8)]
    space = "" if language in ("chinese", "thai") else " "
    return [
        space.join(
            words[int(len(words) * dice.random() ** 2)] if dice.random() < 0.7 else dice.choice(names)
            for _ in range(dice.randint(8, 16))
        )
        + "."
        for _ in range(sentences)
    ]


def text_of(sentences: list[str]) -> str:
    return "\n".join(" ".join(sentences[i : i + 6]) for i in range(0, len(sentences), 6))


def compare(a: Signature, b: Signature) -> tuple[int, float, bool]:
    """Distance, estimated Jaccard, and whether the verification says near."""
    distance = hamming(a.fingerprint, b.fingerprint)
    jaccard, containment = similarity(
        a.sketch, a.shingles, np.frombuffer(b.sketch, np.uint8)[None], np.array([b.shingles])
    )
    near = verify(np.array([distance]), jaccard, containment, a.tokens, np.array([b.tokens]))
    return distance, float(jaccard[0]), bool(near[0])


@settings(deadline=None)
@given(ANY_TEXT, st.sampled_from(["set", "sqrt", "log", "tf"]), st.integers(1, 4))
def test_any_text_has_a_signature(text: str, weight: str, shingle: int) -> None:
    signature = Fingerprinter(Features(weight=weight, shingle=shingle)).signature(text)  # type: ignore[arg-type]
    assert 0 <= signature.fingerprint < 2**64
    assert len(signature.digest) == 16
    assert len(signature.sketch) == BINS
    assert (signature.tokens > 0) == (signature.shingles > 0)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text("aäбש한日ーไ19 .\n"), st.sampled_from(["", "\u200b", "\u00ad", "\u2066"]))))
def test_encoding_of_the_text_does_not_matter(parts: list[tuple[str, str]]) -> None:
    plain = "".join(text for text, _ in parts)
    signature = FINGERPRINTER.signature(plain)
    assert FINGERPRINTER.signature("".join(text + mark for text, mark in parts)) == signature
    assert FINGERPRINTER.signature(unicodedata.normalize("NFD", plain)) == signature
    assert FINGERPRINTER.signature(plain.upper()) == signature
    assert FINGERPRINTER.signature(plain.replace(" ", "\u00a0 \t").replace("\n", "\r\n\r\n ")) == signature


def test_the_digest_ignores_how_lines_are_broken_but_nothing_that_is_read() -> None:
    digest = FINGERPRINTER.signature("Home 3 - 1 Away. Full time.").digest
    assert FINGERPRINTER.signature("HOME 3\n-\n1 away.\nFull  time.").digest == digest
    for other in ("Home 3 - 2 Away. Full time.", "Home 31 Away. Full time.", "Home 3 1 Away. Full time."):
        assert FINGERPRINTER.signature(other).digest != digest


def test_the_digest_covers_short_paragraphs_which_the_rest_leaves_out() -> None:
    text = text_of(article("english", 1))
    bare, dressed = FINGERPRINTER.signature(text), FINGERPRINTER.signature(f"Share\n{text}\n12 comments")
    assert bare.digest != dressed.digest
    assert (bare.fingerprint, bare.sketch, bare.tokens) == (
        dressed.fingerprint,
        dressed.sketch,
        dressed.tokens,
    )


@pytest.mark.parametrize("language", VOCABULARIES)
def test_light_edits_are_near_and_other_texts_are_not(language: str) -> None:
    near = 0
    for seed in range(20):
        sentences = article(language, seed)
        original = FINGERPRINTER.signature(text_of(sentences))
        edited = FINGERPRINTER.signature(text_of([*sentences[:-1], article(language, seed + 500)[0]]))
        distance, jaccard, verified = compare(original, edited)
        assert verified
        assert jaccard > 0.85
        near += distance <= 3
        _, jaccard, verified = compare(
            original, FINGERPRINTER.signature(text_of(article(language, seed + 1000)))
        )
        assert not verified
        assert jaccard < 0.4
    assert near >= 16


def test_pages_of_one_template_with_other_numbers_are_not_near() -> None:
    def weather(dice: random.Random) -> str:
        return "\n".join(
            f"On {day} expect a mix of sun and clouds over the whole region with a high of {dice.randint(5, 30)} "
            f"degrees, wind from the west at {dice.randint(5, 60)} km per hour and {dice.randint(0, 90)} per cent "
            "chance of rain; fishing boats should stay in harbour when warnings are hoisted at the signal mast."
            for day in ("Monday", "Tuesday", "Wednesday")
        )

    dice = random.Random(4)
    for _ in range(200):
        _, _, verified = compare(
            FINGERPRINTER.signature(weather(dice)), FINGERPRINTER.signature(weather(dice))
        )
        assert not verified


def test_numbers_weigh_as_often_as_told() -> None:
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
    one_word, one_number = [*words[:100], "other", *words[101:]], [*words[:100], "2", *words[101:]]
    numbered = [*words[:100], "1", *words[101:]]
    for weight in (1, 4):
        fingerprinter = Fingerprinter(Features(number_weight=weight))
        assert fingerprinter.signature(" ".join(one_word)).shingles == 198
        assert fingerprinter.signature(" ".join(one_number)).shingles == 195 + 3 * weight
        _, jaccard, _ = compare(*(fingerprinter.signature(" ".join(t)) for t in (numbered, one_number)))
        exact = 195 / (195 + 6 * weight)
        assert abs(jaccard - exact) < 4 * (exact * (1 - exact) / BINS) ** 0.5


def test_words_and_han_vote_one_by_one_and_syllables_in_pairs() -> None:
    def same(a: str, b: str) -> bool:
        return FINGERPRINTER.signature(a).fingerprint == FINGERPRINTER.signature(b).fingerprint

    assert same("one other word", "word other one")
    assert same("日本語", "語本日")
    assert not same("ひらがな", "なひがら")
    assert not same("กขคง", "งคขก")
    assert not same("日本語 かな", "日本語 なか")


def test_two_characters_of_a_script_without_spaces_count_as_one_token() -> None:
    texts = ("日", "日本", "日本語で", "a 日本 b", "ไทย", "")
    assert [FINGERPRINTER.signature(text).tokens for text in texts] == [1, 1, 2, 3, 2, 0]


def test_seeds_and_features_make_other_signatures_and_the_same_ones_the_same() -> None:
    text = text_of(article("english", 3))
    signature = FINGERPRINTER.signature(text)
    assert Fingerprinter().signature(text) == signature
    seeded = Fingerprinter(seed=1).signature(text)
    assert seeded.digest != signature.digest
    assert hamming(seeded.fingerprint, signature.fingerprint) > 10
    assert compare(seeded, signature)[1] < 0.1
    assert simhash(text) == signature.fingerprint
    assert simhash(text, seed=1) == seeded.fingerprint


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ConfigurationError, match="seed"):
        Fingerprinter(seed=seed)


def test_pickles_without_its_cache() -> None:
    fingerprinter = Fingerprinter(Features(weight="log"), seed=9)
    text = " ".join(str(i) for i in range(CACHE_SIZE + 10))
    signature = fingerprinter.signature(text)
    pickled = pickle.dumps(fingerprinter)
    assert len(pickled) < 400
    copy = pickle.loads(pickled)
    assert (copy.features, copy.seed) == (fingerprinter.features, 9)
    assert copy.signature(text) == signature

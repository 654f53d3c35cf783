"""Signatures: equal for equal texts, near for copies, apart for pages of a template, for any text at all."""

import pickle
import random
import unicodedata
from dataclasses import asdict
from hashlib import blake2b
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import (
    SCHEMES,
    Features,
    Fingerprinter,
    MainText,
    Weight,
    fingerprinter,
    hamming,
    load_scheme,
    simhash,
)
from scrapy_neardup.fingerprint.main_text import unwrapped

FINGERPRINTER = Fingerprinter()
ANY_TEXT = st.text(st.characters(exclude_categories=()))

# Words of several scripts, to make articles of any length from.
VOCABULARIES = {
    "english": "the of to and in that council river bridge water night people engineer report cost said "
    "first new city from with after winter spring closed open north harbour light train market school doctor",
    "russian": "и в на что совет река мост вода ночь люди инженер отчёт сказал первый новый город после зима "
    "весна закрыт открыт север гавань свет поезд рынок школа врач министр завод",
    "chinese": "的 是 在 了 市政府 河流 桥梁 水 夜晚 人们 工程师 报告 费用 表示 第一 新 城市 冬天 春天 关闭 "
    "开放 港口 火车 市场 学校 医生 部长 工厂",
    "thai": "ที่ และ ใน ของ เมือง แม่น้ำ สะพาน น้ำ กลางคืน ผู้คน วิศวกร รายงาน ราคา กล่าว ใหม่ ฤดูหนาว ปิด "
    "เปิด ท่าเรือ รถไฟ ตลาด โรงเรียน แพทย์",
}


def article(language: str, seed: int, sentences: int = 60) -> list[str]:
    """Sentences of made-up text in which, as in any, few words are frequent and most are rare."""
    dice = random.Random(f"{language} {seed}")
    words = VOCABULARIES[language].split()
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


@given(st.lists(st.tuples(st.text("aäбש한日ーไ19 .\n"), st.sampled_from(["", "\u200b", "\u00ad", "\u2066"]))))
def test_encoding_of_the_text_does_not_matter(parts: list[tuple[str, str]]) -> None:
    plain = "".join(text for text, _ in parts)
    written = [
        plain,
        "".join(text + mark for text, mark in parts),
        unicodedata.normalize("NFD", plain),
        plain.upper(),
        plain.replace(" ", "\u00a0 \t").replace("\n", "\r\n\r\n "),
    ]
    # Marks and spaces take room on a line, which tells wrapped texts.
    assume(all(unwrapped(text) == text for text in written))
    signatures = [FINGERPRINTER.signature(text) for text in written]
    assert signatures == signatures[:1] * len(written)


SAMPLES = st.sampled_from(["", "\u0301", "한국어", "日本語です", "日本 42 the", "𝐀 ไทย", "the cat sat"])
ANY_TEXTS = st.lists(ANY_TEXT | SAMPLES, max_size=8)


FEATURES = st.builds(
    Features,
    weight=st.sampled_from(get_args(Weight)),
    shingle=st.integers(1, 30),
    units=st.sampled_from(["tokens", "characters"]),
    stop_words=st.sampled_from(["", "en"]),
    segmenter=st.sampled_from(["", "rjieba"]),
)


@given(ANY_TEXTS, st.sampled_from([1, 50, 1 << 16]), st.sampled_from(list(SCHEMES)), FEATURES)
def test_texts_together_are_signed_as_each_of_them(
    texts: list[str], group: int, scheme: str, features: Features
) -> None:
    made = Fingerprinter(features, seed=5, scheme=load_scheme(scheme))
    alone = [made.signature(text) for text in texts]
    for signature in alone:
        assert 0 <= signature.fingerprint < 2**64
        assert (signature.tokens > 0) == (signature.shingles > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprinter, "_GROUP", group)
        assert list(made.signatures(iter(texts))) == alone


def test_the_digest_ignores_how_lines_are_broken_but_nothing_that_is_read() -> None:
    digest = FINGERPRINTER.signature("Home 3 - 1 Away. Full time.").digest
    assert FINGERPRINTER.signature("HOME 3\n-\n1 away.\nFull  time.").digest == digest
    for other in ("Home 3 - 2 Away. Full time.", "Home 31 Away. Full time.", "Home 3 1 Away. Full time."):
        assert FINGERPRINTER.signature(other).digest != digest


@pytest.mark.parametrize("language", VOCABULARIES)
def test_light_edits_are_near_and_other_texts_are_not(language: str) -> None:
    near = 0
    with Detector.open() as detector:
        for seed in range(20):
            sentences = article(language, seed)
            detector.add(text_of(sentences), f"https://{seed}-site.com/")
            edited = text_of([*sentences[:-1], article(language, seed + 500)[0]])
            verdict = detector.check(edited, "https://edited-site.com/")
            assert (verdict.kind, verdict.url) == ("near", f"https://{seed}-site.com/")
            assert verdict.similarity is not None
            assert verdict.distance is not None
            assert verdict.similarity > 0.85
            near += verdict.distance <= 3
            other = text_of(article(language, seed + 1000))
            assert detector.check(other, "https://other-site.com/").kind == "unique"
    assert near >= 16


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_add_keys_of_their_own_and_change_nothing_else(scheme: str) -> None:
    text = text_of(article("russian", 7))
    made = load_scheme(scheme)
    signature, plain = (Fingerprinter(scheme=each).signature(text) for each in (made, load_scheme("simhash")))
    assert len(signature.keys) == 8 * made.keys
    assert len(signature.extra) == np.dtype(list(made.record)).itemsize
    assert (plain.keys, plain.extra) == (b"", b"")
    for name in ("fingerprint", "digest", "tokens", "shingles", "sketch", "numbers", "wall"):
        assert getattr(signature, name) == getattr(plain, name)
    again = pickle.loads(pickle.dumps(Fingerprinter(Features(weight="log"), 3, made)))
    assert again.signature(text) == Fingerprinter(Features(weight="log"), 3, made).signature(text)
    assert signature.keys != again.signature(text).keys or not made.keys


def test_words_and_han_vote_one_by_one_and_syllables_in_pairs() -> None:
    by_frequency = Fingerprinter(Features(weight="tf"))

    def same(a: str, b: str, maker: Fingerprinter = by_frequency) -> bool:
        return maker.signature(a).fingerprint == maker.signature(b).fingerprint

    assert same("one other word", "word other one")
    assert same("日本語", "語本日")
    assert not same("日本語", "語本日", FINGERPRINTER)
    assert not same("ひらがな", "なひがら")
    assert not same("กขคง", "งคขก")
    assert not same("日本語 かな", "日本語 なか")


def test_seeds_make_other_signatures() -> None:
    text = text_of(article("english", 3))
    signature, seeded = FINGERPRINTER.signature(text), Fingerprinter(seed=1).signature(text)
    assert seeded.digest != signature.digest
    assert hamming(seeded.fingerprint, signature.fingerprint) > 10
    assert [simhash(text, seed=seed) for seed in (0, 1)] == [signature.fingerprint, seeded.fingerprint]


#: Pages, and what is expected of their signatures. They change with `VERSION` alone.
GOLDEN = {
    "english": (
        MainText(
            "".join(
                f"On day {n} the council of River Town paid {n * 7}.50 for bridge number {n}.\n"
                for n in range(30)
            ),
            "The bridges of River Town",
            "Opening hours\n15:00 - 19:00\n12 comments",
        ),
        "a70204765655882b",
    ),
    "japanese": (
        MainText(
            "市議会は新しい橋についてきのう話し合い、二〇二六年の予算を決めた。" * 20,
            "橋の予算",
            "3,200 円\nカート",
        ),
        "33aa00ca21ebff51",
    ),
    "note": (MainText("Café Zoë is closed on 2031-05-07."), "9cefdd8cbc57f04a"),
}


@pytest.mark.parametrize(("page", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_signatures_are_those_of_other_machines_and_releases(page: MainText, expected: str) -> None:
    signature = Fingerprinter(seed=2026).signature(page)
    signed = repr(signature).replace(", hidden=False", "").replace(", site=0", "")  # of pages, not of texts
    assert blake2b(signed.encode(), digest_size=8).hexdigest() == expected


@pytest.mark.parametrize(
    "values",
    [{"shingle": 0}, {"sketch_shingle": 0}, {"weight": "idf"}, {"min_paragraph": -1}, {"units": "letters"},
     {"version": 7}],
)  # fmt: skip
def test_features_are_plain_values_and_wrong_ones_are_refused(values: dict[str, Any]) -> None:
    assert Features(**asdict(Features())) == Features()
    with pytest.raises(ConfigurationError):
        Features(**values)

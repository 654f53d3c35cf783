"""Shingles lengthened from shorter ones are those made anew, whatever was asked for before."""

from __future__ import annotations

from collections import Counter

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import hashing
from scrapy_neardup.fingerprint.hashing import roll, shingle
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.terms import Shingles, Terms, hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise, tokenise_each

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "12", "日", "本", "か", "な", "ไ"]), max_size=30).map(
    " ".join
)


def terms_of(text: str) -> Terms:
    tokens = tokenise(normalise(text))
    return Terms(tokens, Shingles(hash_tokens(tokens)))


@given(WORDS, st.lists(st.tuples(st.integers(1, 14), st.integers(0, 4)), min_size=1, max_size=8))
def test_shingles_of_any_sizes_in_any_order(text: str, sizes: list[tuple[int, int]]) -> None:
    made = terms_of(text)
    count = len(made.hashes)
    for words, more in sizes:
        assert made.shingles(words).tolist() == shingle(made.hashes, words).tolist()
        expected = []
        for start, (unspaced, letter) in enumerate(
            zip(made.tokens.unspaced, made.tokens.letters, strict=True)
        ):
            size = min((words + more * bool(unspaced)) * (1 + bool(letter)), count)
            if start + size <= count:
                expected += shingle(made.hashes[start : start + size], size).tolist()
        assert made.shingles(words, words + more).tolist() == expected


@given(WORDS, WORDS, st.integers(1, 14), st.integers(0, 4))
def test_what_a_shingle_is_depends_on_nothing_around_it(text: str, other: str, words: int, more: int) -> None:
    made, longer = terms_of(text), terms_of(f"{text} {other}")
    if len(made.hashes) >= 2 * (words + more):
        known = Counter(made.shingles(words, words + more).tolist())
        assert known <= Counter(longer.shingles(words, words + more).tolist())


@given(st.lists(st.lists(WORDS, max_size=4), max_size=4))
def test_texts_hashed_together_are_those_hashed_alone(groups: list[list[str]]) -> None:
    texts = [normalise(text) for group in groups for text in group]
    together = [tokens for group in groups for tokens in tokenise_each([normalise(text) for text in group])]
    for text, made in zip(texts, Terms.of_each(together, 7), strict=True):
        alone = [mmh3.hash64(word.encode(), 7, signed=False)[0] for word in tokenise(text).words]
        assert made.hashes.tolist() == alone
        assert made.tokens.words == tokenise(text).words


@given(WORDS, st.integers(1, 6), st.integers(0, 6))
def test_rolling_on_is_rolling_once(text: str, start: int, more: int) -> None:
    hashes = terms_of(text).hashes
    if len(hashes) >= start + more:
        longer = roll(shingle(hashes, start), hashes, start, start + more)
        assert longer.tolist() == shingle(hashes, start + more).tolist()


def test_longer_shingles_take_up_where_shorter_ones_end(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = []

    def counting(hashes: np.ndarray) -> np.ndarray:
        mixed.append(len(hashes))
        return original(hashes)

    original = hashing.mix
    monkeypatch.setattr(hashing, "mix", counting)
    made = terms_of(" ".join(f"w{number}" for number in range(50)))
    made.shingles(5)
    made.shingles(8)
    made.shingles(5)
    assert mixed == [49, 48, 47, 46, 45, 44, 43]  # one round for each size, not eleven


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the cat sat", 3),
        ("日本語です", 3),
        ("日本 the", 2),
        ("日 the", 2),
        ("日本 the cat", 3),
        ("ไทย", 1),
        ("ภาษาไทย", 2),
        ("日本ไทย", 2),
        ("", 0),
    ],
)
def test_two_characters_of_a_script_without_spaces_or_four_letters_count_as_a_token(
    text: str, count: int
) -> None:
    assert terms_of(text).count == count


def test_sizes_of_scripts_without_spaces() -> None:
    chinese, english = (
        terms_of("市政府周二通过了计划"),
        terms_of("the council agreed to a plan on tuesday night"),
    )
    assert chinese.shingles(5, 6).tolist() == shingle(chinese.hashes, 6).tolist()
    assert english.shingles(5, 6).tolist() == shingle(english.hashes, 5).tolist()
    assert len(chinese.shingles(5, 6)) == 10 - 6 + 1
    thai = terms_of("สภาเทศบาลเมืองประชุม")
    assert thai.shingles(5, 6).tolist() == shingle(thai.hashes, 12).tolist()


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("the cat sat", 1),
        ("日本語です", 2),
        ("สภาเทศบาล", 4),
        ("日本語です สภา", 2),
        ("สภาเทศบาลเมือง 日", 4),
        ("the cat sat 日本", 1),
        ("", 1),
    ],
)
def test_how_many_characters_are_a_token_in_most_of_a_text(text: str, characters: int) -> None:
    assert terms_of(text).characters == characters


def test_a_text_shorter_than_its_shingles_makes_one() -> None:
    for text in ("the", "the cat", "the cat sat on"):
        assert len(terms_of(text).shingles(5)) == 1
    assert len(terms_of("").shingles(5)) == 0
    assert terms_of("the cat").shingles(5).tolist() == shingle(terms_of("the cat").hashes, 2).tolist()


def test_votes_of_syllables_are_pairs() -> None:
    made = terms_of("the かな 日")
    the, ka, na, sun = made.hashes.tolist()
    pair = shingle(np.array([ka, na], np.uint64), 2).tolist()
    votes = made.votes(1, made.tokens.syllables)
    assert (votes.hashes.tolist(), votes.lengths.tolist()) == ([the, sun, *pair], [3, 3, 0])
    votes = made.votes(2, made.tokens.syllables)
    assert votes.hashes.tolist() == made.shingles(2).tolist()
    assert votes.lengths.tolist() == [7, 6, 7]


def test_votes_of_fewer_words_than_a_shingle_are_one() -> None:
    votes = terms_of("the cat").votes(3, np.zeros(2, np.bool_))
    assert (len(votes.hashes), votes.lengths.tolist()) == (1, [7])

"""Hashes of tokens and shingles: no crafted ones collide; made together they are those made alone."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import Hashes, Terms, distinct_each, hash_tokens, shingle
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.tokens import BETWEEN, HAN, LETTER, tokenise

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=60)
SEEDS = st.integers(0, 2**32 - 1)
WORD = st.text("abé日𐌰", min_size=1, max_size=200).filter(lambda word: len(tokenise(word)) == 1)
WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "12", "日", "本", "か", "な", "ไ"]), max_size=30).map(
    " ".join
)


def hashes_of(*words: str, seed: int = 0) -> list[int]:
    return [int(hash_tokens(tokenise(word), seed)[0]) for word in words]


def terms_of(*texts: str, longest: int = 40) -> Terms:
    tokens = tokenise(BETWEEN.join(map(normalise, texts)))
    return Terms(tokens, hash_tokens(tokens), tokens.bounds, longest)


@given(WORD, WORD, SEEDS)
def test_other_words_have_other_hashes_and_equal_ones_the_same(one: str, other: str, seed: int) -> None:
    a, b = hashes_of(one, other, seed=seed)
    assert (a == b) == (one == other)
    among = hash_tokens(tokenise(f"{other} {one}, 𐌰 {one}"), seed)  # at other places, beside other planes
    assert among[[1, 3]].tolist() == [a, a]


def thue_morse(order: int) -> str:
    word = "a"
    for _ in range(order):
        word += word.translate({97: "b", 98: "a"})
    return word


@pytest.mark.parametrize("seed", range(20))
def test_crafted_words_do_not_collide(seed: int) -> None:
    """Pairs that collide for any seed where hashes are sums without order, or polynomials modulo 2⁶⁴."""
    words = {*map("".join, permutations("abcd"))}
    words |= {thue_morse(order) for order in range(12)}
    words |= {word.translate({97: "b", 98: "a"}) for word in words}
    long = "x" * 64
    words |= {f"a{long}b", f"b{long}a", "ab" * 128, "ba" * 128, "a" * 63, "a" * 64, "a" * 65, "a" * 256}
    assert len({*hashes_of(*words, seed=seed)}) == len(words)


@given(HASHES, st.integers(1, 30))
def test_a_shingle_depends_on_its_tokens_alone(values: list[int], size: int) -> None:
    array = np.array(values, np.uint64)
    together = shingle(array, size)
    if len(values) < size:
        assert len(together) == min(len(values), 1)
    else:
        alone = [shingle(array[i : i + size], size)[0] for i in range(len(values) - size + 1)]
        assert together.tolist() == alone


@pytest.mark.parametrize("seed", range(20))
def test_crafted_shingles_do_not_collide(seed: int) -> None:
    words = hashes_of(*"abcde", seed=seed)
    runs = [*permutations(words), *(pair * 2 + tuple(words[:1]) for pair in permutations(words, 2))]
    runs += [[words["ab".index(letter)] for letter in thue_morse(order)] for order in (2, 3, 4, 5)]
    runs += [[words["ba".index(letter)] for letter in thue_morse(order)] for order in (2, 3, 4, 5)]
    found = [int(shingle(np.array(run, np.uint64), len(run))[0]) for run in runs]
    assert len({*found}) == len({*map(tuple, runs)})


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=4))
def test_distinct_values_count_as_a_set_does(texts: list[list[int]]) -> None:
    found, counts = distinct_each(Hashes.of([np.array(values, np.uint64) for values in texts]))
    assert [each.tolist() for each in found.each()] == [sorted({*text}) for text in texts]
    assert counts.tolist() == [text.count(value) for text in texts for value in sorted({*text})]


@given(
    st.lists(WORDS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 14), st.integers(0, 4)), min_size=1),
)
def test_shingles_of_texts_of_any_sizes_in_any_order(texts: list[str], sizes: list[tuple[int, int]]) -> None:
    together = terms_of(*texts)
    for words, more in sizes:
        for text, plain, mixed in zip(
            texts, together.shingles(words).each(), together.shingles(words, words + more).each(), strict=True
        ):
            made = terms_of(text)
            count = len(made.hashes)
            assert plain.tolist() == padded(made.hashes, words)
            expected: list[int] = []
            marks = zip(made.tokens.kinds >= HAN, made.tokens.kinds >= LETTER, strict=True)
            for start, (unspaced, letter) in enumerate(marks):
                size = (words + more * bool(unspaced)) * (1 + bool(letter))
                if start + size <= count or not start:
                    expected += padded(made.hashes[start : start + size], size)
            assert mixed.tolist() == expected


def padded(hashes: np.ndarray, size: int) -> list[int]:
    """Return shingles of *size*; fewer hashes make one, as if zeros came after them."""
    if 0 < len(hashes) < size:
        hashes = np.pad(hashes, (0, size - len(hashes)))
    return shingle(hashes, size).tolist()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the cat sat", 3), ("日本語です", 3), ("日本 the", 2), ("日 the", 2), ("日本 the cat", 3),
        ("ไทย", 1), ("ภาษาไทย", 2), ("日本ไทย", 2), ("สภาเทศบาลเมือง 日", 5), ("", 0),
    ],
)  # fmt: skip
def test_two_characters_of_a_script_without_spaces_or_four_letters_count_as_a_token(
    text: str, count: int
) -> None:
    assert terms_of("the cat", text).counts() == [2, count]

"""Stop words are whole tokens of the languages asked for, and leaving them out leaves the rest as it was."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.stopwords import drop, stop_words
from scrapy_neardup.fingerprint.tokens import tokenise

texts = st.lists(st.sampled_from(["the", "and", "cat", "2025", "的", "猫", "は", "หมา", "word2"])).map(
    " ".join
)


@pytest.mark.parametrize(
    ("language", "inside", "outside"),
    [
        ("en", ["the", "of", "and", "ll"], ["government", "10", "can't"]),
        ("de", ["der", "und", "für"], ["regierung"]),
        ("fr", ["le", "être"], ["gouvernement"]),
        ("ru", ["и", "это"], ["правительство"]),
        ("el", ["και"], ["κυβέρνηση"]),
        ("ar", ["من"], ["حكومة"]),
        ("zh", ["的", "因为"], ["政府", "城", "9"]),
    ],
)
def test_the_words_one_expects(language: str, inside: list[str], outside: list[str]) -> None:
    words = stop_words([language])
    assert words.issuperset(inside)
    assert words.isdisjoint([*outside, ""])


def test_words_are_in_the_form_of_tokens() -> None:
    everything = stop_words(["en", "de", "fr", "ru", "el", "ar", "tr", "es", "vi"])
    assert all(tokenise(normalise(word)).words == [word] for word in everything)


def test_languages_are_united() -> None:
    assert (
        stop_words(["de", "en"]) == stop_words(["en"]) | stop_words(["de"]) == stop_words(["en", "de", "en"])
    )
    assert stop_words([]) == frozenset()


@given(texts, st.sets(st.sampled_from(["the", "的", "は", "2025", "cat"])))
def test_the_other_tokens_are_left_with_what_is_known_of_them(text: str, words: set[str]) -> None:
    tokens = tokenise(text)
    left = [i for i, word in enumerate(tokens.words) if word not in words] or list(range(len(tokens.words)))
    kept = drop(tokens, words)
    assert kept.words == [tokens.words[i] for i in left]
    for name in ("unspaced", "syllables", "letters", "numbers"):
        assert np.array_equal(getattr(kept, name), getattr(tokens, name)[left])


def test_a_text_of_nothing_else_is_kept() -> None:
    tokens = tokenise("to be or not to be")
    assert drop(tokens, stop_words(["en"])).words == tokens.words


def test_a_language_without_a_list_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"No stop words for xx; there are some for af, .*en"):
        stop_words(["en", "xx"])


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    with pytest.raises(ConfigurationError, match=r"scrapy-neardup\[stopwords\]"):
        stop_words(["en"])

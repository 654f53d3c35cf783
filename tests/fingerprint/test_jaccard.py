"""Exact Jaccard similarity is that of Python's sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.jaccard import character_jaccard, jaccard, text_jaccard

elements = st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1))
bags = st.lists(elements, max_size=40)
words = st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "and", "一只", "猫", "หมา."])
texts = st.lists(words, max_size=30).map(" ".join)


def expected(a: set[Any], b: set[Any]) -> float:
    return len(a & b) / len(a | b) if a | b else 0


def runs(parts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    width = min(size, len(parts))
    return {tuple(parts[i : i + width]) for i in range(len(parts) - width + 1)} - {()}


@given(bags, bags)
def test_sets_by_definition(a: list[int], b: list[int]) -> None:
    x, y = np.array(a, np.uint64), np.array(b, np.uint64)
    assert jaccard(x, y) == jaccard(y, x) == expected({*a}, {*b})


@given(texts, texts, st.integers(1, 9))
def test_texts_by_definition(a: str, b: str, size: int) -> None:
    def tokens(text: str) -> list[str]:  # one letter a token in Han and Thai
        return text.replace(".", "").replace("一只", "一 只").replace("หมา", "ห ม า").split()

    words = (runs(tokens(text), size) for text in (a, b))
    assert text_jaccard(a, b, words=size) == pytest.approx(expected(*words))
    characters = (runs(text, size) for text in (a, b))
    assert character_jaccard(a, b, characters=size) == pytest.approx(expected(*characters))


def test_known_values() -> None:
    # Broder 1997, section 1, and a variant.
    a, b = "a rose is a rose is a rose", "a rose is a flower which is a rose"
    assert text_jaccard(a, b, words=4) == 1 / 8
    assert character_jaccard("abcde", "abcdf", characters=3) == 2 / 4
    assert text_jaccard("Caf\u00e9 NOIR\n\nau  lait", "cafe\u0301 noir au lait") == 1  # normalised first

"""What speaks of consent, in many languages, and what does not."""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.extraction.asides import speaks_of_consent


@pytest.mark.parametrize(
    "text",
    ["We use Cookies.", "Файлы куки", "クッキー", "Ta strona używa ciasteczek", "Koristimo kolačiće",
     "Çerezler",
     "נעשה שימוש בעוגיות", "ما از کوکی استفاده می‌کنیم", "Sessionscookies"],
)  # fmt: skip
def test_consent(text: str) -> None:
    assert speaks_of_consent(text)


@pytest.mark.parametrize("text", ["", "The cook is here", "Rodos"])
def test_no_consent(text: str) -> None:
    assert not speaks_of_consent(text)


@pytest.mark.parametrize("unit", ["cooki", "ملفات ", "a"])
def test_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    speaks_of_consent(unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 1  # milliseconds

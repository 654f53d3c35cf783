"""How many single words of a text may differ, as the README says: the rules look at numbers, not at words."""

from __future__ import annotations

import random

import pytest

from scrapy_neardup import Fingerprinter
from scrapy_neardup.detector import Detector
from scrapy_neardup.index.memory import MemoryIndex
from scrapy_neardup.matching.records import header_for

WORDS = [f"{a}{b}{c}{d}" for a in "bdfgklmn" for b in "aeiou" for c in "lmnrst" for d in ("a", "en", "or")]
TEXTS = 20


@pytest.mark.parametrize(
    ("other_site", "edited", "mostly"),
    [(False, 4, True), (False, 7, False), (True, 9, True), (True, 14, False)],
)
def test_texts_of_200_words_that_differ_in_some(other_site: bool, edited: int, mostly: bool) -> None:
    found = 0
    for seed in range(TEXTS):
        dice = random.Random(seed)
        words = dice.choices(WORDS, k=200)
        changed = [*words]
        for place in range(edited):
            changed[(2 * place + 1) * 100 // edited] = f"other{chr(97 + place)}word"
        detector = Detector(MemoryIndex(header_for(Fingerprinter(seed=seed), "")))
        assert detector.add(" ".join(words), url="https://one-site.com/1").kind == "unique"
        site = "two-site" if other_site else "one-site"
        found += detector.check(" ".join(changed), url=f"https://{site}.com/2").is_duplicate
    assert (found > TEXTS // 2) == mostly, found

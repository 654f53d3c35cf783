"""Fingerprints of as many texts as wanted, made of real paragraphs, which crowd as those of real texts do."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.simhash import fingerprint_each, fingerprint_keywords
from scrapy_neardup.fingerprint.terms import Terms, Votes
from scrapy_neardup.fingerprint.tokens import tokenise_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Weight

#: Letters of a paragraph that is not left out, see `Features.min_paragraph`.
LETTERS = 60
#: How many texts are made together, and how many of them in one task of a process.
TOGETHER, TASK = 50, 20_000


class Paragraphs:
    """The paragraphs of real texts, ready to vote."""

    def __init__(self, texts: Sequence[str]) -> None:
        parts = [
            [part for part in map(normalise, text.split("\n")) if len(part) >= LETTERS] for text in texts
        ]
        flat = [part for text in parts for part in text]
        terms = [
            each
            for group in (flat[start : start + 200] for start in range(0, len(flat), 200))
            for each in Terms.of_each(tokenise_each(group), seed=7)
        ]
        self.votes = [each.votes(1, each.tokens.unspaced) for each in terms]
        #: How many paragraphs each of the texts has.
        self.counts = [len(text) for text in parts if text]

    def originals(self, weight: Weight) -> NDArray[np.uint64]:
        """Return the fingerprints of the texts as they are; uint64[texts]."""
        stops = list(itertools.accumulate(self.counts))
        return self._fingerprints(
            [range(stop - count, stop) for stop, count in zip(stops, self.counts, strict=True)], weight
        )

    def recombined(self, count: int, seed: int) -> NDArray[np.uint64]:
        """Return fingerprints of texts of paragraphs drawn by chance, as many of them as a real text has."""
        dice = np.random.default_rng(seed)
        sizes = dice.choice(self.counts, count)
        drawn = np.split(dice.integers(0, len(self.votes), sizes.sum()), sizes.cumsum()[:-1])
        return self._fingerprints([each.tolist() for each in drawn], "keywords")

    def _fingerprints(self, texts: Sequence[Sequence[int]], weight: Weight) -> NDArray[np.uint64]:
        made: list[int] = []
        for start in range(0, len(texts), TOGETHER):
            votes = [self._joined(text) for text in texts[start : start + TOGETHER]]
            if weight == "keywords":
                made += fingerprint_keywords(votes)
            else:
                made += fingerprint_each([each.hashes for each in votes], weight)
        return np.array(made, np.uint64)

    def _joined(self, paragraphs: Sequence[int]) -> Votes:
        parts = [self.votes[number] for number in paragraphs]
        return Votes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


_paragraphs: Paragraphs | None = None


def _start(texts: Sequence[str]) -> None:
    global _paragraphs
    _paragraphs = Paragraphs(texts)


def _make(count: int, seed: int) -> NDArray[np.uint64]:
    assert _paragraphs is not None
    return _paragraphs.recombined(count, seed)


def fingerprints(texts: Sequence[str], count: int) -> NDArray[np.uint64]:
    """Return the fingerprints of *count* texts recombined from the paragraphs of *texts*, on all cores."""
    tasks = -(-count // TASK)
    with ProcessPoolExecutor(os.cpu_count(), initializer=_start, initargs=(texts,)) as pool:
        made = pool.map(_make, [TASK] * tasks, range(tasks))
        return np.concatenate(list(made))[:count]

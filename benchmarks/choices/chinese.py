"""Which units of Chinese texts make fingerprints of copies near: characters, pairs of them, words."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.fingerprint import hamming
from scrapy_neardup.fingerprint.hashing import shingle
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.segment import RjiebaSegmenter, segment
from scrapy_neardup.fingerprint.simhash import fingerprint
from scrapy_neardup.fingerprint.terms import hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise

from .printing import best_time, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARTICLES = Path(__file__).parents[2] / "example_project" / "network" / "articles"


def chinese() -> None:
    """Print how often an edited article stays near, by the units of its fingerprint."""
    runs = 40
    texts = (path.read_text(encoding="utf-8") for path in sorted(ARTICLES.glob("*.txt")))
    articles = [text.partition("\n\n")[2] for text in texts if text.startswith("language: zh")]
    articles = [article for article in articles if len(article) > 400]
    segmenter = RjiebaSegmenter()

    def units(text: str) -> dict[str, NDArray[np.uint64]]:
        text = normalise(text)
        tokens = tokenise(text)
        characters = hash_tokens(tokens)
        words = hash_tokens(segment(text, tokens, segmenter))
        return {"characters": characters, "pairs of characters": shingle(characters, 2), "words": words}

    edits = [("characters", 3), ("characters", 10), ("phrases", 3), ("phrases", 10)]
    edits += [("sentence left out", 1), ("sentence added", 1)]
    rows = []
    for weight in ("tf", "sqrt", "set"):
        originals = [{u: fingerprint(v, weight) for u, v in units(a).items()} for a in articles]
        distances: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for kind, count in edits:
            dice = np.random.default_rng(7)
            for i, (article, original) in enumerate(zip(articles, originals, strict=True)):
                for _ in range(runs):
                    copy = units(edited(article, articles[i - 1], kind, count, dice))
                    for unit, hashes in copy.items():
                        distances[unit, kind, count].append(
                            hamming(original[unit], fingerprint(hashes, weight))
                        )
        for unit in originals[0]:
            found = [np.mean(np.array(distances[unit, kind, count]) <= 3) for kind, count in edits]
            between = [hamming(a[unit], b[unit]) for a, b in combinations(originals, 2)]
            rows.append([weight, unit, *map(float, found), float(np.mean(found)), min(between)])
    head = [f"{count} {kind}" if "sentence" not in kind else kind for kind, count in edits]
    table(
        f"Chinese, {len(articles)} articles of about 600 characters, {runs} edits of each: share within 3 "
        "bits",
        ["weight", "units", *head, "mean", "least distance of two articles"],
        rows,
    )
    text = normalise("\n".join(articles))
    tokens = tokenise(text)
    taken = best_time(lambda: segment(text, tokens, segmenter)) / len(articles)
    print(
        f"\nSegmenting takes {taken * 1e3:.2f} ms an article, tokenising "
        f"{best_time(lambda: tokenise(text)) / len(articles) * 1e3:.2f} ms."
    )


def edited(article: str, other: str, kind: str, count: int, dice: np.random.Generator) -> str:
    """Return *article* with *count* edits of a *kind*, for which *other* gives the text."""
    sentences = article.split("。")
    at = int(dice.integers(len(sentences) - 1))
    if kind == "sentence left out":
        return "。".join(sentences[:at] + sentences[at + 1 :])
    if kind == "sentence added":
        return "。".join([*sentences[:at], other.split("。")[0], *sentences[at:]])
    characters = list(article)
    for _ in range(count):
        size = 1 if kind == "characters" else int(dice.integers(2, 5))
        at, source = dice.integers(len(article) - size), dice.integers(len(other) - size)
        characters[at : at + size] = other[source : source + size]
    return "".join(characters)

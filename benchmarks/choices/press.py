"""Which share of labelled press releases each way to compare finds."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.fingerprint import bottomk, hamming
from scrapy_neardup.fingerprint.bands import SUPER_SHINGLES, Bands, choose_bands
from scrapy_neardup.fingerprint.jaccard import character_jaccard, count_jaccard, text_jaccard, word_shingles
from scrapy_neardup.fingerprint.minhash import MinHash, agreement
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.simhash import fingerprint
from scrapy_neardup.fingerprint.stopwords import drop, stop_words
from scrapy_neardup.fingerprint.terms import hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise

from .printing import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def press_releases(data: Path) -> None:
    """Print which share of the pairs in the folder *data* each way finds, by label and kind."""
    with gzip.open(data / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {doc["id"]: doc["text"] for doc in map(json.loads, lines)}
    with (data / "pairs.tsv").open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file, delimiter="\t"))
    wanted = sorted({row[name] for row in pairs for name in ("id1", "id2")})
    stop, family = stop_words(["en"]), MinHash(128)
    values = {name: word_shingles(texts[name], 3) for name in wanted}
    signatures = {name: family.signature(values[name]) for name in wanted}
    bottom = {name: bottomk.bottom_k(values[name], 128) for name in wanted}
    tokens = {name: tokenise(normalise(texts[name])) for name in wanted}
    ways: dict[str, Callable[[str, str], bool]] = {}
    for most in (0.8, 0.6):
        ways[f"exact J3 ≥ {most}"] = lambda a, b, t=most: text_jaccard(texts[a], texts[b]) >= t
    ways["characters J5 ≥ 0.8"] = lambda a, b: character_jaccard(texts[a], texts[b]) >= 0.8
    ways["word counts J ≥ 0.8"] = lambda a, b: count_jaccard(texts[a], texts[b]) >= 0.8
    ways["MinHash 128 ≥ 0.8"] = lambda a, b: agreement(signatures[a], signatures[b][None])[0] >= 0.8
    ways["bottom-k 128 ≥ 0.8"] = lambda a, b: bottomk.jaccard(bottom[a], bottom[b][None])[0] >= 0.8
    for layout in (Bands(10, 10), choose_bands(0.6), choose_bands(0.8), SUPER_SHINGLES):
        keys = {name: layout.keys(signatures[name][None]) for name in wanted}
        label = f"bands {layout.bands} × {layout.rows}" if layout.agree == 1 else "super-shingles"
        ways[label] = lambda a, b, layout=layout, keys=keys: bool(
            layout.candidates(keys[a][:, 0], keys[b])[0]
        )
    for weight in ("tf", "sqrt", "set"):
        for without in (False, True):
            marks = {
                name: fingerprint(hash_tokens(drop(each, stop) if without else each), weight)
                for name, each in tokens.items()
            }
            label = f"SimHash {weight}{', no stop words' if without else ''} ≤ 3"
            ways[label] = lambda a, b, marks=marks: hamming(marks[a], marks[b]) <= 3
    kinds = sorted({(row["label"], row["kind"]) for row in pairs}, reverse=True)
    rows = []
    for label, way in ways.items():
        found = defaultdict(list)
        for row in pairs:
            found[row["label"], row["kind"]].append(way(row["id1"], row["id2"]))
        rows.append([label, *(float(np.mean(found[kind])) for kind in kinds)])
    table("Press releases: share found", ["", *(f"{label} {kind}" for label, kind in kinds)], rows)

"""Print the figures of docs/schemes.md.

    python benchmarks/schemes.py [--data DIR]

DIR holds labelled pairs (senate_press); it defaults to $NEARDUP_DATA, else ../shared/data. Without it the
tables of real pairs are left out.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from collections import defaultdict
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.pairs.components import UnionFind, components
from scrapy_neardup.audit.pairs.leaders import leader_clusters
from scrapy_neardup.fingerprint import SCHEMES, Fingerprinter, bottomk, hamming, load_scheme
from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.fingerprint.bands import SUPER_SHINGLES, Bands, choose_bands
from scrapy_neardup.fingerprint.hashing import shingle
from scrapy_neardup.fingerprint.jaccard import character_jaccard, count_jaccard, text_jaccard, word_shingles
from scrapy_neardup.fingerprint.minhash import MinHash, agreement
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.segment import RjiebaSegmenter, segment
from scrapy_neardup.fingerprint.simhash import fingerprint
from scrapy_neardup.fingerprint.sketch import similarity, sketch
from scrapy_neardup.fingerprint.stopwords import drop, stop_words
from scrapy_neardup.fingerprint.terms import hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise
from scrapy_neardup.matching.records import RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

ARTICLES = Path(__file__).parents[1] / "example_project" / "network" / "articles"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n{title}\n")
    for line in (head, ["---"] * len(head), *rows):
        print(
            "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in line) + " |"
        )


def best_time(work: Callable[[], object], times: int = 20) -> float:
    """Least of several timings; s."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def two_sets(similarity: float, union: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    values = np.random.default_rng(seed).integers(0, 2**64, union, np.uint64)
    shared = round(similarity * union)
    only = (union - shared) // 2
    return values[: shared + only], np.concatenate((values[:shared], values[shared + only :]))


# -- probabilities -------------------------------------------------------------------------------------------


def curves() -> None:
    layouts = (Bands(10, 10), Bands(20, 5), Bands(9, 13), Bands(14, 9), SUPER_SHINGLES)
    similarities = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97)
    rows = []
    for layout in layouts:
        name = f"{layout.bands} × {layout.rows}" + (f", {layout.agree} agree" if layout.agree > 1 else "")
        rows.append([name, "formula", *(float(layout.probability(s)) for s in similarities)])
        rows.append(["", "2000 pairs", *(simulated(layout, s) for s in similarities)])
    table("P(candidate) by similarity", ["bands × rows", "", *similarities], rows)
    chosen = [(t, w, choose_bands(t, 128, w)) for t in (0.5, 0.6, 0.7, 0.8, 0.9) for w in (0.5, 0.9)]
    table(
        "choose_bands(threshold, 128, miss_weight)",
        ["threshold", "miss_weight", "bands", "rows", "miss rate", "false rate", "P(threshold)"],
        [
            (t, w, b.bands, b.rows, b.miss_rate(t), b.false_rate(t), float(b.probability(t)))
            for t, w, b in chosen
        ],
    )


def simulated(layout: Bands, similarity: float, runs: int = 2000) -> float:
    found = 0
    for seed in range(runs):
        family = MinHash(layout.bands * layout.rows, seed)
        pair = np.stack([family.signature(values) for values in two_sets(similarity, 200, seed)])
        keys = layout.keys(pair)
        found += int(layout.candidates(keys[:, 0], keys[:, 1:])[0])
    return found / runs


def errors(runs: int = 500) -> None:
    rows = []
    for exact in (0.3, 0.5, 0.8, 0.9, 0.95):
        estimates = defaultdict(list)
        for seed in range(runs):
            a, b = two_sets(exact, 2000, seed)
            family = MinHash(128, seed)
            estimates["minhash"].append(agreement(family.signature(a), family.signature(b)[None])[0])
            small, other = bottomk.bottom_k(a, 128), bottomk.bottom_k(b, 128)
            estimates["bottom-k"].append(bottomk.jaccard(small, other[None])[0])
            by_bands = agreement(family.signature(small), family.signature(other)[None])[0]
            estimates["minhash of bottom-k"].append(by_bands)
            (own, n), (stored, m) = sketch(a), sketch(b)
            sketches = [np.frombuffer(each, np.uint8) for each in (own, stored)]
            one = similarity(sketches[0], np.array(n), sketches[1], np.array(m))[0]
            estimates["sketch of 768 bits"].append(float(one))
        theory = (exact * (1 - exact) / 128) ** 0.5
        rows.append([exact, theory, *(f"{np.mean(e):.3f} ± {np.std(e):.3f}" for e in estimates.values())])
    table(
        "Estimates of Jaccard from 128 values, and from the sketch of 768 bits; 500 pairs: mean ± deviation",
        ["J", "theory of 128 ±", *estimates],
        rows,
    )


def times() -> None:
    rows = []
    for count in (300, 1000, 100_000):
        values = np.random.default_rng(0).integers(0, 2**64, count, np.uint64)
        work: dict[str, Callable[[], object]] = {
            f"MinHash({n}).signature": partial(MinHash(n).signature, values) for n in (84, 100, 128)
        }
        work["the same 128 modulo 2⁶¹ - 1"] = partial(modulo_mersenne, values)
        work["bottom_k(128)"] = partial(bottomk.bottom_k, values, 128)
        work["sketch of 768 bits"] = partial(sketch, values)
        work["4 anchors"] = partial(anchors, values, 4)
        signature = MinHash(128).signature(values)[None]
        work["Bands(10, 10).keys of one"] = partial(Bands(10, 10).keys, signature)
        rows.append([count, *(f"{best_time(each, 5) * 1e3:.3f}" for each in work.values())])
    table("Time; ms", ["shingles", *work], rows)


def modulo_mersenne(hashes: NDArray[np.uint64], count: int = 128) -> NDArray[np.uint64]:
    """Return the minima of a x + b modulo 2⁶¹ - 1, exact: products are put together from 32-bit halves."""
    low, shift, mersenne = np.uint64(2**32 - 1), np.uint64(32), np.uint64(2**61 - 1)
    dice = np.random.default_rng(1)
    a, b = dice.integers(1, mersenne, (2, count, 1), np.uint64)
    minima = np.full(count, mersenne)
    for start in range(0, len(hashes), 128):
        x = hashes[start : start + 128] % mersenne
        middle = (a >> shift) * (x & low) + (a & low) * (x >> shift)
        lower = (a & low) * (x & low)
        total = ((a >> shift) * (x >> shift) << np.uint64(3)) + (middle >> np.uint64(29)) + b
        total += ((middle & np.uint64(2**29 - 1)) << shift) + (lower & mersenne) + (lower >> np.uint64(61))
        total = (total & mersenne) + (total >> np.uint64(61))
        np.minimum(minima, np.where(total >= mersenne, total - mersenne, total).min(axis=1), out=minima)
    return minima


def costs() -> None:
    """What each scheme takes of a made-up page of 600 words, whose words are as frequent as in English."""
    dice = np.random.default_rng(3)
    letters = str.maketrans("0123456789", "aeioubdklm")
    words = [f"w{number}".translate(letters) for number in np.minimum(dice.zipf(1.2, 600), 20_000)]
    paragraphs = [" ".join(words[start : start + 60]) + "." for start in range(0, 600, 60)]
    text = "\n".join(paragraphs)
    rows = []
    for name in SCHEMES:
        scheme = load_scheme(name)
        fingerprinter = Fingerprinter(scheme=scheme)
        fingerprinter.signature(text)
        taken = best_time(partial(fingerprinter.signature, text), 200)
        stored = np.dtype([*map(tuple, RECORD), *scheme.record]).itemsize
        tables = sum(len(family.tables) * family.keys for family in scheme.families)
        rows.append([name, f"{taken * 1e3:.2f}", tables, tables * 12, stored])
    head = ["scheme", "ms", "table entries", "bytes of these", "bytes of the record"]
    table("Signature of a page of 600 words, and what is stored of it", head, rows)


# -- texts ---------------------------------------------------------------------------------------------------


def press_releases(data: Path) -> None:
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


def edited(article: str, other: str, kind: str, count: int, dice: np.random.Generator) -> str:
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


def chinese(runs: int = 40) -> None:
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


# -- clusters ------------------------------------------------------------------------------------------------


def clusters(count: int = 10**6) -> None:
    dice = np.random.default_rng(1)
    order = dice.permutation(count)
    graphs = {
        "1 M random pairs": dice.integers(0, count, (count, 2)),
        "3 M random pairs": dice.integers(0, count, (3 * count, 2)),
        "one chain of all, shuffled": np.stack((order[:-1], order[1:]), axis=1),
    }
    rows = []
    for name, pairs in graphs.items():
        sets = UnionFind(count)
        one_by_one = best_time(lambda p=pairs, s=sets: [s.union(a, b) for a, b in p.tolist()], 1)
        rows.append([name, best_time(lambda p=pairs: components(count, p), 3), one_by_one])
    table("1 M pages; s", ["pairs", "components", "UnionFind"], rows)
    sizes = dice.integers(2, 6, count // 4)
    group = np.repeat(np.arange(len(sizes)), sizes)
    star = np.stack((np.repeat(np.cumsum(sizes) - sizes, sizes), np.arange(len(group))), axis=1)
    ranks = np.arange(len(group))
    taken = best_time(lambda: leader_clusters(ranks, star, lambda a, b: group[a] == group[b]), 3)
    print(f"\nleader_clusters: {len(group)} pages in {len(sizes)} clusters, {taken:.2f} s")
    chain = np.stack((np.arange(10**5 - 1), np.arange(1, 10**5)), axis=1)
    taken = best_time(lambda: leader_clusters(np.arange(10**5), chain, lambda a, b: np.abs(a - b) <= 3), 1)
    print(f"leader_clusters: a chain of 100,000 pages, cut into 25,000 clusters, {taken:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NEARDUP_DATA", "../shared/data")))
    data = parser.parse_args().data / "senate_press"
    curves()
    errors()
    times()
    costs()
    if data.exists():
        press_releases(data)
    chinese()
    clusters()


if __name__ == "__main__":
    main()

"""Print the tables by which the defaults of the fingerprint and of its verification are chosen.

    python benchmarks/defaults.py [--data DIR] [--cache DIR] [--processes N]

DIR holds labelled pairs (derived_syndication, senate_press, minhash_tutorial, ota_recrawl_html); it defaults to
$NEARDUP_DATA, else ../shared/data. The main text of each page is extracted once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import multiprocessing
import os
import random
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import trafilatura
from rich.console import Console
from rich.progress import track

from scrapy_neardup.fingerprint import Features, Fingerprinter, Weight, hamming, similarity, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

DISTANCES = (3, 5, 7)
BANDS = ((0, 50), (50, 100), (100, 200), (200, 500), (500, 1 << 30))
UNRELATED = 0.3  # Jaccard below which two press releases of different senators are no kin
STDERR = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Pair:
    group: str  # data set, label and kind
    positive: bool
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Measured:
    """One value per pair, of the real modules; and what candidates cost."""

    exact: NDArray[np.bool_]
    distance: NDArray[np.uint8]
    jaccard: NDArray[np.float32]
    containment: NDArray[np.float32]
    tokens: NDArray[np.int64]  # of a
    stored_tokens: NDArray[np.int64]  # of b
    unrelated: dict[int, float]  # pairs of unrelated texts within a distance, per million pairs
    block_mates: float  # texts that share one of four 16-bit blocks with a given one, per million texts


# -- data ----------------------------------------------------------------------------------------------------------


def records(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def extract(page: tuple[str, str]) -> tuple[str, str]:
    name, html = page
    return name, trafilatura.extract(html, favor_precision=True, include_comments=False) or ""


def extracted(path: Path, cache: Path, processes: int) -> dict[str, str]:
    cached = cache / f"{path.parent.name}-trafilatura-{version('trafilatura')}.json.gz"
    if not cached.exists():
        pages = [(page["id"], page["html"]) for page in records(path)]
        with multiprocessing.Pool(processes) as pool:
            done = pool.imap_unordered(extract, pages, chunksize=4)
            texts = dict(track(done, f"extracting {path.parent.name}", len(pages), console=STDERR))
        cache.mkdir(parents=True, exist_ok=True)
        with gzip.open(cached, "wt", encoding="utf-8") as file:
            json.dump(texts, file)
    with gzip.open(cached, "rt", encoding="utf-8") as file:
        kept: dict[str, str] = json.load(file)
    return kept


def load(data: Path, cache: Path, processes: int) -> tuple[dict[str, str], list[Pair]]:
    """All texts by id, and the pairs to score."""
    texts: dict[str, str] = {}
    pairs: list[Pair] = []

    derived = data / "derived_syndication"
    texts |= extracted(derived / "pages.jsonl.gz", cache, processes)
    pairs += [
        Pair(f"derived {row['label']} {row['kind']}", row["label"] in "23", row["id1"], row["id2"])
        for row in rows(derived / "pairs.tsv")
        if row["label"] in {"0", "2", "3"}
    ]
    senate = data / "senate_press"
    texts |= {doc["id"]: doc["text"] for doc in records(senate / "docs.jsonl.gz")}
    pairs += [
        Pair(f"senate {row['label']} {row['kind']}", row["label"] != "0", row["id1"], row["id2"])
        for row in rows(senate / "pairs.tsv")
    ]
    tutorial = data / "minhash_tutorial"
    texts |= {doc["id"]: doc["text"] for doc in records(tutorial / "docs_1000.jsonl.gz")}
    pairs += [
        Pair("tutorial 3 edits", True, row["id1"], row["id2"]) for row in rows(tutorial / "pairs_1000.tsv")
    ]
    recrawls = data / "ota_recrawl_html"
    texts |= extracted(recrawls / "pages.jsonl.gz", cache, processes)
    pairs += [
        Pair(f"recrawl {row['label']}", True, row["id1"], row["id2"])
        for row in rows(recrawls / "pairs.tsv")
        if row["label"] in {"2", "3"}
    ]
    for a, b in generated():
        names = tuple(f"generated/{len(texts) + i}" for i in range(2))
        texts |= dict(zip(names, (a, b), strict=True))
        pairs.append(Pair(f"generated 0 {a.split()[0].lower()}", False, *names))
    return texts, pairs


def generated(count: int = 100, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Pairs of pages of one template whose numbers differ: weather, scores, prices; 60 to 150 words."""
    dice = random.Random(seed)
    for template in (weather, score, market):
        for _ in range(count):
            yield template(dice), template(dice)


def weather(dice: random.Random) -> str:
    days = ("Today", "Tomorrow", "Wednesday", "Thursday", "Friday")
    return (
        "Weather forecast for the county and the coast, updated every hour by the regional station.\n"
        + "\n".join(
            f"{day} will be partly cloudy with a high of {dice.randint(-5, 35)} degrees and a low of "
            f"{dice.randint(-15, 20)} degrees, wind from the west at {dice.randint(0, 60)} km per hour, and a chance "
            f"of rain of {dice.randint(0, 100)} per cent."
            for day in days[: dice.choice((3, 4))]
        )
    )


def score(dice: random.Random) -> str:
    points = [dice.randint(70, 130) for _ in range(2)]
    quarters = [f"{dice.randint(12, 38)} to {dice.randint(12, 38)}" for _ in range(4)]
    return (
        f"Score of the game at the Riverside Arena: the home team finished with {points[0]} points, the visitors "
        f"with {points[1]} points, before a crowd of {dice.randint(3000, 19000)}.\n"
        f"The first quarter ended {quarters[0]}, the second quarter ended {quarters[1]}, the third quarter ended "
        f"{quarters[2]} and the last quarter ended {quarters[3]}. The leading scorer of the home team had "
        f"{dice.randint(15, 45)} points, {dice.randint(2, 15)} rebounds and {dice.randint(1, 12)} assists, and the "
        f"leading scorer of the visitors had {dice.randint(15, 45)} points and {dice.randint(2, 15)} rebounds. "
        "Tickets for the next game of the season are on sale at the box office of the arena and on line."
    )


def market(dice: random.Random) -> str:
    names = ("Copper", "Wheat", "Crude oil", "Natural gas")
    return (
        "Market report of the commodities exchange, with closing prices and daily changes as published by the "
        "exchange after the end of trading.\n"
    ) + " ".join(
        f"{name} closed at {dice.randint(100, 9000)} dollars, {dice.choice(('up', 'down'))} "
        f"{dice.randint(1, 99)} cents from the previous session, after {dice.randint(100, 9999)} contracts changed "
        "hands in moderate trading."
        for name in names
    )


# -- measuring -----------------------------------------------------------------------------------------------------

_shared: tuple[dict[str, str], list[Pair]]


def share(texts: dict[str, str], pairs: list[Pair]) -> None:
    global _shared  # once per worker process, instead of with every task
    _shared = texts, pairs


def measure(features: Features) -> tuple[Features, Measured]:
    texts, pairs = _shared
    fingerprinter = Fingerprinter(features)
    names = sorted({name for pair in pairs for name in (pair.a, pair.b)})
    number = {name: i for i, name in enumerate(names)}
    signatures = [fingerprinter.signature(texts[name]) for name in names]
    fingerprints = np.array([s.fingerprint for s in signatures], np.uint64)
    sketches = np.array([np.frombuffer(s.sketch, np.uint8) for s in signatures])
    shingles = np.array([s.shingles for s in signatures])
    tokens = np.array([s.tokens for s in signatures])
    a = np.array([number[pair.a] for pair in pairs])
    b = np.array([number[pair.b] for pair in pairs])
    similar = [
        similarity(signatures[i].sketch, signatures[i].shingles, sketches[j : j + 1], shingles[j : j + 1])
        for i, j in zip(a, b, strict=True)
    ]
    press = np.array([i for name, i in number.items() if name.count("/") == 1 and name[0].isupper()])
    authors = np.array([names[i].split("/")[0] for i in press])
    return features, Measured(
        exact=np.array([signatures[i].digest == signatures[j].digest for i, j in zip(a, b, strict=True)]),
        distance=hamming(fingerprints[a], fingerprints[b]),
        jaccard=np.array([jaccard[0] for jaccard, _ in similar]),
        containment=np.array([containment[0] for _, containment in similar]),
        tokens=tokens[a],
        stored_tokens=tokens[b],
        unrelated=unrelated(fingerprints[press], sketches[press], shingles[press], authors),
        block_mates=block_mates(fingerprints[press]),
    )


def block_mates(fingerprints: NDArray[np.uint64]) -> float:
    mates = 0
    for block in range(4):
        _, counts = np.unique(fingerprints >> np.uint64(16 * block) & np.uint64(0xFFFF), return_counts=True)
        mates += int((counts * (counts - 1)).sum())
    return mates / (len(fingerprints) * (len(fingerprints) - 1)) * 1e6


def unrelated(
    fingerprints: NDArray[np.uint64],
    sketches: NDArray[np.uint8],
    shingles: NDArray[np.int64],
    authors: NDArray[np.str_],
) -> dict[int, float]:
    found = dict.fromkeys(DISTANCES, 0)
    total = 0
    for i in range(len(fingerprints)):
        others = np.flatnonzero(authors[i + 1 :] != authors[i]) + i + 1
        total += len(others)
        distance = hamming(fingerprints[others], fingerprints[i])
        near = others[distance <= max(DISTANCES)]
        jaccard, _ = similarity(sketches[i].tobytes(), int(shingles[i]), sketches[near], shingles[near])
        kept = distance[distance <= max(DISTANCES)][jaccard < UNRELATED]
        for k in DISTANCES:
            found[k] += int(np.count_nonzero(kept <= k))
    return {k: count / total * 1e6 for k, count in found.items()}


def measured(
    texts: dict[str, str], pairs: list[Pair], grid: list[Features], processes: int
) -> dict[Features, Measured]:
    with multiprocessing.Pool(processes, share, (texts, pairs)) as pool:
        done = dict(track(pool.imap_unordered(measure, grid), "fingerprinting", len(grid), console=STDERR))
    return {features: done[features] for features in grid}


# -- tables --------------------------------------------------------------------------------------------------------


def table(title: str, head: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    head = list(head)
    print(f"\n### {title}\n")
    for cells in (head, ["---"] * len(head), *lines):
        print("| " + " | ".join(cells) + " |")


def rate(found: NDArray[np.bool_], members: list[int]) -> str:
    return f"{found[members].mean():.3f}".lstrip("0") if members else "–"


def by(pairs: list[Pair], key: Callable[[Pair], str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for i, pair in enumerate(pairs):
        groups[key(pair)].append(i)
    return dict(groups)


def column(pair: Pair) -> str:
    words = pair.group.split(" ")
    return pair.group if words[0] == "senate" and not pair.positive else " ".join(words[:2])


def describe(f: Features) -> list[str]:
    return [f.weight, str(f.shingle), str(f.min_paragraph), str(f.number_weight)]


PARAMETERS = ["weight", "shingle", "paragraphs ≥", "number weight"]


def candidate_table(pairs: list[Pair], results: dict[Features, Measured]) -> None:
    groups = by(pairs, column)
    for k in DISTANCES:
        table(
            f"Candidates: exact or within {k} bits",
            [*PARAMETERS[:3], *groups, "unrelated per million", "block mates per million"],
            (
                describe(f)[:3]
                + [rate(m.exact | (m.distance <= k), group) for group in groups.values()]
                + [f"{m.unrelated[k]:.1f}", f"{m.block_mates:.0f}"]
                for f, m in results.items()
            ),
        )


def verified_table(pairs: list[Pair], results: dict[Features, Measured]) -> None:
    groups = by(pairs, column)
    for k in DISTANCES:
        table(
            f"Judged duplicate: exact, or within {k} bits and verified",
            [*PARAMETERS, *groups],
            (
                describe(f) + [rate(judged(m, k), group) for group in groups.values()]
                for f, m in results.items()
            ),
        )


def judged(m: Measured, k: int) -> NDArray[np.bool_]:
    rule = verify(m.distance, m.jaccard, m.containment, m.tokens, m.stored_tokens)
    return m.exact | ((m.distance <= k) & rule)


def rule_table(pairs: list[Pair], m: Measured) -> None:
    groups = by(pairs, lambda pair: pair.group)
    j, c = m.jaccard, m.containment
    rules = {f"J ≥ {t}": j >= t for t in (0.5, 0.6, 0.7, 0.8, 0.9)}
    rules |= {"J ≥ .6 or C ≥ .9": (j >= 0.6) | (c >= 0.9), "J ≥ .5 or C ≥ .8": (j >= 0.5) | (c >= 0.8)}
    rules["verify"] = verify(m.distance, j, c, m.tokens, m.stored_tokens)
    rules["any"] = np.ones(len(pairs), np.bool_)
    for k in (*DISTANCES, 64):
        table(
            f"Rules: exact, or within {k} bits and ..."
            if k < 64
            else "Rules: exact, or at any distance and ...",
            ["pairs", "n", *rules],
            (
                [name, str(len(members))]
                + [rate(m.exact | ((m.distance <= k) & rule), members) for rule in rules.values()]
                for name, members in groups.items()
            ),
        )


def band_table(pairs: list[Pair], m: Measured) -> None:
    """By the length of the shorter text, in tokens: the same rules, all positives and all negatives."""
    shorter = np.minimum(m.tokens, m.stored_tokens)
    good = np.array([pair.positive for pair in pairs])
    lines = []
    for low, high in BANDS:
        band = (shorter >= low) & (shorter < high)
        cells = [f"{low}–{high - 1}" if high < 1 << 30 else f"≥ {low}"]
        for members in (np.flatnonzero(band & good).tolist(), np.flatnonzero(band & ~good).tolist()):
            cells.append(str(len(members)))
            for k in DISTANCES:
                cells.append(rate(m.exact | (m.distance <= k), members))
                cells.append(rate(judged(m, k), members))
        lines.append(cells)
    columns = [f"{what} {k}" for k in DISTANCES for what in ("≤", "verified ≤")]
    table("By length", ["tokens", "copies", *columns, "different", *columns], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NEARDUP_DATA", "../shared/data")))
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "neardup-defaults")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    texts, pairs = load(options.data, options.cache, options.processes)
    default = Features()
    grid = [
        replace(default, weight=weight, shingle=shingle, min_paragraph=paragraph)
        for weight, shingle, paragraph in product(get_args(Weight), (1, 2, 3), (0, 60, 100))
    ]
    numbers = [replace(default, number_weight=weight) for weight in (1, 3, 5, 8)]
    results = measured(texts, pairs, list(dict.fromkeys([*grid, *numbers, default])), options.processes)
    print(f"Defaults: {default}")
    candidate_table(pairs, {features: results[features] for features in grid})
    same_shingle = [features for features in grid if features.shingle == default.shingle]
    verified_table(
        pairs, {features: results[features] for features in dict.fromkeys([*same_shingle, *numbers])}
    )
    rule_table(pairs, results[default])
    band_table(pairs, results[default])


if __name__ == "__main__":
    main()

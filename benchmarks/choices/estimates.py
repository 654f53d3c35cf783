"""How likely bands find a pair, and how well sketches estimate its similarity."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.fingerprint import bottomk
from scrapy_neardup.fingerprint.bands import SUPER_SHINGLES, Bands, choose_bands
from scrapy_neardup.fingerprint.minhash import MinHash, agreement
from scrapy_neardup.fingerprint.sketch import similarity, sketch

from .printing import table

if TYPE_CHECKING:
    from numpy.typing import NDArray


def curves() -> None:
    """Print how likely some layouts of bands find a pair, by formula and by trial."""
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


def simulated(layout: Bands, similarity: float) -> float:
    """Return which share of random pairs is found."""
    runs, found = 2000, 0
    for seed in range(runs):
        family = MinHash(layout.bands * layout.rows, seed)
        pair = np.stack([family.signature(values) for values in two_sets(similarity, 200, seed)])
        keys = layout.keys(pair)
        found += int(layout.candidates(keys[:, 0], keys[:, 1:])[0])
    return found / runs


def errors() -> None:
    """Print how far estimates of the similarity are off."""
    runs, rows = 500, []
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


def two_sets(similarity: float, union: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two random sets of a *similarity*, which have *union* values together."""
    values = np.random.default_rng(seed).integers(0, 2**64, union, np.uint64)
    shared = round(similarity * union)
    only = (union - shared) // 2
    return values[: shared + only], np.concatenate((values[:shared], values[shared + only :]))

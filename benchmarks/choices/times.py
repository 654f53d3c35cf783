"""What signatures and clusters take."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.pairs.components import UnionFind, components, leader_clusters
from scrapy_neardup.fingerprint import SCHEMES, Fingerprinter, bottomk, load_scheme
from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.fingerprint.bands import Bands
from scrapy_neardup.fingerprint.minhash import MinHash
from scrapy_neardup.fingerprint.sketch import sketch
from scrapy_neardup.matching.records import RECORD

from .printing import best_time, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def times() -> None:
    """Print what signatures of sets of shingles take, by their size."""
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
    """Print what each scheme takes of a made-up page, whose words are as frequent as in English."""
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


def clusters() -> None:
    """Print what it takes to make clusters of pairs."""
    count = 10**6
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

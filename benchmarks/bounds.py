"""Measures what the bounds of lookups are chosen by: how many documents real pages meet, what floods take.

    python benchmarks/bounds.py [--texts texts.jsonl.gz ...] [--documents 100000] [--flood 100000]

The texts (lines of JSON with a text) are filed one after another, then texts put together from paragraphs of
three of them, up to so many documents. Each is looked up before it is filed. Floods are documents that differ
from a page in everything but its fingerprint, up to three bits of it, one block of it, or its digest.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.detector import Detector
from scrapy_neardup.index import Documents, FingerprintIndex
from scrapy_neardup.matching.records import DIGEST, OWN, entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Pages that are checked and reserved in each flood, one half each.
PAGES = 200
#: The batch: so many queries that are equal to so many stored fingerprints.
QUERIES, STORED = 600, 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--flood", type=int, default=100_000)
    options = parser.parse_args()
    if options.texts:
        meet([text for path in options.texts for text in read(path)], options.documents)
    for kind in ("fingerprint", "near", "block", "digest"):
        drown(kind, options.flood)
    batch()


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def meet(texts: list[str], documents: int) -> None:
    """Print how many documents the lookups of one page meet."""
    dice = random.Random(1)
    paragraphs = [text.split("\n") if "\n" in text else text.split(". ") for text in texts]

    def recombined() -> str:
        parts = (dice.choice(paragraphs) for _ in range(3))
        return "\n".join(line for part in parts for line in part[: 1 + len(part) // 2])

    with Detector.open() as detector:
        for what, some in (
            ("texts", iter(texts)),
            ("recombined", (recombined() for _ in range(documents - len(texts)))),
        ):
            met = []
            for number, text in enumerate(some):
                signature, url = detector.signature(text), f"https://{what}.example/{number}"
                if detector.matcher.unfit(signature.tokens, signature.wall) is None:
                    entry = entries([signature], [url], detector.index.header)
                    met.append(len(detector.index.find(entry, detector.matcher.lookups).documents))
                    detector.add(signature, url)
            if met:
                stored = detector.gauges()["documents"]
                p99 = np.percentile(met, 99)
                print(f"{what}: {stored} stored, a page meets {p99:.0f} (p99), {max(met)} (most)", flush=True)


def drown(kind: str, count: int) -> None:
    """Print what `check` and `reserve` take in a flood."""
    dice = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder, Detector.open(folder) as detector:
        like = detector.signature(" ".join(f"word{number}" for number in range(100)))
        one = entries([like], ["https://a.example/"], detector.index.header)
        keys = dice.integers(0, 2**63, (len(one.keys), count), np.uint64)
        family = DIGEST if kind == "digest" else OWN
        keys[family] = flood(kind, int(one.keys[family, 0]), count)
        records = np.repeat(one.records, count)
        records["fingerprint"] = keys[OWN]
        records["digest"] = dice.integers(0, 2**63, count, np.uint64)
        records["sketch"] = dice.integers(0, 256, records["sketch"].shape, np.uint8)
        urls = [f"https://s{number % 97}.example/{number}" for number in range(count)]
        detector.index.add(Documents(keys, records, urls, [b""] * len(urls)))
        time.sleep(2)  # what the thread of the index does is no part of it
        taken: dict[str, list[float]] = {"check": [], "reserve": []}
        for number in range(PAGES):
            name = ("check", "reserve")[number % 2]
            digest = like.digest[:8] + dice.bytes(8) if kind == "digest" else dice.bytes(16)
            page = replace(like, digest=digest, sketch=dice.bytes(len(like.sketch)))
            start = time.perf_counter()
            getattr(detector, name)(page, f"https://v.example/{number}")
            taken[name].append(1000 * (time.perf_counter() - start))
        print(f"{count} of one {kind}:", *(f"{name} {spread(times)}" for name, times in taken.items()))


def flood(kind: str, value: int, count: int) -> NDArray[np.uint64]:
    """Return so many keys that are equal to *value*, near it, or share a block with it."""
    dice = np.random.default_rng(2)
    if kind == "block":
        return dice.integers(0, 2**64, count, np.uint64) & ~np.uint64(0xFFFF) | np.uint64(value & 0xFFFF)
    values = np.full(count, value, np.uint64)
    for _ in range(3 if kind == "near" else 0):
        values ^= np.uint64(1) << dice.integers(0, 64, count).astype(np.uint64)
    return values


def spread(times: list[float]) -> str:
    return f"p50 {np.median(times):.1f} p99 {np.percentile(times, 99):.1f} max {max(times):.1f} ms"


def batch() -> None:
    """Print what a batch takes that finds all, at any cost."""
    with FingerprintIndex.open(None) as index:
        index.add(np.full(STORED, 12345, np.uint64))
        start = time.perf_counter()
        rows = len(index.search(np.full(QUERIES, 12345, np.uint64)).query)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{QUERIES} queries equal to {STORED} stored: {rows} rows, {seconds:.0f} s, {peak / 1e6:.1f} GB")


if __name__ == "__main__":
    main()

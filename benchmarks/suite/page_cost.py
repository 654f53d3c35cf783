"""The cost of a page besides extraction: signature, lookup, place in the index, share of commits."""

from __future__ import annotations

import shutil
import time
from collections import deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup import Detector, Fingerprinter
from scrapy_neardup.index.lmdb.tuning import DEFAULT

from . import inputs
from .adding import tidy
from .growth import exponent
from .indexes import crawl_index
from .measuring import REPEATS, Finding, Goal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_neardup import Signature

    from .measuring import Form

#: One page in so many repeats the text of an earlier one.
COPIES = 5
#: Pages of which enough are new for the log to be flushed once.
STORED = DEFAULT.flush_documents * COPIES // (COPIES - 1) + 1000
#: Stored pages for which the cost is computed.
COMPUTED = 10**7


def measure(form: Form) -> Iterator[Finding]:
    texts = inputs.texts(form.data)[: 400 if form.quick else 2000]
    points = []
    for size in form.stored:
        parts = [one(form, size, texts, repeat) for repeat in range(REPEATS)]
        total = tuple(map(sum, parts))
        split = ", ".join(
            f"{name} {np.median([part[place] for part in parts]):.2f}"
            for place, name in enumerate(("signature", "lookup and reserving", "confirming and commits"))
        )
        points.append(
            (
                size,
                float(np.median([sum(part[1:]) for part in parts])),
                float(np.median([part[0] for part in parts])),
            )
        )
        yield Finding(
            "a page, all but extraction, CPU", size, "ms", total, goal=Goal(1.0), note=split, growth=True
        )
    if len(points) > 1 and max(form.stored) < COMPUTED:
        power = max(0.0, exponent([(size, cost) for size, cost, _ in points]))
        cost = points[-1][2] + points[-1][1] * (COMPUTED / points[-1][0]) ** power
        note = (
            f"the index's part grown as n to the {power:.2f}, fitted from {points[0][0]:,} to "
            f"{points[-1][0]:,}"
        )
        yield Finding(
            "a page, all but extraction, CPU",
            COMPUTED,
            "ms",
            (cost,),
            goal=Goal(1.0),
            note=note,
            computed=True,
        )


def one(form: Form, size: int, texts: Sequence[str], repeat: int) -> tuple[float, float, float]:
    """Milliseconds of CPU a page: its signature, its lookup, its commit with flushes and merges."""
    path = form.folder / "page-cost"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(crawl_index(form, size), path)
    try:
        with Detector.open(path) as detector:
            signing, signatures = sign(detector.fingerprinter, texts, repeat)
            return signing, *store(detector, signatures, STORED * (1 if form.quick else 2), repeat)
    finally:
        shutil.rmtree(path)


def sign(fingerprinter: Fingerprinter, texts: Sequence[str], repeat: int) -> tuple[float, list[Signature]]:
    rewritten = [inputs.rewrite(text, repeat) for text in texts]
    start = time.thread_time()
    signatures = [fingerprinter.signature(text) for text in rewritten]
    return (time.thread_time() - start) / len(texts) * 1000, signatures


def store(
    detector: Detector, signatures: Sequence[Signature], count: int, repeat: int
) -> tuple[float, float]:
    """Pass *count* documents through the detector: other texts with the figures of real ones, and copies."""
    documents = list(varied(signatures, count, repeat))
    urls = list(islice(inputs.urls(3 * 10**6 + repeat), count))
    lookups, cpu = 0.0, time.process_time()
    for signature, url in zip(documents, urls, strict=True):
        start = time.thread_time()
        verdict = detector.reserve(signature, url)
        lookups += time.thread_time() - start
        if verdict.reservation is not None:
            verdict.reservation.confirm()
    detector.flush()
    tidy(detector.index)
    rest = time.process_time() - cpu - lookups
    return lookups / count * 1000, rest / count * 1000


def varied(signatures: Sequence[Signature], count: int, seed: int) -> Iterator[Signature]:
    dice = np.random.default_rng(seed)
    recent: deque[Signature] = deque(maxlen=1000)
    keys = len(signatures[0].keys)
    fit = [each for each in signatures if each.tokens >= 40 and not each.wall]
    for number in range(count):
        if number % COPIES == COPIES - 1:
            yield recent[number % len(recent)]
            continue
        new = replace(
            fit[number % len(fit)],
            fingerprint=int(dice.integers(0, 2**64, dtype=np.uint64)),
            digest=dice.bytes(16),
            sketch=dice.bytes(96),
            keys=dice.bytes(keys),
        )
        recent.append(new)
        yield new

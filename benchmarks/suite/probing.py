"""One probe of an index on disk, within 3 bits, and within 7 bits from the same four tables."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup import FingerprintIndex

from . import inputs
from .indexes import fingerprint_index
from .measuring import Finding, Form, Goal, interleave

#: Microseconds of the median probe, by fingerprints stored.
WITHIN_3 = {10**6: 60, 10**7: 100}
WITHIN_7 = {10**6: 300, 10**7: 1500}


def measure(form: Form) -> Iterator[Finding]:
    for size in form.sizes:
        path, stored = fingerprint_index(form, size), inputs.fingerprints(size)
        with FingerprintIndex.open(path) as index:
            yield from warm(form, index, stored, 3, 2000, WITHIN_3.get(size))
            yield from warm(form, index, stored, 7, 500, WITHIN_7.get(size))


def warm(
    form: Form,
    index: FingerprintIndex,
    stored: NDArray[np.uint64],
    distance: int,
    count: int,
    goal: float | None,
) -> Iterator[Finding]:
    """Probe again and again, in turn with brute force."""
    size = len(stored)
    few = max(5, min(200, 10**8 // size))
    wanted = inputs.queries(stored, count, distance, seed=size)
    check(index, stored, wanted[: min(few, 20)], distance)
    each_probe(index, wanted, distance)  # from the disk
    tasks = {
        "ours": lambda: each_probe(index, wanted, distance),
        "brute": lambda: each_scan(stored, wanted[:few], distance),
    }
    probes = interleave(form.repeats, tasks)
    work = f"one probe within {distance} bits, warm"
    median, last = (tuple(float(np.percentile(each, q)) for each in probes["ours"]) for q in (50, 99))
    scan = tuple(float(np.median(each)) for each in probes["brute"])
    bound = Goal(goal) if goal else None
    yield Finding(f"{work}, median", size, "µs", median, "NumPy brute force", scan, bound)
    yield Finding(f"{work}, 99th percentile", size, "µs", last)


def each_probe(index: FingerprintIndex, wanted: NDArray[np.uint64], distance: int) -> list[float]:
    """Return microseconds of each."""
    spent = []
    for each in wanted:
        start = time.perf_counter_ns()
        index.search(each, distance)
        spent.append((time.perf_counter_ns() - start) / 1000)
    return spent


def each_scan(stored: NDArray[np.uint64], wanted: NDArray[np.uint64], distance: int) -> list[float]:
    """Compare with all in slices that stay in the processor's cache; microseconds of each."""
    spent = []
    for each in wanted:
        start = time.perf_counter_ns()
        for low in range(0, len(stored), 1 << 15):
            (np.bitwise_count(stored[low : low + (1 << 15)] ^ each) <= distance).nonzero()
        spent.append((time.perf_counter_ns() - start) / 1000)
    return spent


def check(
    index: FingerprintIndex, stored: NDArray[np.uint64], wanted: NDArray[np.uint64], distance: int
) -> None:
    """Raise unless the index finds what brute force does."""
    for each in wanted:
        (expected,) = (np.bitwise_count(stored ^ each) <= distance).nonzero()
        if index.search(each, distance).document.tolist() != expected.tolist():
            raise SystemExit(f"The index and brute force differ for {int(each):016x} within {distance} bits.")

"""All pairs of fingerprints within 3 bits, against FAISS and brute force, both extrapolated from samples."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.audit.all_pairs import near_pairs

from .batching import by_faiss, codes
from .measuring import Finding, Form, Goal, interleave, timed

#: Seconds, by fingerprints.
GOALS = {10**6: 1.0, 10**7: 15.0}
SAMPLE = 20_000


def measure(form: Form) -> Iterator[Finding]:
    for size in form.sizes:
        yield from join(form, size)


def join(form: Form, size: int) -> Iterator[Finding]:
    stored = fingerprints(size)
    probes = stored[: max(2, 10**8 // size)]
    sample = codes(stored[: SAMPLE if size < 10**7 else SAMPLE // 10])

    def scan() -> list[NDArray[np.int64]]:
        return [np.flatnonzero(np.bitwise_count(stored ^ each) <= 3) for each in probes]

    def ours() -> float:
        return timed(lambda: sum(map(len, near_pairs(np.unique(stored, return_counts=True)[0]))))

    ours()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    peer = by_faiss(stored)
    tasks = {
        "ours": ours,
        "brute": lambda: timed(scan) / len(probes) * size / 2,  # each pair once
        "faiss": lambda: timed(lambda: peer.range_search(sample, 4)) / len(sample) * size,
    }
    if size <= 10**6:
        check(stored, scan())
    found = interleave(form.repeats, tasks)
    goal = Goal(GOALS[size]) if size in GOALS else None
    note = f"{size:,} fingerprints: peak of memory {peak:.2f} GB, input and imports included"
    work = "all pairs within 3 bits"
    yield Finding(work, size, "s", found["ours"], "FAISS, extrapolated", found["faiss"], goal, note)
    yield Finding(work, size, "s", found["ours"], "brute force, extrapolated", found["brute"])


def fingerprints(count: int) -> NDArray[np.uint64]:
    """Return random ones, one in twenty with up to 3 bits of another; uint64[count]."""
    dice = np.random.default_rng(count)
    values = dice.integers(0, 2**64, count, np.uint64)
    copies = dice.integers(0, count, count // 20)
    near = values[dice.integers(0, count, len(copies))]
    for _ in range(3):
        near ^= np.uint64(1) << dice.integers(0, 64, len(copies), np.uint64)
    values[copies] = near
    return values


def check(stored: NDArray[np.uint64], near: list[NDArray[np.int64]]) -> None:
    """Raise unless the first probes have the pairs that brute force finds; equal ones count once."""
    wanted = {
        (min(stored[probe], stored[other]), max(stored[probe], stored[other]))
        for probe, others in enumerate(near)
        for other in others.tolist()
        if stored[probe] != stored[other]
    }
    probed = stored[: len(near)]
    found: set[tuple[np.uint64, np.uint64]] = set()
    values = np.unique(stored)
    for pairs in near_pairs(values):
        both = values[pairs]
        ours = np.isin(both, probed).any(axis=1)
        found |= {*zip(both[ours, 0], both[ours, 1], strict=True)}
    if found != wanted:
        raise SystemExit("The join and brute force find different pairs.")

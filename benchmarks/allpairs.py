"""Time all pairs within 3 bits of 0.1 to 10 million fingerprints, against brute force and FAISS.

    python benchmarks/allpairs.py [--sizes 1e5,1e6,1e7] [--distances 3] [--repeats 3] [--workers 2]
        [--faiss 2e5]

Fingerprints are random from a seed; one in twenty is another with 0 to 3 bits flipped. Each size runs in a
process of its own, so that its peak of memory is its own. Brute force is measured on as many probes as take
about a second and extrapolated; FAISS (`IndexBinaryMultiHash`, 4 x 16 bits, one thread) looks up a sample,
extrapolated likewise, if it can be imported. The pairs of the sample must be the same for all three.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.pairs.joins import choose_layout, near_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def fingerprints(count: int) -> NDArray[np.uint64]:
    """Random ones, one in twenty a near copy; uint64[count]."""
    dice = np.random.default_rng(count)
    values = dice.integers(0, 2**64, count, np.uint64)
    copies = dice.integers(0, count, count // 20)
    near = values[dice.integers(0, count, len(copies))]
    for _ in range(3):
        near ^= (dice.random(len(copies)) < 0.5).astype(np.uint64) << dice.integers(
            0, 64, len(copies), np.uint64
        )
    values[copies] = near
    return values


def measure(count: int, distance: int, repeats: int, workers: int, faiss_probes: int) -> dict[str, object]:
    """Everything about one size; runs in a process of its own."""
    values = fingerprints(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, cpu = [], []
    for _ in range(repeats):
        started, used = time.perf_counter(), time.process_time()
        pairs = sum(map(len, near_pairs(values, distance, workers=workers)))
        seconds.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probes = max(1, min(count, 1000, 3 * 10**8 // count))
    started = time.perf_counter()
    near = [np.flatnonzero(np.bitwise_count(values ^ value) <= distance) for value in values[:probes]]
    brute = (time.perf_counter() - started) / probes * count / 2  # each pair once
    check_sample(values, near, distance)
    return {
        "count": count,
        "distance": distance,
        "tables": len(choose_layout(np.unique(values), distance)),
        "pairs": pairs,
        "seconds": seconds,
        "cpu": statistics.median(cpu),
        "base": before / 1024,
        "peak": peak / 1024,
        "brute": brute,
        "faiss": by_faiss(values, near, distance, min(count, faiss_probes)),
    }


def check_sample(values: NDArray[np.uint64], near: Sequence[NDArray[np.int64]], distance: int) -> None:
    """Compare the pairs of the probes with brute force; equal fingerprints stand for each other."""
    wanted = {
        frozenset((int(values[probe]), int(values[other])))
        for probe, others in enumerate(near)
        for other in others.tolist()
        if values[probe] != values[other]
    }
    probed = values[: len(near)]
    found: set[frozenset[int]] = set()
    for pairs in near_pairs(values, distance):
        a, b = values[pairs].T
        ours = (np.isin(a, probed) | np.isin(b, probed)) & (a != b)
        found |= {frozenset(pair) for pair in zip(a[ours].tolist(), b[ours].tolist(), strict=True)}
    if found != wanted:
        raise SystemExit(f"Wrong: {len(found ^ wanted)} pairs of {len(wanted)} differ from brute force.")


def by_faiss(
    values: NDArray[np.uint64], near: Sequence[NDArray[np.int64]], distance: int, probes: int
) -> float | None:
    """Return the seconds in which FAISS files all and looks all up, from *probes*; None if it is not here."""
    try:
        import faiss
    except ImportError:
        return None
    if distance > 3 or not probes:
        return None  # four blocks do not find more
    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    codes = values.view(np.uint8).reshape(-1, 8)
    started = time.perf_counter()
    index.add(codes)
    filed = time.perf_counter()
    limits, _, labels = index.range_search(
        codes[:probes], distance + 1
    )  # finds what is nearer than its radius
    done = time.perf_counter()
    for probe, expected in enumerate(near[:probes]):
        if sorted(labels[limits[probe] : limits[probe + 1]].tolist()) != expected.tolist():
            raise SystemExit(f"FAISS differs from brute force at fingerprint {probe}.")
    return filed - started + (done - filed) / probes * len(values)


def numbers(text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=numbers, default=[10**5, 10**6, 10**7])
    parser.add_argument("--distances", type=numbers, default=[3])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--faiss", type=lambda text: int(float(text)), default=200_000, help="probes; 0: none"
    )
    chosen = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, NumPy {np.__version__}\n")
    print(
        "| fingerprints | distance | tables | pairs | s, median (range) | CPU s | peak MB (of it input) "
        "| brute force / this | FAISS / this |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    medians: dict[int, list[tuple[int, float]]] = {}
    for distance in chosen.distances:
        for count in chosen.sizes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.apply(measure, (count, distance, chosen.repeats, chosen.workers, chosen.faiss))
            seconds = found["seconds"]
            median = statistics.median(seconds)
            medians.setdefault(distance, []).append((count, median))
            faiss = f"{found['faiss'] / median:.1f}" if found["faiss"] else "–"
            print(
                f"| {count:,} | {distance} | {found['tables']} | {found['pairs']:,} | {median:.2f}"
                f" ({min(seconds):.2f}–{max(seconds):.2f}) | {found['cpu']:.2f} | {found['peak']:.0f}"
                f" ({found['base']:.0f}) | {found['brute'] / median:,.0f} | {faiss} |",
                flush=True,
            )
    for distance, points in medians.items():
        if len(points) > 1:
            sizes, times = np.log(points).T
            print(f"\nDistance {distance}: time grows as n to the {np.polyfit(sizes, times, 1)[0]:.2f}.")


if __name__ == "__main__":
    main()

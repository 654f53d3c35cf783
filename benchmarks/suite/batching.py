"""Many probes at once, and the making of an index, against FAISS's exact index in memory on one thread."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup import FingerprintIndex

from . import inputs
from .indexes import fingerprint_index
from .measuring import REPEATS, Finding, Form, Goal, interleave, timed

BATCH = 20_000
#: How many times FAISS's speed, by fingerprints stored.
GOALS = {10**6: 2, 10**7: 1}
PEER = "FAISS MultiHash 4 × 16"


def measure(form: Form) -> Iterator[Finding]:
    for size in form.sizes:
        stored = inputs.fingerprints(size)
        yield building(form, stored)
        yield asking(form, stored)


def building(form: Form, stored: NDArray[np.uint64]) -> Finding:
    size, path = len(stored), form.folder / "building"

    def ours() -> float:
        shutil.rmtree(path, ignore_errors=True)
        with FingerprintIndex.open(path) as index:
            return size / timed(lambda: index.add(stored))

    tasks = {"ours": ours, "faiss": lambda: size / timed(lambda: by_faiss(stored))}
    found = interleave(form.repeats if size < 10**7 else REPEATS, tasks)
    shutil.rmtree(path)
    goal = Goal(5e5) if size >= 10**6 else None
    note = "ours is on disk when it is done, merges included"
    return Finding(
        "building an index", size, "fingerprints/s", found["ours"], f"{PEER} add", found["faiss"], goal, note
    )


def asking(form: Form, stored: NDArray[np.uint64]) -> Finding:
    size = len(stored)
    wanted = inputs.queries(stored, BATCH, 3, seed=size + 1)
    with FingerprintIndex.open(fingerprint_index(form, size)) as index:
        peer = by_faiss(stored)
        check(index, peer, wanted)
        tasks = {
            "ours": lambda: BATCH / timed(lambda: index.search(wanted, 3)),
            "faiss": lambda: BATCH / timed(lambda: peer.range_search(codes(wanted), 4)),
        }
        found = interleave(form.repeats, tasks)
    goal = Goal(GOALS[size], ratio=True) if size in GOALS else None
    note = f"{BATCH:,} probes within 3 bits, ours from disk; equal results"
    return Finding("probes in batch", size, "probes/s", found["ours"], PEER, found["faiss"], goal, note)


def by_faiss(stored: NDArray[np.uint64]) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.add(codes(stored))
    return index


def codes(values: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return values.view(np.uint8).reshape(-1, 8)


def check(index: FingerprintIndex, peer: Any, wanted: NDArray[np.uint64]) -> None:
    """Raise unless both find the same."""
    ours = index.search(wanted, 3)
    limits, _, labels = peer.range_search(codes(wanted), 4)  # finds what is nearer than its radius
    theirs = np.stack((np.repeat(np.arange(len(wanted)), np.diff(limits.astype(np.int64))), labels))
    theirs = theirs[:, np.lexsort(theirs[::-1])]
    if not np.array_equal(theirs, np.stack((ours.query, ours.document))):
        raise SystemExit("FAISS and the index find different fingerprints.")

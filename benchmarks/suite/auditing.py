"""The audit of a finished crawl, texts in and clusters out, against datasketch's MinHashLSH on a sample."""

from __future__ import annotations

import json
import resource
import shutil
import time
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_neardup.audit import audit
from scrapy_neardup.fingerprint.tokens import tokenise
from scrapy_neardup.options import processors

from . import inputs
from .measuring import REPEATS, Finding, Goal, interleave

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .measuring import Form

SAMPLE = 1000  # documents
#: text-dedup's published seconds for 100,000 abstracts on 6 processes, by MinHash and by SimHash.
TEXT_DEDUP = {"MinHash": 11.09, "SimHash": 626.0}


def measure(form: Form) -> Iterator[Finding]:
    for size in (1_000, 4_000) if form.quick else (10_000, 100_000):
        yield from audits(form, size)


def audits(form: Form, size: int) -> Iterator[Finding]:
    sample = SAMPLE // 4 if form.quick else SAMPLE
    feed, out = write_feed(form, size), form.folder / "audit"
    tasks = {"ours": lambda: audited(feed, out), "peer": lambda: by_datasketch(form, sample) * size / sample}
    found = interleave(REPEATS if size < 100_000 else 1, tasks)
    peaks = [
        resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    note = f"one document in ten a copy; peak of memory {peaks[0]:.2f} GB, of a worker {peaks[1]:.2f} GB"
    work, ours, goal = "audit of texts", found["ours"], Goal(60.0) if size == 100_000 else None
    peer = "datasketch MinHashLSH, one process, extrapolated"
    yield Finding(work, size, "s", ours, peer, found["peer"], goal, note, growth=True)
    if size == 100_000:
        memory = (peaks[0] + processors() * peaks[1],)
        yield Finding(f"{work}: memory of all processes at their peaks", size, "GB", memory, goal=Goal(2.0))
        for name, seconds in TEXT_DEDUP.items():
            yield Finding(
                work, size, "s", ours, f"text-dedup {name}, 6 processes, published", (seconds,) * len(ours)
            )


def documents(form: Form) -> Iterator[str]:
    """Yield texts without end: real ones, then rewritten ones, one in ten twice."""
    texts = inputs.texts(form.data)
    for variant in range(inputs.VARIANTS):
        for number, text in enumerate(texts):
            yield inputs.rewrite(text, variant)
            if number % 9 == 8:
                yield inputs.rewrite(text, variant) + " Copied with one more sentence at the end of it all."


def write_feed(form: Form, size: int) -> Path:
    path = form.folder / f"audit-{size}.jl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            for url, text in zip(inputs.urls(size), islice(documents(form), size), strict=False):
                file.write(json.dumps({"url": url, "text": text}) + "\n")
    return path


def audited(feed: Path, out: Path) -> float:
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    with audit(feed, out):
        return time.perf_counter() - start


def by_datasketch(form: Form, sample: int) -> float:
    """Seconds for a sample, words ready."""
    import datasketch

    words = [tokenise(text).words for text in islice(documents(form), sample)]
    start = time.perf_counter()
    lsh = datasketch.MinHashLSH(threshold=0.5, num_perm=128)
    for number, each in enumerate(words):
        minhash = datasketch.MinHash(128)
        minhash.update_batch([" ".join(each[i : i + 5]).encode() for i in range(max(1, len(each) - 4))])
        lsh.query(minhash)
        lsh.insert(number, minhash)
    return time.perf_counter() - start

"""Adding documents while crawling: how fast, what is written to disk, how long the crawl's thread is held."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.index import Documents, Index
from scrapy_neardup.index.lmdb.environment import DEFAULT
from scrapy_neardup.index.protocol import Filing

from . import inputs
from .indexes import crawl_index, written_bytes
from .measuring import REPEATS, Finding, Form, Goal

GROUP = 1000
#: Documents at which the log is flushed into a run.
FLUSH = DEFAULT.flush_documents
#: Documents between two waits for the disk: far from the backlog at which the index forgets.
WAIT = 20_000


class Added(NamedTuple):
    """What adding took."""

    seconds: float
    cpu: float
    #: Longest time that a call of each group of documents took: milliseconds.
    longest: list[float]
    written: int


def measure(form: Form) -> Iterator[Finding]:
    count = 4 * FLUSH if form.quick else 12 * FLUSH
    for size in form.stored:
        path = form.folder / "adding"
        runs = [fresh(form, path, size, count, repeat) for repeat in range(REPEATS)]
        shutil.rmtree(path)
        work = "adding while crawling"
        note = f"{count:,} documents, each reserved and confirmed; all on disk, flushed and merged at the end"
        rates = tuple(count / each.seconds for each in runs)
        yield Finding(work, size, "documents/s", rates, goal=Goal(50_000), note=note)
        cpu = tuple(each.cpu / count * 1e6 for each in runs)
        yield Finding(f"{work}, CPU a document", size, "µs", cpu)
        work = "longest call of the crawl's thread in a group of 1000, 99th percentile"
        held = tuple(float(np.percentile(each.longest, 99)) for each in runs)
        yield Finding(work, size, "ms", held, goal=Goal(50))
        work = "bytes written a document while so many were added"
        note = "without merges of older runs that were not due"
        written = tuple(each.written / count for each in runs)
        yield Finding(work, size, "B", written, note=note)


def fresh(form: Form, path: Path, size: int, count: int, seed: int) -> Added:
    """Add to a copy of the index of *size* pages."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(crawl_index(form, size), path)
    with Detector.open(path) as detector:
        documents = inputs.documents(detector.index.header, count, seed=10**9 + seed)
        return add_each(detector.index, documents)


def add_each(index: Index, documents: Documents) -> Added:
    """Add as a crawl does."""
    rows = [documents.take(slice(row, row + 1)) for row in range(len(documents.urls))]
    longest, written = [], written_bytes()
    gc.freeze()  # a crawl does not hold all that it will file, nor look there for garbage
    start, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(rows), GROUP):
        most = 0
        for new in rows[first : first + GROUP]:
            begin = time.perf_counter_ns()
            reservation = index.reserve_if(new, (), lambda found, new=new: Filing(new))
            assert reservation is not None
            reservation.confirm()
            most = max(most, time.perf_counter_ns() - begin)
        longest.append(most / 1e6)
        if (first + GROUP) % WAIT == 0:
            index.flush()
    index.flush()
    if index.gauges()["forgotten"]:
        raise SystemExit("The index has forgotten documents because the disk did not keep up.")
    for _ in index._writer.maintenance(wait=True):  # type: ignore[attr-defined]  # what is due, or under way
        pass
    return Added(time.perf_counter() - start, time.process_time() - cpu, longest, written_bytes() - written)

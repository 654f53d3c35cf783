"""Adding documents while crawling: how fast, what is written to disk, how long the crawl's thread is held."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.index.lmdb.compaction import due_for_merge
from scrapy_neardup.index.lmdb.layout import Run
from scrapy_neardup.index.lmdb.tuning import DEFAULT
from scrapy_neardup.index.protocol import Filing

from . import inputs
from .indexes import crawl_index, written_bytes
from .measuring import REPEATS, Finding, Goal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_neardup.index import Documents, Header, Index

    from .measuring import Form

GROUP = 1000
#: Documents at which the log is flushed into a run.
FLUSH = DEFAULT.flush_documents
#: Documents between two waits for the disk: far from the backlog at which the index forgets.
WAIT = 20_000
#: Bytes of a URL; compressed they are half of that, about.
URL = 75


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
        one_by_one, groups = [], []
        for repeat in range(REPEATS):
            one_by_one.append(fresh(form, path, size, count, repeat, by_group=False))
            groups.append(fresh(form, path, size, count, repeat, by_group=True))
        shutil.rmtree(path)
        note = f"{count:,} documents, each reserved and confirmed; all on disk, flushed and merged at the end"
        yield Finding(
            "adding while crawling",
            size,
            "documents/s",
            rates(one_by_one, count),
            goal=Goal(50_000),
            note=note,
        )
        yield Finding(
            "adding in bulk, 1000 at a time, each on disk before the next",
            size,
            "documents/s",
            rates(groups, count),
        )
        yield Finding(
            "adding while crawling, CPU a document",
            size,
            "µs",
            tuple(each.cpu / count * 1e6 for each in one_by_one),
            growth=True,
        )
        held = tuple(float(np.percentile(each.longest, 99)) for each in one_by_one)
        yield Finding(
            "longest call of the crawl's thread in a group of 1000, 99th percentile",
            size,
            "ms",
            held,
            goal=Goal(50),
        )
        written = tuple(each.written / count for each in one_by_one)
        yield Finding(
            "bytes written a document while so many were added",
            size,
            "B",
            written,
            note="without merges of older runs that were not due",
        )
    yield from amplification(form)


def rates(added: list[Added], count: int) -> tuple[float, ...]:
    return tuple(count / each.seconds for each in added)


def fresh(form: Form, path: Path, size: int, count: int, seed: int, *, by_group: bool) -> Added:
    """Add to a copy of the index of *size* pages."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(crawl_index(form, size), path)
    with Detector.open(path) as detector:
        documents = inputs.documents(detector.index.header, count, seed=10**9 + seed)
        return add_groups(detector.index, documents) if by_group else add_each(detector.index, documents)


def add_each(index: Index, documents: Documents) -> Added:
    """Add as a crawl does."""
    longest, written = [], written_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(documents.urls), GROUP):
        most = 0
        for row in range(first, min(first + GROUP, len(documents.urls))):
            begin = time.perf_counter_ns()
            new = documents.take(slice(row, row + 1))
            reservation = index.reserve_if(new, (), lambda found, new=new: Filing(new))
            assert reservation is not None
            reservation.confirm()
            most = max(most, time.perf_counter_ns() - begin)
        longest.append(most / 1e6)
        if (first + GROUP) % WAIT == 0:
            index.flush()
    return finish(index, longest, start, cpu, written)


def add_groups(index: Index, documents: Documents) -> Added:
    """Add a group at a time, in bulk."""
    longest, written = [], written_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(documents.urls), GROUP):
        begin = time.perf_counter_ns()
        index.add(documents.take(slice(first, first + GROUP)))
        longest.append((time.perf_counter_ns() - begin) / 1e6)
    return finish(index, longest, start, cpu, written)


def finish(index: Index, longest: list[float], start: float, cpu: float, written: int) -> Added:
    """Wait until all is on disk, flushed and merged."""
    index.flush()
    if index.gauges()["forgotten"]:
        raise SystemExit("The index has forgotten documents because the disk did not keep up.")
    tidy(index)
    return Added(time.perf_counter() - start, time.process_time() - cpu, longest, written_bytes() - written)


def tidy(index: Index) -> None:
    """Flush and merge what is due, and wait if the index's own thread does."""
    while is_due(index):
        for _ in index._writer.maintenance():  # type: ignore[attr-defined]
            pass


def is_due(index: Index) -> bool:
    """Tell whether there is something to flush or to merge."""
    with index.reading() as reader:  # type: ignore[attr-defined]
        state = reader.state
    return state.next - state.flushed >= FLUSH or len(due_for_merge(state.runs)) > 1


def amplification(form: Form) -> Iterator[Finding]:
    """Fill an index from nothing, merges and all; from it compute what larger ones take."""
    count = (4 if form.quick else 32) * FLUSH
    filled = tuple(fill(form, count, repeat) / count for repeat in range(REPEATS))
    with Detector.open() as detector:
        header = detector.index.header
    factor = float(np.median(filled)) / logical_bytes(count, header)
    work, goal = "bytes written a document from nothing to so many, merges included", Goal(2048)
    yield Finding(work, count, "B", filled, goal=goal)
    note = (
        f"the rule of merging played through, times {factor:.2f}, which is what LMDB made of it at {count:,}"
    )
    for size in (10**6, 10**7, 10**8, 10**9):
        bytes_ = (logical_bytes(size, header) * factor,)
        yield Finding(work, size, "B", bytes_, goal=goal if size <= 10**7 else None, note=note, computed=True)


def fill(form: Form, count: int, repeat: int) -> int:
    """Return the bytes written while *count* documents are added to an empty index."""
    path, written = form.folder / "filling", 0
    with Detector.open(path) as detector:
        for start in range(0, count, 2 * FLUSH):
            some = inputs.documents(detector.index.header, 2 * FLUSH, seed=2 * 10**9 + repeat * count + start)
            written += add_each(detector.index, some).written
    shutil.rmtree(path)
    return written


def logical_bytes(count: int, header: Header) -> float:
    """Return the bytes that a document causes to be written, on average, until there are *count*."""
    runs: list[Run] = []
    entries = 0
    for start in range(0, count, FLUSH):
        runs.append(Run(len(runs), start, start + FLUSH, FLUSH, 0))
        entries += FLUSH
        while len(due := due_for_merge(runs)) > 1:
            merged = Run(len(runs), due[0].start, due[-1].stop, sum(each.documents for each in due), 0)
            runs[len(runs) - len(due) :] = [merged]
            entries += merged.documents
    tables = sum(len(family.tables) * family.keys for family in header.families)
    log, stored = 8 * header.keys + header.dtype.itemsize + URL, header.dtype.itemsize + URL // 2
    return float(log + stored + 12 * tables * entries / runs[-1].stop)

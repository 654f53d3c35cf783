"""What an index takes on disk, and how long opening it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb

from scrapy_neardup import Detector, FingerprintIndex
from scrapy_neardup.index.lmdb.environment import DATABASES

from .indexes import crawl_index, fingerprint_index, size_on_disk
from .measuring import Finding, Form, Goal, interleave, timed

REDIS = "datasketch over Redis (published)"


def measure(form: Form) -> Iterator[Finding]:
    for size in form.sizes:
        path = fingerprint_index(form, size)
        tables = databases(path)["runs"] / size
        work, note = "bytes a document, four tables alone", "pages in use; one run"
        yield Finding(work, size, "B", (tables,), goal=Goal(64), note=note)
        yield from opening(form, path, size, "fingerprints", lambda path=path: FingerprintIndex.open(path))
    for size in form.stored:
        path = crawl_index(form, size)
        used, inside = sum(databases(path).values()) / size, databases(path)
        parts = ", ".join(f"{name} {bytes_ / size:.0f}" for name, bytes_ in inside.items() if bytes_ > size)
        note = f"default scheme: {parts}; the file with free pages {size_on_disk(path) / size:.0f}"
        work = "bytes a document, all that a crawl keeps"
        yield Finding(work, size, "B", (used,), REDIS, (2000.0,), Goal(320), note)
        yield from opening(form, path, size, "pages", lambda path=path: Detector.open(path))


def opening(
    form: Form, path: Path, size: int, what: str, open_: Callable[[], Detector | FingerprintIndex]
) -> Iterator[Finding]:
    def once() -> float:
        opened: list[Detector | FingerprintIndex] = []
        seconds = timed(lambda: opened.append(open_()))
        opened[0].close()
        return seconds * 1000

    once()  # imports
    goal = Goal(50) if size >= {"fingerprints": 10**7, "pages": 10**6}[what] else None
    runs = max(5, form.repeats)
    yield Finding(f"opening an index of {what}", size, "ms", interleave(runs, {"": once})[""], goal=goal)


def databases(path: Path) -> dict[str, int]:
    """Return the bytes that each database of an index takes."""
    with lmdb.open(str(path), readonly=True, lock=False, max_dbs=len(DATABASES)) as environment:
        page = environment.stat()["psize"]
        sizes = {}
        with environment.begin() as transaction:
            for name in DATABASES:
                stat = transaction.stat(environment.open_db(name.encode(), transaction, create=False))
                pages = (stat[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages"))
                sizes[name] = page * sum(pages)
        return sizes

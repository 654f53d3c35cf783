"""Indexes that several rows share: made once for each size, in the folder of the run."""

from __future__ import annotations

from pathlib import Path

from scrapy_neardup import Detector, FingerprintIndex

from . import inputs
from .measuring import Form

#: Documents made at a time.
CHUNK = 1 << 20


def fingerprint_index(form: Form, count: int) -> Path:
    """Return the folder of an index of `inputs.fingerprints`, with four tables, in one run."""
    path = form.folder / f"fingerprints-{count}"
    if not path.exists():
        with FingerprintIndex.open(path) as index:
            index.add(inputs.fingerprints(count))
            index._index.compact()  # type: ignore[attr-defined]
    return path


def crawl_index(form: Form, count: int) -> Path:
    """Return the folder of an index as a crawl has it after *count* pages, with default settings."""
    path = form.folder / f"pages-{count}"
    if not path.exists():
        with Detector.open(path) as detector:
            for start in range(0, count, CHUNK):
                some = inputs.documents(detector.index.header, min(CHUNK, count - start), seed=start + 1)
                detector.index.add(some)
    return path


def size_on_disk(path: Path) -> int:
    """Return the bytes that the files of an index take."""
    return sum(each.stat().st_blocks * 512 for each in path.iterdir())


def written_bytes() -> int:
    """Return the bytes that this process has handed to the system to be written.

    LMDB writes each page of a commit once, then waits for the disk. Not ``write_bytes``: where the page cache
    has large folios, a kernel counts all of one as soon as a part is written, several times what reaches the
    disk.
    """
    for line in Path("/proc/self/io").read_text("ascii").splitlines():
        name, _, value = line.partition(": ")
        if name == "wchar":
            return int(value)
    raise OSError("There is no wchar in /proc/self/io.")

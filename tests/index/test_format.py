"""An index in the format of this version, as it was once written, is read: no change passes without a number.

`python -m tests.index.test_format` writes one in a new format.
"""

from __future__ import annotations

import gzip
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from scrapy_neardup.index import Documents, LmdbIndex
from scrapy_neardup.index.header import FORMAT
from scrapy_neardup.index.lmdb.commands import compact
from scrapy_neardup.index.lmdb.directory import DATA, USERS

from .consistency import check
from .small import HEADER, SMALL, documents, note_of

WRITTEN = Path(__file__).parents[1] / "known_answers" / f"index-{FORMAT}.mdb.gz"
COUNT, LOGGED = 100, 10
GONE = [5, 70, COUNT + 3]


def some(start: int, stop: int) -> Documents:
    """Documents with fingerprints all over the range, of which some have no URL."""
    made = documents(
        [number * 0x9E3779B97F4A7C15 % (1 << 64) for number in range(start, stop)],
        [f"u{number}" for number in range(start, stop)],
    )
    made.records["time"] = 1_700_000_000 + np.arange(start, stop)
    return made._replace(urls=["" if 24 <= n < 48 else f"https://a.example/{n}" for n in range(start, stop)])


def write(path: Path) -> bytes:
    """Write an index of a run of several partitions, a log, and tombstones in both; return its data file."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        index.add(some(0, COUNT))
    compact(path)  # which leaves no free pages
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        index.add(some(COUNT, COUNT + LOGGED))
        index.discard(GONE)
        index.flush()
    return (path / DATA).read_bytes()


def test_an_index_of_this_format_is_read(tmp_path: Path) -> None:
    (tmp_path / DATA).write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    (tmp_path / USERS).touch()
    expected = some(0, COUNT + LOGGED)
    left = np.setdiff1d(np.arange(COUNT + LOGGED), GONE)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        check(index)
        assert index.gauges()["runs"] == 1
        assert index.gauges()["documents"] == len(left)
        for family, keys in enumerate(expected.keys):
            found = index.search(family, keys)
            assert found.query.tolist() == found.document.tolist() == left.tolist()
        stored = index.fetch(left)
        assert stored.records.tolist() == expected.records[left].tolist()
        assert stored.urls == expected.take(left).urls
        assert stored.notes == [note_of(f"u{number}") for number in left.tolist()]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        WRITTEN.write_bytes(gzip.compress(write(Path(folder)), mtime=0))

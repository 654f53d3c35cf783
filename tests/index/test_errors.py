"""Whatever LMDB, the disk or a damaged file raises: each call raises a `NearDupError` with a remedy."""

from __future__ import annotations

import contextlib
import errno
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch, NearDupError
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check as problems
from scrapy_neardup.index.lmdb.layout import number_key
from tests.index.conformance import reserve

from .flaky import Flaky
from .small import HEADER, SMALL, documents, numbered, reading_of

CALLS = ("begin", "begin write", "get", "put", "delete", "cursor", "copyfd")
KINDS = (lmdb.Error, lmdb.DiskError, lmdb.MapFullError, lmdb.CorruptedError, lmdb.BadTxnError)
ERRORS: list[Exception] = [*(kind("as if") for kind in KINDS), MemoryError()]


def search(index: LmdbIndex) -> list[str]:
    matches = index.search(1, np.arange(40, dtype=np.uint64))
    return index.fetch(matches.document).urls


def confirm(index: LmdbIndex) -> None:
    new = documents([7], ["u35"])
    reserve(index, new).confirm()
    index.flush()


def discard(index: LmdbIndex) -> None:
    index.discard([1, 100])
    index.flush()


def read(index: LmdbIndex) -> object:
    with reading_of(index) as reader:
        return [*reader.blocks(0, 100)]


def fails(use: Callable[[], Any]) -> bool:
    """Whether *use* raises an error of ours, which is one sentence with a remedy."""
    said = ""
    try:
        use()
    except NearDupError as error:
        said = str(error)
    assert not said or (": " in said and said.endswith("."))
    return bool(said)


TUNING = replace(
    SMALL, group_seconds=0.0, commit_retry_seconds=0.001, upkeep_retry_seconds=0.001, transaction_values=4
)

USES: dict[str, Callable[[LmdbIndex], Any]] = {
    "search": search,
    "confirm": confirm,
    "add": lambda index: index.add(documents([1], ["u36"])),
    "load": lambda index: index.add(numbered(range(50, 90))),
    "discard": discard,
    "compact": lambda index: index.compact(),
    "gauges": lambda index: index.gauges(),
    "reading": read,
    "check": lambda index: list(problems(index)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with a run, a log, and a removed document of each."""
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER, tuning=TUNING)) as index:
        index.add(numbered(range(25)))
        index.compact()
        index.add(numbered(range(25, 30)))
        index.discard([2, 26])
        index.flush()
    return path


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_only_our_errors_come_out_of_an_index(path: Path, flaky: Flaky, error: Exception) -> None:
    """Raised by each call of LMDB, once and for a while; afterwards the index is as good as before."""
    raised = 0
    index = LmdbIndex(path, HEADER, tuning=TUNING)
    for use in USES.values():
        for persistently in (True, False):
            if persistently:
                flaky.always(error, *CALLS)
            else:
                flaky.once(1, error, *CALLS)
            raised += fails(lambda use=use: use(index))
            flaky.hook = None
    index.flush()
    assert {f"u{number}" for number in range(30)} - {"u2", "u26", "u1"} <= {*search(index)}
    assert list(problems(index)) == []
    flaky.always(error, *CALLS)
    raised += fails(index.close)
    if raised == 0:
        assert isinstance(error, lmdb.MapFullError)
    for _ in range(2):
        with pytest.raises(NearDupError):
            LmdbIndex(path, HEADER, tuning=TUNING)
    flaky.hook = None
    with closing(LmdbIndex(path, HEADER, tuning=TUNING)) as index:
        assert list(problems(index)) == []


@pytest.mark.parametrize(
    "error",
    [*ERRORS, OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EMFILE, "Too many open files")],
    ids=lambda error: type(error).__name__,
)
def test_only_our_errors_come_out_of_opening(tmp_path: Path, flaky: Flaky, error: Exception) -> None:
    """Of a new index and of a scratch index, at each call of LMDB; afterwards the directory can be used."""
    for path in (tmp_path / "index", None):
        for number in range(40):
            calls = flaky.once(number, error, "open", "set_mapsize", *CALLS)
            fails(lambda path=path: LmdbIndex(path, HEADER, tuning=TUNING).close())
            if len(calls) <= number:
                break
        assert number > 3
    flaky.hook = None
    with closing(LmdbIndex(tmp_path / "index", HEADER)) as index:
        assert list(problems(index)) == []


@contextlib.contextmanager
def editing(path: Path, name: bytes = b"meta") -> Iterator[lmdb.Transaction]:
    with (
        lmdb.open(str(path), max_dbs=5, lib_version=0) as environment,
        environment.begin(write=True, db=environment.open_db(name)) as transaction,
    ):
        yield transaction


@pytest.mark.parametrize("key", [b"header", b"state"])
@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"[" * 10**5 + b"]" * 10**5, b"\xff", b"[]", b'{"format": 1e999}']
)
def test_unreadable_records(path: Path, key: bytes, value: bytes | None) -> None:
    with editing(path) as transaction:
        if value is None:
            assert transaction.delete(key)
        else:
            transaction.put(key, value)
    with pytest.raises(IndexCorrupted):
        LmdbIndex(path, HEADER, tuning=TUNING)


def test_the_format_of_another_version_and_a_flipped_bit(path: Path) -> None:
    with editing(path) as transaction:
        header = bytes(transaction.get(b"header"))
        other = replace(HEADER, format=3).to_json()
        transaction.put(b"header", b"%08x" % zlib.crc32(other) + other)
    with pytest.raises(IndexMismatch, match=r"has format 3 .*NEARDUP_RESET"):
        LmdbIndex(path, HEADER, tuning=TUNING)
    with editing(path) as transaction:
        assert b'"seed": 0' in header
        transaction.put(b"header", header.replace(b'"seed": 0', b'"seed": 1'))
    with pytest.raises(IndexCorrupted, match="header"):
        LmdbIndex(path, HEADER, tuning=TUNING)


@pytest.mark.parametrize("gone", [(0,), (1,), (0, 1)])
def test_a_log_that_lacks_documents_is_not_flushed(tmp_path: Path, gone: tuple[int, ...]) -> None:
    """The others would get the numbers of those that are missing."""
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        for number in (0, 1):
            index.add(documents([number], [f"u{number}"]))
    with editing(tmp_path, b"log") as transaction:
        for number in gone:
            assert transaction.delete(number_key(number))
    with closing(LmdbIndex(tmp_path, HEADER)) as index, pytest.raises(IndexCorrupted, match="index check"):
        index.compact()

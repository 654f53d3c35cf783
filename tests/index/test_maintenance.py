"""When maintenance is due: there is much to do, the last try has failed, or documents may have expired."""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.compaction import maintain
from scrapy_neardup.index.lmdb.directory import MERGE, file_lock
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import read_state
from scrapy_neardup.index.lmdb.memtable import Contents
from scrapy_neardup.index.lmdb.runs import append
from scrapy_neardup.index.lmdb.writer import Maintenance

from .flaky import Flaky
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_neardup.index.lmdb.tuning import Tuning

TUNING = replace(SMALL, expiry_seconds=1000.0, last_retry_seconds=100.0)


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Flaky:
    return Flaky(monkeypatch)


@pytest.fixture
def made(tmp_path: Path, flaky: Flaky) -> Iterator[Callable[..., Maintenance]]:
    """Makes the maintenance of an index with one document in its log."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=TUNING)) as index:
        index.add(documents([1], ["u1"]))
    with contextlib.ExitStack() as opened:

        def make(window: float = 0, tuning: Tuning = TUNING) -> Maintenance:
            environment = Environment(tmp_path, tuning)
            opened.callback(environment.close)
            return Maintenance(environment, Contents(environment, HEADER), window)

        yield make


def begins(maintenance: Maintenance, removed: int = 1) -> bool:
    """Tell whether `advance` begins anything, after so many documents were *removed*; go on to its end."""
    maintenance.removed = removed
    maintenance.advance()
    while maintenance.under_way:
        maintenance.advance()
    return maintenance.removed == 0


def test_where_there_is_little_to_do_nothing_is_begun(made: Callable[..., Maintenance]) -> None:
    maintenance = made()
    assert not begins(maintenance)
    assert not begins(maintenance, TUNING.flush_documents - 1)
    assert begins(maintenance, TUNING.flush_documents)
    assert not maintenance.failing


def test_what_may_have_expired_is_looked_for_now_and_then(made: Callable[..., Maintenance]) -> None:
    maintenance = made(window=60)
    assert begins(maintenance)
    assert not begins(maintenance)
    assert 900 < maintenance.expire_at - time.monotonic() <= 1000
    maintenance.expire_at = time.monotonic()
    assert begins(maintenance)


@pytest.mark.parametrize("wait", [0.0, 100.0])
def test_what_has_failed_is_tried_again_after_a_wait(
    wait: float, made: Callable[..., Maintenance], flaky: Flaky
) -> None:
    def fail(call: str) -> None:
        if call == "begin":
            raise lmdb.DiskError("full")

    maintenance = made(tuning=replace(TUNING, last_retry_seconds=wait))
    flaky.hook = fail
    assert begins(maintenance, TUNING.flush_documents)
    flaky.hook = None
    assert maintenance.failing
    assert begins(maintenance) == (not wait)
    assert maintenance.failing == (wait > 0)
    assert not begins(maintenance)


@pytest.mark.parametrize("of", ["another thread", "another process"])
def test_where_somebody_else_maintains_the_index_nobody_waits_for_that(of: str, tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=TUNING)) as index:
        index.add(documents(range(15), [f"u{number}" for number in range(15)]))
    with closing(Environment(tmp_path, TUNING)) as environment:
        append(environment, documents([15], ["u15"]))  # now the log is long
        ended = threading.Event()

        def runs() -> int:
            with environment.read() as transaction:
                return len(read_state(environment, transaction).runs)

        def work() -> None:
            for _ in maintain(environment, HEADER):
                pass
            ended.set()

        lock = (
            environment.compaction_lock if of == "another thread" else file_lock(tmp_path / MERGE, wait=False)
        )
        with lock:
            threading.Thread(target=work, daemon=True).start()
            assert ended.wait(10)
            assert runs() == 0
        work()
        assert runs() == 1

"""What has failed is tried again after waits that double up to a bound, and is complained of once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.lmdb.faults import Retry

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_after(action: Callable[[], None], retry: Retry) -> float:
    """Return the seconds from *action* to the next try."""
    before = time.monotonic()
    action()
    assert retry.at is not None
    return retry.at - before


def test_waits_double_up_to_a_bound_and_begin_anew() -> None:
    retry, error = Retry("It fails.", 100, 700), OSError(28, "No space left on device")
    assert retry.at <= time.monotonic()
    for turn in range(2):
        for expected in (100, 200, 400, 700, 700):
            assert wait_after(lambda: retry.failed(error), retry) == pytest.approx(expected, abs=20), turn
            assert retry.error is error
        retry.at_once()
        assert retry.at <= time.monotonic()
        assert wait_after(lambda: retry.failed(error), retry) == pytest.approx(700, abs=20)
        retry.succeeded()
        assert retry.error is None


def test_failures_in_a_row_are_complained_of_once(caplog: pytest.LogCaptureFixture) -> None:
    retry = Retry("It fails.", 1, 1)
    for _ in range(3):
        retry.failed(lmdb.DiskError("full"))
    retry.succeeded()
    retry.failed(IndexUnavailable("gone"))
    assert len(caplog.records) == 2
    for record, what in zip(
        caplog.records, ("It fails. (full): free space", "It fails. (gone)"), strict=True
    ):
        assert record.message.startswith(what)

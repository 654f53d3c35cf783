"""Races of two crawls do the same again by their numbers, find nothing, and would find what is broken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.index.lmdb.memtable import Memtable
from tests.index.redis_server import running
from torture.exercises import races
from torture.exercises.model import Wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index.redis.scripts import Call


@pytest.mark.parametrize("first", [1, pytest.param(1000, marks=pytest.mark.slow)])
def test_nothing_is_found(first: int, tmp_path: Path) -> None:
    done = races.races(range(first, first + 40 * (1 + first // 250)), tmp_path)[0]
    assert done.violations == []
    assert done.counts["interleavings"] > 10 * done.counts["races"]


def test_a_number_is_an_order(tmp_path: Path) -> None:
    orders = [races.on_disk(seed, tmp_path) for seed in (3, 4, 3)]
    assert orders[0] == orders[2] != orders[1]


@pytest.mark.slow
def test_a_number_is_an_order_on_a_server_that_does_not_know_the_script(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")
    with running(tmp_path / "redis") as server:
        orders = [races.on_server(seed, server) for seed in (96, 64, 96)]
    assert orders[0] == orders[2] != orders[1]


def test_removals_that_a_commit_leaves_out_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Memtable.begin
    monkeypatch.setattr(Memtable, "begin", lambda self, size: (begin(self, size)[0], set()))
    assert races.races((seed for seed in range(700, 800) if seed % 4), tmp_path)[0].violations


@pytest.mark.slow
def test_pages_that_do_not_see_who_came_first_to_another_part_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")
    from scrapy_neardup.index.redis.store import Store

    send = Store._send

    def unread(self: Store, calls: Sequence[Call]) -> list[Any]:
        """Find nothing in buckets of parts that do not give a document its number."""
        later = {call.part for call in calls if call.step == "file" and call.arguments[5]}
        return [
            [*answer[:2], *[None] * len(answer[2:])]
            if isinstance(answer, list) and call.part in later
            else answer
            for call, answer in zip(calls, send(self, calls), strict=True)
        ]

    monkeypatch.setattr(Store, "_send", unread)
    with running(tmp_path / "redis") as server, pytest.raises(Wrong, match="missing"):
        [races.on_server(seed, server) for seed in range(120, 174)]

"""Collections of garbage pass over what a crawl begins with, and over nothing once it has ended."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from scrapy_neardup.plugin.garbage import GarbageCollector

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_what_a_crawl_begins_with_is_spared_until_it_ends() -> None:
    collector = GarbageCollector()
    collector.spare()
    assert gc.get_freeze_count() > 10_000
    collector.close()
    assert gc.get_freeze_count() == 0


def test_a_crawl_that_has_ended_disturbs_no_later_one() -> None:
    first, second = GarbageCollector(), GarbageCollector()
    first.spare()
    first.close()
    second.spare()
    first.close()
    assert gc.get_freeze_count() > 0
    second.close()
    assert gc.get_freeze_count() == 0


def test_garbage_is_collected_before() -> None:
    class Cycle:
        deleted = False

        def __init__(self) -> None:
            self.self = self

        def __del__(self) -> None:
            Cycle.deleted = True

    Cycle()
    GarbageCollector().spare()
    assert Cycle.deleted


def test_crawls_in_one_process_and_programs_that_do_the_same_are_not_disturbed() -> None:
    gc.freeze()  # a program that is about to fork does so
    other = GarbageCollector()
    other.spare()
    other.close()
    assert gc.get_freeze_count() > 0

"""No item is dropped that differs from every kept one; copies under other URLs are dropped nevertheless."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.exercises.items import COPIES, KINDS, run, site


def test_a_site_has_all_kinds_of_pages_and_copies() -> None:
    sites = [site(seed) for seed in (0, 2)]
    pages = [page for each in sites for page in each.values()]
    assert {page.group.split(",")[0] for page in pages} == {*KINDS}
    assert {page.copy for page in pages if page.is_copy} == {*COPIES}
    assert site(0) == sites[0] != sites[1]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_items_that_say_the_same_are_dropped(tmp_path: Path) -> None:
    rounds = [run(seed, tmp_path) for seed in (1, 2, 3)]
    assert [each.violations for each in rounds] == [[], [], []]
    # Addresses and moments say nothing from the first page on; sessions have to be learned first.
    counts = [each.counts for each in rounds]
    assert all(each["copies whose items were dropped"] == each["copies"] > 0 for each in counts)

"""No item is dropped that differs from every kept one; copies under other URLs are dropped nevertheless."""

from __future__ import annotations

import pytest

from torture.items import COPIES, KINDS, Outcome, crawl, site


def test_a_site_has_all_kinds_of_pages_and_copies() -> None:
    sites = [site(seed) for seed in (0, 2)]
    pages = [page for each in sites for page in each.values()]
    assert {page.group.split(",")[0] for page in pages} == {*KINDS}
    assert {page.copy for page in pages if page.is_copy} == {*COPIES}
    assert site(0) == sites[0] != sites[1]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_items_that_say_the_same_are_dropped() -> None:
    """Some 500 items; `python -m torture.items` has 20,000."""
    outcome, seed = Outcome(), 1
    while outcome.items < 500:
        crawl(seed, outcome)
        seed += 1
    assert outcome.lost == []
    # Addresses and moments say nothing from the first page on; sessions have to be learned first.
    for kind in COPIES:
        assert outcome.dropped[kind] == outcome.copies[kind]

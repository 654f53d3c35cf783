"""Items of pages that differ in short values, and copies of them, through real crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torture.exercise import Exercise, Round
from torture.items import Outcome, crawl

if TYPE_CHECKING:
    from pathlib import Path


def run(seed: int, folder: Path) -> Round:
    found = Outcome()
    crawl(seed, found)
    outcome = Round(violations=found.lost)
    outcome.counts["items"] = found.items
    outcome.counts["copies"] = found.copies.total()
    outcome.counts["copies whose items were dropped"] = found.dropped.total()
    return outcome


EXERCISE = Exercise(
    name="items",
    promise="Under the policy drop_items an item is dropped only if the one that it repeats says the same.",
    how="Made-up shops, events, jobs, flats, timetables, people, recipes, forums and category pages in 9 "
    "languages, of which up to 95 % of the text is shared and one field, two or all differ, crawled with "
    "items of four classes; copies under other URLs between them.",
    run=run,
    seconds=15,
)

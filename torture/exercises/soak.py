"""Crawls of short pages: what the crawl's process takes has to stay as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torture.exercise import Exercise, Round
from torture.soaking import Soak, soak

if TYPE_CHECKING:
    from pathlib import Path

#: Pages of a round, and of every other one; documents that the index has before.
PAGES, MANY, STORED = 2400, 15_600, 200_000


def run(seed: int, folder: Path) -> Round:
    revisits = seed % 3 == 0
    if seed % 2 == 0:
        return soak(Soak(MANY, STORED, revisits, warm=17, a_page=2500), seed, folder)
    return soak(Soak(PAGES, STORED, revisits, warm=8, a_page=8000), seed, folder)


EXERCISE = Exercise(
    name="soak",
    promise="What a crawl takes does not grow with its length: memory, open files, threads, turns of the "
    "event loop.",
    how="Crawls of short pages, or of revisits alone, into an index that is large already; every other one "
    "is longer. Memory is what is left after garbage was collected, less files that are mapped.",
    goals={"pages": 1_000_000, "revisits": 500_000},
    run=run,
    seconds=90,
    share=1.5,
)

"""One crawl that goes on and on, into an index of ten million documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torture.exercise import Exercise, Round
from torture.soaking import Soak, soak

if TYPE_CHECKING:
    from pathlib import Path

#: Pages of a crawl, and documents that the index has before.
PAGES, STORED = 100_000, 10_000_000


def run(seed: int, folder: Path) -> Round:
    return soak(Soak(PAGES, STORED, revisits=seed % 2 == 0, warm=4, a_page=1000), seed, folder)


EXERCISE = Exercise(
    name="long-crawl",
    promise="What `soak` promises, of a crawl that goes on and on.",
    how="A crawl of 100,000 pages, or of as many revisits, into an index of ten million documents. "
    "Only `ARGS=--full` has it.",
    goals={"pages": 300_000, "revisits": 300_000},
    run=run,
    seconds=1800,
    long=True,
)

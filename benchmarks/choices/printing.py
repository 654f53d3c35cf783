"""Tables in Markdown, and the least time that something takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def table(title: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    head = list(head)
    print(f"\n### {title}\n")
    for line in (head, ["---"] * len(head), *rows):
        cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in line)
        print(f"| {' | '.join(cells)} |", flush=True)


def best_time(work: Callable[[], object], times: int = 20) -> float:
    """Return the least of several timings; s."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)

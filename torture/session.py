"""Which rounds are done, and in which order: until the time is over, or until all goals are reached."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from .ledger import commit
from .runner import run_round

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .exercise import Entry, Exercise
    from .ledger import Ledger


def rounds(
    chosen: Sequence[Exercise], book: Ledger, *, full: bool, seconds: float | None = None
) -> Iterator[Entry]:
    """Do rounds of *chosen*, each noted in *book* before it is yielded.

    The exercises take turns so that each gets its share of the time. Without *full*, each that is not long
    has one round at least, and none is begun that would end after *seconds*. With *full*, rounds go on until
    the goals are reached or the *seconds* are over; those that broke a promise at another commit are done
    again first.
    """
    started, now = time.monotonic(), commit()
    spent: Counter[str] = Counter()
    waiting = [each for each in chosen if full or not each.long]
    while waiting:
        each = min(waiting, key=lambda exercise: spent[exercise.name] / exercise.share)
        seed = book.broken_seed(each.name, now) if full else None
        left = None if seconds is None else seconds - (time.monotonic() - started)
        over = left is not None and left < each.seconds and (full or each.name in spent)
        if over or (full and seed is None and met(each, book)):
            waiting.remove(each)
            continue
        entry = run_round(each, book.next_seed(each.name) if seed is None else seed)
        spent[each.name] += max(entry.seconds, 0.001)  # type: ignore[assignment]
        book.append(entry)
        yield entry


def met(exercise: Exercise, book: Ledger) -> bool:
    """Return whether the goals of *exercise* are reached."""
    _, done, _ = book.of(exercise.name).total()
    return all(done[what] >= number for what, number in exercise.goals.items())

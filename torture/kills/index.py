"""Writers and commands of an index on disk are killed."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.cli import main
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check
from tests.index.adder import add
from tests.index.conformance import reserve
from tests.index.small import HEADER, SMALL, documents, note_of, numbered
from torture.children import Child, isolated
from torture.exercise import Round, in_time

from . import BUDGET

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

#: If a writer notes nothing for longer, it waits for a processor, or for others that do.
TURN = 0.1


def writers(dice: random.Random, folder: Path, outcome: Round) -> None:
    """2 to 8 processes file documents; some are killed while the others go on, then all."""
    kept: set[int] = set()
    first = 0
    for batch in in_time(range(60), BUDGET):
        if batch % 6 == 0:  # a larger index takes longer to check
            path, kept = folder / f"index{batch}", set()
        children = []
        for number in range(dice.randint(2, 8)):
            first += 1_000_000
            log = folder / f"{batch}-{number}"
            children.append((Child(partial(add, path, first, log)), log))
        # Only after seconds there is something that was neither flushed nor confirmed just now.
        time.sleep(4 if batch % 12 == 11 else dice.choice((0, 0.02, 0.1, 0.4)) * dice.random())
        for child, log in children:
            time.sleep(dice.choice((0, 0, 0.01, 0.05)) * dice.random())
            outcome.counts["kills of writers"] += child.kill()
            kept |= promised(log)
        seen = isolated(partial(sound, path, kept))
        outcome.violations += [f"batch {batch}: {what}" for what in seen.wrong]
        if outcome.violations:
            return


def promised(log: Path) -> set[int]:
    """Return the documents that a writer that was killed has on disk for certain, by its *log*.

    What was confirmed is there once the writer has been at work for longer than may be forgotten. It is at
    work when it notes something, so what it waits between two notes counts as one turn at most.
    """
    said = [line.split() for line in log.read_text().split("\n")[:-1]] if log.exists() else []
    flushed = max((int(number) for _, what, number in said if what == "flushed"), default=-1)
    found, at_work, later = set(), 0.0, 0.0
    for when, what, number in reversed(said):
        at_work += min(TURN, max(0.0, later - float(when)))
        later = float(when)
        if what == "added" or (what == "confirmed" and (int(number) <= flushed or at_work > 1.5)):
            found.add(int(number))
    return found


def commands(dice: random.Random, folder: Path, outcome: Round) -> None:
    """`compact` and `prune` are killed, at the beginning, in the middle, at the end."""
    kept: set[int] = set()
    for number in in_time(range(120), BUDGET):
        if number % 20 == 0:
            path, kept = folder / f"index{number}", set()
            isolated(partial(fill, path, number))
            kept |= {*range(100 * number, 100 * number + 300)}
        name = dice.choice((["compact"], ["compact"], ["prune", "--older-than", "20000"]))
        command = ["index", name[0], str(path), *name[1:]]
        child = Child(partial(main, command, standalone_mode=False))
        outcome.counts["kills of commands"] += child.killed_after(dice.random() ** 2 * 0.3)
        seen = isolated(partial(sound, path, kept))
        outcome.violations += [f"{name[0]}, kill {number}: {each}" for each in seen.wrong]
        if outcome.violations:
            return


def fill(path: Path, number: int) -> None:
    """File 300 documents, and remove some others."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        for start in range(100 * number, 100 * number + 300, 30):
            index.add(numbered(range(start, start + 30)))
        gone = index.add(documents([1, 2, 3], ["u900001", "u900002", "u900003"]))
        index.discard(gone.tolist())


def sound(path: Path, kept: set[int]) -> list[str]:
    """Return what is wrong with an index that has to hold *kept*."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        return problems(index, kept)


def problems(index: LmdbIndex, kept: set[int], gone: set[int] | None = None) -> list[str]:
    """Return what is wrong with an index that has to hold *kept*, and nothing of *gone*; it goes on then."""
    wrong = [f"check: {problem.where}: {problem.what}" for problem in check(index)]
    lost, back = missing(index, kept), (gone or set()) - missing(index, gone or set())
    wrong += [f"{len(lost)} documents are lost, such as {each}" for each in [*lost][:1]]
    wrong += [f"{len(back)} removed documents are back, such as {each}" for each in [*back][:1]]
    index.add(documents([1], ["u999999"]))
    return wrong


def missing(index: Any, numbers: set[int]) -> set[int]:
    """Return those of *numbers* whose documents are not found by their URLs, each with its own note."""
    _, stored = index.retrieve(1, np.array(sorted(numbers), np.uint64))
    whole = zip(stored.urls, stored.notes, strict=True)
    return numbers - {int(url[1:]) for url, note in whole if note == note_of(url)}


def store(index: LmdbIndex, number: int, fingerprint: int, written: int = 0) -> None:
    """Reserve and confirm a document, with its note."""
    document = documents([fingerprint], [f"u{number}"], written)
    reserve(index, document).confirm(note=document.notes[0])


def remove(index: LmdbIndex, numbers: Sequence[int]) -> None:
    index.discard(index.search(1, np.array(numbers, np.uint64)).document.tolist())

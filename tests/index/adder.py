"""Processes that add documents to an index, forked from one that has everything imported.

Reads lines of INDEX FIRST LOG MODE from standard input and answers each with the number of a new process,
which adds until SIGTERM and notes in LOG what it has done.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import compaction
from tests.index.conformance import reserve
from tests.index.small import HEADER, SMALL, documents, note_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing is left of a killed one
    for line in sys.stdin:
        path, first, log, mode = line.split()
        child = os.fork()
        if not child:
            os._exit(add(Path(path), int(first), log, mode))
        print(child, flush=True)


def add(path: Path, number: int, log: str, mode: str) -> int:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    dice = random.Random(number)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))

    def say(what: str, of: int) -> None:
        os.write(file, f"{time.time()} {what} {of}\n".encode())

    write = compaction.write

    def stall(environment: object, partitions: object) -> Iterator[None]:
        """Stop for good after the first part of a merge of runs."""
        for step in write(environment, partitions):
            if index._memtable.snapshot.state.runs:
                say("merging", 0)
                time.sleep(60)
            yield step

    if mode == "slow-merge":
        compaction.write = stall
    index = LmdbIndex(path, HEADER, tuning=SMALL)
    say("open", number)
    while not stopped:
        number += 1
        act = dice.random()
        new = documents([dice.getrandbits(64)], [f"u{number}"])
        if act < 0.8:
            reservation = reserve(index, new)
            if act < 0.1:
                reservation.release()
            else:
                reservation.confirm(note=note_of(new.urls[0]))
                say("confirmed", number)
        elif act < 0.9:
            numbers = range(number, number + dice.choice((1, 5, 30)))
            index.add(documents([dice.getrandbits(64) for _ in numbers], [f"u{n}" for n in numbers]))
            for number in numbers:
                say("added", number)
        elif act < 0.95:
            index.flush()
            say("flushed", number)
        else:
            time.sleep(0.01)
    index.close()
    say("closed", number)
    return 0


if __name__ == "__main__":
    main()

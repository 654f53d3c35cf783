"""What a process does that adds documents to an index until SIGTERM, and notes in a file what it has done."""

from __future__ import annotations

import random
import signal
import time
from contextlib import closing
from pathlib import Path

from scrapy_neardup.index import LmdbIndex
from tests.index.conformance import reserve
from tests.index.small import HEADER, SMALL, documents, note_of


def add(path: Path, number: int, log: Path) -> None:
    dice = random.Random(number)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))

    def say(what: str, of: int) -> None:
        with log.open("a") as file:
            file.write(f"{time.time()} {what} {of}\n")

    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
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
    say("closed", number)

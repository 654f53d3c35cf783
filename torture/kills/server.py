"""Clients of a Redis server are killed, and the server."""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from scrapy_neardup.index import open_index
from scrapy_neardup.index.redis.index import find_problems
from tests.index.redis_server import RedisServer, server_program
from tests.index.small import HEADER, documents
from torture.children import Child, isolated
from torture.exercise import Round, in_time

from . import BUDGET
from .index import missing

if TYPE_CHECKING:
    from pathlib import Path


def server(dice: random.Random, folder: Path, outcome: Round) -> None:
    """Clients of a Redis server are killed, and the server, which syncs each command."""
    if server_program() is None:
        outcome.remarks.append("there is no redis-server here, so its store was left out")
        return
    redis = RedisServer(folder / "redis", "--appendonly", "yes", "--appendfsync", "always")
    redis.start()
    url, kept = f"{redis.url()}&parts={dice.choice((1, 3))}", set[int]()
    try:
        for batch in in_time(range(12), BUDGET):
            logs = [folder / f"{batch}-{number}" for number in range(dice.randint(2, 5))]
            children = [
                Child(partial(file_on, url, 1_000_000 * (10 * batch + number), log))
                for number, log in enumerate(logs)
            ]
            time.sleep(dice.uniform(0.05, 0.8))
            if batch % 3 == 2:
                redis.kill()
                outcome.counts["kills of the server"] += 1
            outcome.counts["kills of clients"] += sum([child.kill() for child in children])
            kept |= {int(each) for log in logs if log.exists() for each in log.read_text().split("\n")[:-1]}
            if batch % 3 == 2:
                redis.start()
            seen = isolated(partial(sound_on, url, kept, batch == 11), 60)
            outcome.violations += [f"batch {batch}: {each}" for each in seen.wrong]
    finally:
        redis.kill()


def file_on(url: str, number: int, log: Path) -> None:
    """File documents on a server, and note those that are flushed."""
    dice, file = random.Random(number), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    index = open_index(url, HEADER)
    while True:
        time.sleep(0.005)
        numbers = range(number, number + dice.choice((1, 3, 9)))
        number = numbers.stop
        index.add(documents([dice.getrandbits(64) for _ in numbers], [f"u{each}" for each in numbers]))
        index.flush()
        os.write(file, "".join(f"{each}\n" for each in numbers).encode())


def sound_on(url: str, kept: set[int], thorough: bool) -> list[str]:
    with closing(open_index(url, HEADER)) as index:
        wrong = list(find_problems(index))[:3] if thorough else []  # type: ignore[arg-type]
        lost = missing(index, kept)
        return wrong + [f"{len(lost)} documents are lost, such as {each}" for each in [*lost][:1]]

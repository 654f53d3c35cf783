"""A store beside a dictionary: whatever is done to both, each search finds what comparing all finds."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint import SCHEMES, Features, Fingerprinter, load_scheme
from scrapy_neardup.index import Index, LmdbIndex, MemoryIndex, open_index
from scrapy_neardup.index.tables import LAYOUTS
from scrapy_neardup.matching.records import header_for
from tests.index.redis_server import RedisServer, server_program
from tests.index.small import SMALL
from torture.exercise import Exercise, Round, in_time
from torture.model import Model, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: How many steps a round has at most, by where the store is.
STEPS = {"memory": 6000, "lmdb": 4000, "redis": 1500}
TUNING = replace(
    SMALL,
    group_seconds=0.01,
    flush_documents=64,
    partition_entries=64,
    transaction_values=4,
    block_documents=32,
)


def run(seed: int, folder: Path) -> Round:
    dice, outcome = random.Random(seed), Round()
    # One round in eight uses a server, which takes the most time for a step.
    kind = "redis" if seed % 8 == 0 else "memory" if seed % 8 == 1 else "lmdb"
    scheme, tables = list(SCHEMES)[seed % len(SCHEMES)], list(LAYOUTS)[seed // 2 % len(LAYOUTS)]
    header = header_for(Fingerprinter(Features(), seed, load_scheme(scheme, tables=tables)), "")
    server = None
    if kind == "redis":
        if server_program() is None:
            return Round(remarks=["there is no redis-server here, so its store was left out"])
        server = RedisServer(folder / "redis")
        server.start()
    opened: dict[str, Callable[[], Index]] = {
        "memory": partial(MemoryIndex, header),
        "lmdb": partial(LmdbIndex, folder / "index", header, tuning=TUNING),
        "redis": partial(open_index, server.url() if server else None, header),
    }
    model = Model(kind, header, opened[kind], dice)
    done: Counter[str] = Counter()
    try:
        for _ in in_time(range(STEPS[kind]), EXERCISE.seconds):
            done[model.step()] += 1
    except Wrong as wrong:
        outcome.violations.append(f"{kind}, {scheme}, {tables} tables: step {done.total()}: {wrong}")
    if not outcome.violations:
        model.index.close()
    outcome.counts["steps"] = done.total()
    outcome.counts[f"steps with {kind}"] = done.total()
    outcome.counts["searches compared"] = done["search"]
    if server is not None:
        server.kill()
    return outcome


EXERCISE = Exercise(
    name="model",
    promise="A search finds all that is stored within the distance, and nothing else, whatever was done.",
    how="Random steps: file, confirm, release, remove, flush, merge, reopen, look up. "
    "Each answer is compared with that of a dictionary whose keys are compared one by one. All schemes; 4, "
    "10 and 20 tables; in memory, in LMDB, on a Redis server.",
    run=run,
    seconds=30,
)

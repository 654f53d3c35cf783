"""One of several processes that file near-identical documents at the same moment, each in some threads.

Arguments: URL of the index, own number, how many processes, turns, share of pages that fail, threads. Prints
the turns in which this process has confirmed, and those in which its pages have failed, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import redis

from scrapy_neardup.index import open_index
from scrapy_neardup.index.protocol import Filing
from tests.index.conformance import HEADER, LOOKUPS, documents

if TYPE_CHECKING:
    from scrapy_neardup.index.protocol import Found, Index


def main(url: str, own: int, rivals: int, turns: int, failing: float, threads: int) -> None:
    confirmed: list[int] = []
    failed: list[int] = []
    with closing(open_index(url, HEADER)) as index, ThreadPoolExecutor(threads) as pool:
        numbers = range(own * threads, (own + 1) * threads)
        rival = partial(compete, index, url, rivals=rivals * threads, turns=turns, failing=failing)
        for ours, lost in pool.map(rival, numbers):
            confirmed += ours
            failed += lost
        index.flush()
        print(json.dumps([confirmed, failed, index.gauges()["retries"]]), flush=True)


def compete(
    index: Index, url: str, own: int, *, rivals: int, turns: int, failing: float
) -> tuple[list[int], list[int]]:
    """File a copy in each turn, at the moment when the others do."""
    dice = random.Random(own)
    confirmed, failed = [], []
    barrier = redis.Redis.from_url(url.partition("?")[0])
    for turn in range(turns):
        base = random.Random(f"turn {turn}").getrandbits(64)
        document = documents([base ^ 1 << dice.randrange(64)], 1_000 * turn + own)
        barrier.incr(f"turn{turn}")
        while int(barrier.get(f"turn{turn}") or 0) < rivals:
            time.sleep(0)
        while True:
            met: list[Found] = []

            def decide(found: Found, document=document, met=met) -> Filing | None:  # type: ignore[no-untyped-def]
                met[:] = [found]
                return None if len(found.documents) else Filing(document)

            reservation = index.reserve_if(document, LOOKUPS, decide)
            if reservation is not None:
                if dice.random() < failing:
                    reservation.release()
                    failed.append(turn)
                else:
                    reservation.confirm()
                    confirmed.append(turn)
                break
            if all(pending is None for pending in met[0].pending):
                break  # dropped as a copy of what is stored
            time.sleep(0.001)
    return confirmed, failed


if __name__ == "__main__":
    own, rivals, turns = map(int, sys.argv[2:5])
    main(sys.argv[1], own, rivals, turns, float(sys.argv[5]), int(sys.argv[6]))

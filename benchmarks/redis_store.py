"""What an index on a Redis server takes: memory of a document, documents a second, time of a look-up.

    python benchmarks/redis_store.py [--documents 100000]

Starts a server of its own, and ends it. Documents have nothing in common, and URLs of common length.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import redis
from suite import inputs

from scrapy_neardup import Detector
from scrapy_neardup.index.protocol import Filing

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.index.redis_server import running

if TYPE_CHECKING:
    from scrapy_neardup.index import Documents

#: Documents that are added at a time, that are filed or looked up, and pages that a crawl asks for at a time.
BULK, ONES, AT_ONCE = 10_000, 5_000, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        measure(server.url().partition("?")[0], options.documents)


def measure(url: str, count: int) -> None:
    client = redis.Redis.from_url(url)
    with Detector.open(url, extractor="none") as detector:
        empty = client.info("memory")["used_memory"]
        start = time.perf_counter()
        for first in range(0, count, BULK):
            detector.index.add(inputs.documents(detector.index.header, min(BULK, count - first), first + 1))
        print(f"added in bulk: {count / (time.perf_counter() - start):,.0f} documents a second")
        used = client.info("memory")["used_memory"] - empty
        print(f"memory: {used / count:,.0f} B a document at {count:,}, {client.dbsize():,} keys")
        for threads in (1, AT_ONCE):
            documents = inputs.documents(detector.index.header, ONES, 10**9 + threads * ONES)
            start, cpu = time.perf_counter(), server_seconds(client)
            file_each(detector, documents, threads)
            seconds, server = time.perf_counter() - start, server_seconds(client) - cpu
            print(
                f"filed, {threads} at a time: {ONES / seconds:,.0f} documents a second, "
                f"{server / ONES * 1e6:.0f} µs of the server each"
            )
        asked = inputs.documents(detector.index.header, ONES, 2 * 10**9)
        taken = []
        for row in range(ONES):
            start = time.perf_counter()
            detector.index.find(asked.take(slice(row, row + 1)), detector.matcher.lookups)
            taken.append((time.perf_counter() - start) * 1000)
        print(
            f"a look-up: {np.median(taken):.2f} ms, one in a hundred over {np.percentile(taken, 99):.2f} ms"
        )


def file_each(detector: Detector, documents: Documents, threads: int) -> None:
    """Look up, reserve and confirm each document, as a crawl does with so many pages at a time."""

    def file(row: int) -> None:
        one = documents.take(slice(row, row + 1))
        reservation = detector.index.reserve_if(one, detector.matcher.lookups, lambda _: Filing(one))
        assert reservation is not None
        reservation.confirm()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(file, range(len(documents.urls))))
    detector.flush()


def server_seconds(client: redis.Redis) -> float:
    """Return the processor time of the server."""
    spent = client.info("cpu")
    return float(spent["used_cpu_user"] + spent["used_cpu_sys"])


if __name__ == "__main__":
    main()

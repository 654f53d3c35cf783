"""What an index on a Redis server takes: memory, the server's time for a page, pages a second, look-ups.

    python benchmarks/redis_store.py [--documents 20000 1000000] [--data DIRECTORY]

Starts a server of its own for each number of documents, and ends it. Pages are filed beside the buckets
alone of so many, whose fingerprints have each bit set as often as those of texts. What is filed has nothing
in common, and URLs of common length.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import redis
from numpy.typing import NDArray
from suite import inputs

from scrapy_neardup import Detector
from scrapy_neardup.index import Documents
from scrapy_neardup.index.protocol import Filing
from scrapy_neardup.index.redis import layout

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.index.redis_server import running

#: Documents that are added, that are filed or looked up, and pages that a crawl asks for at a time.
ADDED, ONES, AT_ONCE = 20_000, 4_000, 16
#: Documents whose fingerprints are made at a time, buckets that are sent at a time, and parts of the others.
MADE, SENT, PARTS = 500_000, 5_000, 16
#: Texts whose fingerprints are taken.
TEXTS = 600
#: Commands that the server's log of slow ones has.
LOGGED = 10_000
#: Adds something to each bucket: one that is added to gets room for as much again.
APPEND = "for i, key in ipairs(KEYS) do if ARGV[i] ~= '' then redis.call('APPEND', key, ARGV[i]) end end"
_seeds = itertools.count(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument("--data", type=Path, help="folder of data sets whose texts are used")
    options = parser.parse_args()
    for count in options.documents:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
            measure(server.url("default"), count, options.data)


def measure(url: str, count: int, data: Path | None) -> None:
    client = redis.Redis.from_url(url.partition("?")[0])
    with Detector.open(url, extractor="none") as detector:
        signatures = map(detector.fingerprinter.signature, inputs.texts(data)[:TEXTS])
        fingerprints = np.array([each.fingerprint for each in signatures], np.uint64)
        share = (fingerprints[:, np.newaxis] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).mean(axis=0)
        empty, start = client.info("memory")["used_memory"], time.perf_counter()
        for first in range(0, ADDED, 5000):
            detector.index.add(inputs.documents(detector.index.header, 5000, first + 1))
        print(f"added in bulk: {ADDED / (time.perf_counter() - start):,.0f} documents a second")
        used = client.info("memory")["used_memory"] - empty
        groups = client.scan_iter(detector.index.address.prefix + b"d*")
        record = sum(client.memory_usage(group, samples=0) or 0 for group in groups) / ADDED
        print(f"memory: {used / ADDED:,.0f} B a document at {ADDED:,}, {record:,.0f} of them its record")
    client.flushall()
    with Detector.open(url, extractor="none") as detector:
        start = time.perf_counter()
        fill(client, detector, count, share)
        used = client.info("memory")["used_memory"] - empty
        print(
            f"memory: {used / count + record:,.0f} B a document at {count:,} with records like these, "
            f"{client.dbsize():,} buckets, put in {time.perf_counter() - start:,.0f} s"
        )
    client.config_set("slowlog-max-len", LOGGED)
    client.config_set("slowlog-log-slower-than", 200)
    client.slowlog_reset()
    for processes, threads in ((1, 1), (1, AT_ONCE), (2, AT_ONCE // 4), (2, AT_ONCE)):
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            file = partial(pool.map, partial(file_each, url, share))
            list(file([100] * processes, itertools.islice(_seeds, processes), [1] * processes))
            cpu = server_seconds(client)
            taken = [*file([ONES] * processes, itertools.islice(_seeds, processes), [threads] * processes)]
            cpu = (server_seconds(client) - cpu) / ONES / processes
        times = np.concatenate([each for each, _ in taken]) * 1000
        print(
            f"filed by {processes} × {threads}: {sum(rate for _, rate in taken):,.0f} pages a second, "
            f"{cpu * 1e6:.0f} µs of the server each, {np.median(times):.2f} ms, "
            f"one in a hundred over {np.percentile(times, 99):.2f} ms"
        )
    logged = [(each["duration"] / 1000, each["command"][:12]) for each in client.slowlog_get(LOGGED)]
    print(f"longest command: {max(logged, default='none')}; load of the machine: {os.getloadavg()[0]:.1f}")


def file_each(
    url: str, share: NDArray[np.float64], count: int, seed: int, threads: int
) -> tuple[NDArray[np.float64], float]:
    """Look up, reserve and confirm documents, as a crawl does with so many pages at a time.

    Returns the seconds until each was reserved (float64[count]), and how many a second were.
    """
    with Detector.open(url, extractor="none") as detector:
        documents = inputs.documents(detector.index.header, count, 10**9 * seed)
        documents.keys[near_row(detector)] = made(count, share, np.random.default_rng(seed))
        ones = [documents.take(slice(row, row + 1)) for row in range(count)]

        def file(one: Documents) -> float:
            start = time.perf_counter()
            reservation = detector.index.reserve_if(one, detector.matcher.lookups, lambda _: Filing(one))
            assert reservation is not None
            reservation.confirm()
            return time.perf_counter() - start

        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            taken = list(pool.map(file, ones))
        detector.flush()
        return np.array(taken), count / (time.perf_counter() - start)


def near_row(detector: Detector) -> int:
    """Return the row of the keys that is the fingerprint."""
    header = detector.index.header
    return next(rows.start for each, rows in zip(header.families, header.rows, strict=True) if not each.equal)


def made(count: int, share: NDArray[np.float64], dice: np.random.Generator) -> NDArray[np.uint64]:
    """Return fingerprints each of whose bits is set as often as *share* says (float64[64])."""
    bits = dice.random((count, 64), np.float32) < share
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")[:, 0]


def fill(client: redis.Redis, detector: Detector, count: int, share: NDArray[np.float64]) -> None:
    """Put the buckets alone of *count* documents on the server, as if they had been filed."""
    header, prefix, dice = detector.index.header, detector.index.address.prefix, np.random.default_rng(1)
    family = next(each for each in header.families if not each.equal)
    first = header.first_table[header.families.index(family)]
    begin, more, left = detector.index.store.generations[0].start, layout.FIRST_MORE, count
    said = []

    def put(
        table: int, names: NDArray[np.uint64], entries: NDArray[np.uint8], rows: NDArray[np.int64]
    ) -> None:
        """Put *entries* but for their numbers, which rows of the generation tell, in the buckets *names*."""
        order = np.argsort(names, kind="stable")
        names, numbers = names[order], ((begin + rows[order]) & 0xFFFFFFFF).astype("<u4")
        packed = np.hstack([entries[order], numbers.view(np.uint8).reshape(-1, 4)])
        cuts = np.flatnonzero(np.diff(names, prepend=np.uint64(2**64 - 1))).tolist()
        head = table << 64 | (begin & 0xFFFFFFFF) << 32
        keys = (prefix + b"b" + (head | name).to_bytes(10, "big") for name in names[cuts].tolist())
        buckets = zip(keys, np.split(packed, cuts[1:]), strict=True)
        while some := [*itertools.islice(buckets, SENT)]:
            for span in slice(-1), slice(-1, None):
                values = [bucket[span].tobytes() for _, bucket in some]
                client.eval(APPEND, len(some), *(key for key, _ in some), *values)

    while left:
        some = min(left, layout.SMALLEST << more)
        bits = min(layout.NEAR_BITS + more, *family.tables.prefix_bits)
        parts = [made(min(MADE, some - at), share, dice) for at in range(0, some, MADE)]
        for table, keys in enumerate(family.tables.keys(np.concatenate(parts)), first):
            entries = keys.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : layout.NEAR_BYTES - 4]
            put(table, keys >> np.uint64(64 - bits), entries, np.arange(some))
        names, share_of = (1 << layout.EQUAL_BITS + more) // PARTS, (header.keys - 1) * some // PARTS
        for part in range(PARTS):
            some_names = dice.integers(part * names, (part + 1) * names, share_of, np.uint64)
            tags = dice.integers(0, 256, (share_of, layout.EQUAL_BYTES - 4), np.uint8)
            put(0xFFFF, some_names, tags, np.sort(dice.integers(0, some, share_of)))
        said.append(f"{begin}:{more}")
        left -= some
        begin, more = begin + some, more + 4
    client.mset({prefix + b"n": begin - 1, prefix + b"count": count, prefix + b"g": " ".join(said)})


def server_seconds(client: redis.Redis) -> float:
    """Return the processor time of the server."""
    return float(sum(client.info("cpu")[f"used_cpu_{each}"] for each in ("user", "sys")))


if __name__ == "__main__":
    main()

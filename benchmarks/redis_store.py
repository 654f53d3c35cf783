"""Measures an index on a Redis server: documents a second, memory of a document, probes, round trips.

    python benchmarks/redis_store.py [--documents 100000] [--in-flight 16] [--texts texts.jsonl.gz]

Starts a server of its own, and ends it. Documents are those of made texts, or of real ones (lines of JSON
with a text), with some bits of the fingerprint exchanged for those of another text and other keys drawn anew:
so each is a document of its own, and the fingerprints crowd as real ones do. Seconds of processor time are
given beside those of the clock, because they are the same on a machine that does other things.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import socket
import subprocess
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import redis

from scrapy_neardup.detector import Detector
from scrapy_neardup.index import Documents
from scrapy_neardup.index.protocol import Filing
from scrapy_neardup.matching.records import OWN, entries

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

#: Texts that are made when none are given, and words of each.
MADE_TEXTS, MADE_WORDS = 500, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--reserved", type=int, default=10_000, help="filed one by one, each time")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--in-flight", type=int, default=16, help="pages at a time that a process asks about")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            measure(f"redis://127.0.0.1:{port}/0", options)
        finally:
            server.terminate()
            server.wait(30)


def measure(url: str, options: argparse.Namespace) -> None:
    client = redis.Redis.from_url(url)
    with Detector.open(url, tables=options.tables, extractor="none") as detector:
        signed = documents_of(detector, options.texts)
        empty = client.info("memory")["used_memory"]
        bulk = options.documents - 2 * options.reserved
        start, cpu = time.perf_counter(), server_seconds(client)
        for first in range(0, bulk, 10_000):
            detector.index.add(make(detector, first, min(10_000, bulk - first), signed))
        kind = "real" if options.texts else "made"
        print(f"{options.tables} tables, documents of {len(signed.urls):,} {kind} texts")
        print(
            f"added in bulk: {bulk:,} documents, {bulk / (time.perf_counter() - start):,.0f} a second, "
            f"{(server_seconds(client) - cpu) / bulk * 1e6:.0f} µs of the server each"
        )
        reserve_by_all(client, url, bulk, 1, signed, options)
        reserve_by_all(client, url, bulk + options.reserved, options.in_flight, signed, options)
        used = client.info("memory")["used_memory"] - empty
        stored = detector.gauges()["documents"]
        print(f"memory: {used / stored:,.0f} B a document at {stored:,} documents, {client.dbsize():,} keys")
        probes(detector, signed)


def reserve_by_all(
    client: redis.Redis, url: str, first: int, in_flight: int, signed: Documents, options: argparse.Namespace
) -> None:
    """Have processes file documents numbered from *first* on, each so many at a time; print what it takes."""
    client.config_resetstat()
    each = options.reserved // options.processes
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(options.processes)
    with context.Pool(options.processes, _use, (ready,)) as pool:
        jobs = [
            (url, options.tables, first + each * number, each, in_flight, signed)
            for number in range(options.processes)
        ]
        cpu = server_seconds(client)
        rates, seconds = zip(*pool.starmap(reserve, jobs, 1), strict=True)
    calls = {name[8:]: each["calls"] for name, each in client.info("commandstats").items()}
    trips = calls.get("evalsha", 0) + calls.get("eval", 0)
    own, servers = sum(seconds), server_seconds(client) - cpu
    print(
        f"reserved and confirmed, {in_flight} at a time: {sum(rates):,.0f} documents a second by "
        f"{options.processes} processes, {own / options.reserved * 1e6:.0f} µs of a process and "
        f"{servers / options.reserved * 1e6:.0f} µs of the server each, "
        f"{trips / options.reserved:.2f} runs of the script"
    )


_ready: list[Barrier] = []


def _use(ready: Barrier) -> None:
    _ready.append(ready)


def server_seconds(client: redis.Redis) -> float:
    """Return the processor time of the server."""
    spent = client.info("cpu")
    return spent["used_cpu_user"] + spent["used_cpu_sys"]


def probes(detector: Detector, signed: Documents) -> None:
    """Print how long look-ups take, with buckets known from earlier ones and without."""
    asked = make(detector, 10**8, 2_000, signed)
    for name in ("first", "later"):
        seconds = []
        for row in range(2_000):
            one = asked.take(slice(row, row + 1))
            start = time.perf_counter()
            detector.index.find(one, detector.matcher.lookups)
            seconds.append(time.perf_counter() - start)
        p50, p99 = np.quantile(seconds, (0.5, 0.99)) * 1000
        print(f"probe, {name} time: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def reserve(
    url: str, tables: int, first: int, count: int, in_flight: int, signed: Documents
) -> tuple[float, float]:
    """File documents one by one, so many at a time; return how many a second, and the processor time."""
    with Detector.open(url, tables=tables, extractor="none") as detector:
        documents = make(detector, first, count, signed)
        ones = [documents.take(slice(row, row + 1)) for row in range(count)]

        def file(one: Documents) -> None:
            reservation = detector.index.reserve_if(one, detector.matcher.lookups, lambda _: Filing(one))
            assert reservation is not None
            reservation.confirm()

        with ThreadPoolExecutor(in_flight) as pool:  # as a crawl does
            _ready[0].wait()
            start, cpu = time.perf_counter(), time.process_time()
            deque(pool.map(file, ones) if in_flight > 1 else map(file, ones), maxlen=0)
        detector.flush()
        return count / (time.perf_counter() - start), time.process_time() - cpu


def make(detector: Detector, first: int, count: int, signed: Documents) -> Documents:
    """Return documents as a crawl files them, each unlike the others, with URLs of common length."""
    dice = np.random.default_rng(first)
    ones = signed.take(dice.integers(0, len(signed.urls), count))
    others = signed.keys[OWN, dice.integers(0, len(signed.urls), count)]
    exchanged = dice.integers(0, 2**64 - 1, (2, count), np.uint64)
    keys = dice.integers(0, 2**64 - 1, (detector.index.header.keys, count), np.uint64)
    # A quarter of the bits, as far as they differ.
    keys[OWN] = ones.keys[OWN] ^ (ones.keys[OWN] ^ others) & exchanged[0] & exchanged[1]
    records = ones.records.copy()
    records["fingerprint"], records["digest"] = keys[OWN], exchanged[0]
    urls = [
        f"https://www.example{number % 997}.com/news/2024/05/17/a-headline-of-some-words-{number}"
        for number in range(first, first + count)
    ]
    return Documents(keys, records, urls, [b""] * len(urls))


def documents_of(detector: Detector, path: Path | None) -> Documents:
    """Return documents of the texts in the file *path*, or of made ones."""
    if path is None:
        dice = np.random.default_rng(1)
        words = dice.zipf(1.3, (MADE_TEXTS, MADE_WORDS))
        texts = [" ".join(f"word{word % 20_000}" for word in row) for row in words]
    else:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
    signatures = [detector.signature(text) for text in texts]
    return entries(signatures, [""] * len(texts), detector.index.header, time=int(time.time()))


if __name__ == "__main__":
    main()

"""Measures an index on a Redis server: documents a second, memory of a document, probes, round trips.

    python benchmarks/redis_store.py [--documents 100000] [--processes 2] [--texts texts.jsonl.gz]

Starts a server of its own, and ends it. Fingerprints are random, or those of real texts (lines
of JSON with a text) with some bits changed: real ones crowd in few buckets.
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
from contextlib import closing
from pathlib import Path

import numpy as np
import redis

from scrapy_neardup.detector import Detector
from scrapy_neardup.index import Documents, open_index
from scrapy_neardup.index.protocol import Filing

#: Bits changed in each real fingerprint: more than the distance, so that each is a document of its own.
CHANGED = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--reserved", type=int, default=10_000, help="of them, filed one by one")
    parser.add_argument("--processes", type=int, default=2)
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
        seed = detector.index.header.seed
        real = fingerprints(detector, options.texts) if options.texts else None
        empty = client.info("memory")["used_memory"]
        bulk = options.documents - options.reserved
        start = time.perf_counter()
        for first in range(0, bulk, 10_000):
            detector.index.add(make(detector, first, min(10_000, bulk - first), real))
        print(
            f"seed {seed}, {options.tables} tables, {'real' if real is not None else 'random'} fingerprints"
        )
        print(f"added in bulk: {bulk:,} documents, {bulk / (time.perf_counter() - start):,.0f} a second")
        client.config_resetstat()
        each = options.reserved // options.processes
        context = multiprocessing.get_context("spawn")
        with context.Pool(options.processes) as pool:
            jobs = [
                (url, options.tables, bulk + each * number, each, real) for number in range(options.processes)
            ]
            rates = pool.starmap(reserve, jobs)
        calls = {name[8:]: each["calls"] for name, each in client.info("commandstats").items()}
        trips = calls.get("evalsha", 0) + calls.get("eval", 0)
        print(
            f"reserved and confirmed: {sum(rates):,.0f} documents a second by {options.processes} processes"
        )
        print(f"scripts run for a document: {trips / options.reserved:.2f}")
        used = client.info("memory")["used_memory"] - empty
        stored = detector.gauges()["documents"]
        print(f"memory: {used / stored:,.0f} B a document at {stored:,} documents, {client.dbsize():,} keys")
        probes(detector, real)


def probes(detector: Detector, real: np.ndarray | None) -> None:
    """Print how long look-ups take, with buckets known from earlier ones and without."""
    asked = make(detector, 10**8, 2_000, real)
    for name in ("first", "later"):
        seconds = []
        for row in range(2_000):
            one = asked.take(slice(row, row + 1))
            start = time.perf_counter()
            detector.index.find(one, detector.matcher.lookups)
            seconds.append(time.perf_counter() - start)
        p50, p99 = np.quantile(seconds, (0.5, 0.99)) * 1000
        print(f"probe, {name} time: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def reserve(url: str, tables: int, first: int, count: int, real: np.ndarray | None) -> float:
    with Detector.open(url, tables=tables, extractor="none") as detector, closing(open_index(url, None)):
        documents = make(detector, first, count, real)
        start = time.perf_counter()
        for row in range(count):
            one = documents.take(slice(row, row + 1))
            reservation = detector.index.reserve_if(
                one, detector.matcher.lookups, lambda _, one=one: Filing(one)
            )
            reservation.confirm()
        detector.flush()
        return count / (time.perf_counter() - start)


def make(detector: Detector, first: int, count: int, real: np.ndarray | None) -> Documents:
    """Return documents as a crawl files them: keys and record are random, the URL is of common length."""
    header = detector.index.header
    dice = np.random.default_rng(first)
    keys = dice.integers(0, 2**64 - 1, (header.keys, count), np.uint64)
    if real is not None:
        flips = np.bitwise_or.reduce(
            np.uint64(1) << dice.integers(0, 64, (CHANGED, count), np.uint64), axis=0
        )
        keys[2] = real[dice.integers(0, len(real), count)] ^ flips
    records = np.frombuffer(dice.bytes(count * header.dtype.itemsize), header.dtype).copy()
    records["fingerprint"] = keys[2]
    urls = [
        f"https://www.example{number % 997}.com/news/2024/05/17/a-headline-of-some-words-{number}"
        for number in range(first, first + count)
    ]
    return Documents(keys, records, urls)


def fingerprints(detector: Detector, path: Path) -> np.ndarray:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return np.array(
            [detector.signature(json.loads(line)["text"]).fingerprint for line in lines], np.uint64
        )


if __name__ == "__main__":
    main()

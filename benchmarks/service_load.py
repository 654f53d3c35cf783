"""Load on `scrapy-neardup serve`: requests a second, how long they take, CPU time of the service.

    python benchmarks/service_load.py [--requests 1500] [--rate 300] [--words 600]

The service and its worker share one core; the client has another. Eight clients check, then add new texts as
fast as it goes; then come *rate* checks a second, whether those before are answered or not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

WORDS = [a + b + c for a in "klmnprst" for b in ("a", "ei", "o", "u") for c in ("ter", "ng", "se", "dik")]
COMMAND = [sys.executable, "-c", "from scrapy_neardup.cli import main; main()", "serve"]
HEAD = "POST /{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"


class Client:
    """Sends each text once, by connections that are used again."""

    def __init__(self, service: psutil.Process, port: int, words: int) -> None:
        self.service, self.port, self.words, self.free = service, port, words, []

    async def ask(self, path: str) -> float:
        lines = (" ".join(random.choices(WORDS, k=60)) for _ in range(self.words // 60))
        batch = [{"url": f"https://a{random.random()}.example/", "text": "\n".join(lines)}]
        body = json.dumps(batch).encode()
        asked = time.perf_counter()
        where = self.free.pop() if self.free else await asyncio.open_connection("127.0.0.1", self.port)
        where[1].write(HEAD.format(path, len(body)).encode() + body)
        head = (await where[0].readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].split()[0])
        judged = b'"unique"' in await where[0].readexactly(length)
        self.free.append(where)
        return time.perf_counter() - asked if judged else np.nan  # refused: too many at a time

    async def ask_all(self, path: str, count: int, rate: float | None = None) -> None:
        begun, used = time.perf_counter(), self.cpu()

        async def some(number: int) -> list[float]:
            if rate is None:
                return [await self.ask(path) for _ in range(count // 8)]
            await asyncio.sleep(begun + number / rate - time.perf_counter())
            return [await self.ask(path)]

        times = np.concatenate(await asyncio.gather(*map(some, range(count if rate else 8))))
        seconds, cpu = time.perf_counter() - begun, 1000 * (self.cpu() - used) / len(times)
        p50, p99 = np.nanpercentile(times, [50, 99]) * 1000
        how = f"{rate:g} a second" if rate else "8 at a time"
        print(
            f"/{path}, {how}: {len(times) / seconds:.0f} /s, median {p50:.1f} ms, p99 {p99:.1f} ms, "
            f"{cpu:.2f} ms of CPU each, {np.isnan(times).sum()} refused, load {os.getloadavg()[0]:.1f}"
        )

    def cpu(self) -> float:
        """Return the seconds of CPU time of the service and of its worker."""
        times = [each.cpu_times() for each in (self.service, *self.service.children(recursive=True))]
        return sum(each.user + each.system for each in times)


async def measure(client: Client, requests: int, rate: float) -> None:
    await client.ask("check")
    for path in ("check", "add"):
        await client.ask_all(path, requests)
    await client.ask_all("check", requests, rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1500)  # a worker is replaced after 5,000
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--words", type=int, default=600)
    options = parser.parse_args()
    core, other = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as folder:
        command = ["taskset", "-c", str(core), *COMMAND, str(Path(folder, "index")), "--port", "0"]
        os.sched_setaffinity(0, {other})
        process = subprocess.Popen([*command, "--set", "WORKERS=1"], stdout=subprocess.PIPE, text=True)
        try:
            port = int(process.stdout.readline().rpartition(":")[2])
            client = Client(psutil.Process(process.pid), port, options.words)
            asyncio.run(measure(client, options.requests, options.rate))
        finally:
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    main()

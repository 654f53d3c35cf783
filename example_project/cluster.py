"""Crawl the news network with two crawlers that share requests and index on one Redis server of their own."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from site_server import DEFAULT_PORT, NewsNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
OUT = HERE / "out" / "cluster"
CRAWLERS = ("first", "second")
#: The server starts in less than one second, a crawl takes some twenty.
START_SECONDS, MAX_SECONDS = 20, 300
NO_COPIES = {"wall", "too_short", "template", "boilerplate"}


def main() -> int:
    """Run both crawlers; return 1 if one fails or a text is stored twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help=f"first of five ports ({DEFAULT_PORT})"
    )
    port = parser.parse_args().port
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with redis_server() as redis, NewsNetwork(port) as network:
        crawls = [start_crawler(name, redis, network.urls()) for name in CRAWLERS]
        failed = [crawl.wait(MAX_SECONDS) for crawl in crawls]
    twice = report(Console(width=None if sys.stdout.isatty() else 116))
    return 1 if any(failed) or twice else 0


@contextmanager
def redis_server() -> Iterator[str]:
    """Yield the URL of a server on a free port of this machine, which ends with the crawl."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        sys.exit("There is no redis-server here: apt install redis-server, or brew install redis.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(port, server)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait(START_SECONDS)


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return once the server takes connections."""
    deadline = time.monotonic() + START_SECONDS
    with socket.socket() as attempt:
        while attempt.connect_ex(("127.0.0.1", port)):
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("The Redis server does not start.")
            time.sleep(0.05)


def start_crawler(name: str, redis: str, urls: list[str]) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "news.settings_cluster",
        "REDIS_URL": redis,
        "CRAWLER": name,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "network", "-a", f"start={' '.join(urls)}"]
    return subprocess.Popen(command, cwd=HERE, env=environment)


def report(console: Console) -> int:
    """Print what each crawler has stored and dropped; return how many texts were stored more than once."""
    stored = {name: read(OUT / f"{name}.articles.jl") for name in CRAWLERS}
    decisions = {name: read(OUT / f"{name}.duplicates.jl") for name in CRAWLERS}
    home = {item["url"]: name for name, items in stored.items() for item in items}
    table = Table("crawler", "stored", "copies of its own pages", "copies of the other's pages", "set aside")
    for name in CRAWLERS:
        copies = [row for row in decisions[name] if row["verdict"] in ("exact", "near")]
        own = sum(home.get(row["match"]) == name for row in copies)
        kinds = Counter(row["verdict"] for row in decisions[name] if row["verdict"] in NO_COPIES)
        others = ", ".join(f"{count} {verdict}" for verdict, count in sorted(kinds.items()))
        table.add_row(name, f"{len(stored[name])}", f"{own}", f"{len(copies) - own}", others)
    console.print(table)
    # What says nothing of its page, such as "not found", is never dropped.
    aside = {row["url"] for rows in decisions.values() for row in rows if row["verdict"] in NO_COPIES}
    articles = [item for items in stored.values() for item in items if item["url"] not in aside]
    twice = sum(count > 1 for count in Counter(item["text"] for item in articles).values())
    console.print(f"{len(home)} articles stored by the two, {twice} of them twice", highlight=False)
    console.print(f"stored and decisions: {os.path.relpath(OUT)}", highlight=False)
    return twice


def read(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


if __name__ == "__main__":
    sys.exit(main())

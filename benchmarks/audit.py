"""An audit from end to end: time, processor time and memory for made-up news with known copies.

    python benchmarks/audit.py --pages 100000

Of each 20 pages 13 are stories, 4 word-for-word copies, 2 copies with some words replaced or cut, 1 one of a
template.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.audit import audit, rethreshold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.audit.sources import Origin

VOCABULARY = 50_000
#: Words of a story.
SHORTEST, LONGEST = 150, 700


def pages(count: int) -> Iterator[dict[str, str]]:
    """Yield pages in a fixed order; the words are as frequent as in a language (Zipf)."""
    rng = random.Random(7)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 11))) for _ in range(VOCABULARY)
    ]
    weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))
    stories: list[list[str]] = []
    frame = rng.choices(words, cum_weights=weights, k=250)
    for number in range(count):
        kind = number % 20
        host = f"https://site{rng.randrange(500)}.example"
        if kind < 13 or not stories:
            body = rng.choices(words, cum_weights=weights, k=rng.randint(SHORTEST, LONGEST))
            stories.append(body)
            del stories[:-2000]
        elif kind < 17:
            body = rng.choice(stories)
        elif kind < 19:
            body = list(rng.choice(stories))
            place = rng.randrange(len(body) - 10)
            body[place : place + 10] = rng.choices(words, k=rng.choice((0, 8, 10)))
        else:
            body = list(frame)
            for place in (20, 90, 160):
                body[place] = str(rng.randrange(10**6))
        yield {"url": f"{host}/{number}", "text": " ".join(body)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        feed, out = Path(directory, "feed.jl"), Path(directory, "report")
        with feed.open("w") as file:
            for page in pages(arguments.pages):
                file.write(json.dumps(page) + "\n")
        print(f"{arguments.pages:,} pages, {feed.stat().st_size / 1e6:,.0f} MB")
        for name, run in (
            ("audit", lambda watch: audit(feed, out, watch=watch, workers=arguments.workers)),
            ("again, nothing new", lambda watch: audit(feed, out, watch=watch, workers=arguments.workers)),
            ("rethreshold", lambda watch: rethreshold(out, watch=watch, min_similarity=0.9)),
        ):
            steps: dict[str, float] = {}

            def watch(what: str, done: int, where: Origin | None, steps: dict[str, float] = steps) -> None:
                steps.setdefault(what, time.perf_counter())

            started, before = time.perf_counter(), _processor_time()
            with run(watch) as found:
                ended = time.perf_counter()
                counts = {
                    kind: int((found.pages["verdict"] == kind).sum())
                    for kind in ("unique", "exact", "near", "template")
                }
            borders = [*steps.values(), ended]
            parts = ", ".join(
                f"{what.lower()} {borders[place + 1] - borders[place]:.1f} s"
                for place, what in enumerate(steps)
            )
            print(
                f"{name}: {ended - started:.1f} s, processors {_processor_time() - before:.1f} s ({parts}); "
                f"{len(found.clusters):,} clusters, {len(found.pairs):,} pairs; {counts}"
            )
        size = sum(path.stat().st_size for path in out.iterdir())
        print(
            f"results {size / 1e6:,.0f} MB, of which report.html "
            f"{(out / 'report.html').stat().st_size / 1e6:.1f} MB"
        )
    unit = 1 if sys.platform == "darwin" else 1024
    own, children = (
        resource.getrusage(who).ru_maxrss * unit / 1e6
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"peak memory: {own:,.0f} MB, and {children:,.0f} MB in each signing process")


def _processor_time() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


if __name__ == "__main__":
    main()

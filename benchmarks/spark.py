"""The audit on Spark beside the one of one machine: the same pages, the same result, time and bytes.

    python -m benchmarks.spark --texts 10000 100000 --data ../shared/data

The texts are made of paragraphs of real ones, drawn by chance. Of each ten texts one is a copy of an earlier
one, and one a copy without a paragraph. Spark runs on two threads of this machine with 1 GB, without
broadcasts and adaptive execution.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow.dataset

from benchmarks.suite.inputs import texts as real_texts
from benchmarks.suite.recombined import LETTERS
from scrapy_neardup.audit import audit
from scrapy_neardup.spark import audit_paths
from scrapy_neardup.spark.session import require_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.ui.showConsoleProgress": "false",
}
_SITES = 500


def pages(count: int, sources: list[str]) -> Iterator[dict[str, str]]:
    """Yield so many pages, the same in every run."""
    dice = random.Random(7)
    each = [[part for part in text.split("\n") if len(part) >= LETTERS] for text in sources]
    sizes = [len(parts) for parts in each if parts]
    every = [part for parts in each for part in parts]
    before: list[list[str]] = []
    for number in range(count):
        kind = number % 10 if before else 0
        parts = dice.choices(every, k=dice.choice(sizes)) if kind < 8 else dice.choice(before)
        if kind < 8:
            before.append(parts)
            del before[:-5000]
        elif kind == 9 and len(parts) > 2:
            place = dice.randrange(len(parts))
            parts = [*parts[:place], *parts[place + 1 :]]
        url = f"https://site{dice.randrange(_SITES)}.example/{number}"
        yield {"url": url, "title": parts[0][:60], "text": "\n".join(parts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--data", type=Path, help="folder of the labelled sets; without it example pages")
    parser.add_argument("--partitions", type=int, help="parts; without it as many as the size asks for")
    arguments = parser.parse_args()
    require_spark()
    sources = real_texts(arguments.data)
    for count in arguments.texts:
        with tempfile.TemporaryDirectory() as directory:
            feed = Path(directory, "feed.jl")
            with feed.open("w") as file:
                for page in pages(count, sources):
                    file.write(json.dumps(page) + "\n")
            print(f"{count:,} texts, {feed.stat().st_size / 1e6:,.0f} MB", flush=True)
            started, before = time.perf_counter(), _own_time()
            with audit(feed, Path(directory, "local"), seed=7) as found:
                counts = (len(found.clusters), len(found.pairs))
            took = time.perf_counter() - started
            print(f"  one machine: {took:,.0f} s, processors {_own_time() - before:,.0f} s, "
                  f"{counts[0]:,} clusters, {counts[1]:,} pairs", flush=True)  # fmt: skip
            _on_spark(feed, Path(directory), arguments.partitions)


def _on_spark(feed: Path, directory: Path, partitions: int | None) -> None:
    steps: dict[str, tuple[float, float]] = {}
    with contextlib.closing(ProcessorTime()) as processors:
        started, before = time.perf_counter(), processors.seconds()

        def watch(step: str) -> None:
            steps[step] = (time.perf_counter(), processors.seconds())

        found = audit_paths(
            [str(feed)],
            str(directory / "spark"),
            master="local[2]",
            spark_settings=SETTINGS,
            partitions=partitions,
            seed=7,
            watch=watch,
        )
        steps["end"] = (time.perf_counter(), processors.seconds())
    facts = shuffled_and_spilled(found.spark)
    marks = [("start", (started, before)), *steps.items()]
    every = [*itertools.pairwise(marks)]
    for place, unit in enumerate(("Spark", "  processors")):
        each = ", ".join(f"{step} {end[place] - start[place]:,.0f}" for (step, start), (_, end) in every)
        print(f"  {unit}: {steps['end'][place] - (started, before)[place]:,.0f} s ({each})")
    print(f"  shuffled {facts['shuffled'] / 1e6:,.0f} MB, "
          f"spilled {facts['spilled'] / 1e6:,.0f} MB; Java's peak {_java_peak() / 1e6:,.0f} MB")  # fmt: skip
    for name in ("pages", "clusters", "pairs"):
        print(f"  {name} equal: {_equal(directory, name)}", flush=True)
    found.spark.stop()


def shuffled_and_spilled(spark: SparkSession) -> dict[str, int]:
    """Return the bytes that all stages together have shuffled and spilled."""
    context: Any = spark.sparkContext
    gateway = context._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    found = {"shuffled": 0, "spilled": 0}
    for place in range(stages.size()):
        stage = stages.apply(place)
        found["shuffled"] += stage.shuffleWriteBytes()
        found["spilled"] += stage.diskBytesSpilled()
    return found


def _equal(directory: Path, name: str) -> bool:
    """Tell whether a table has the same rows in both results, in the same order."""
    table = pyarrow.dataset.dataset(str(directory / "spark" / f"{name}.parquet")).to_table()
    others = iter(table.to_pylist())
    with (directory / "local" / f"{name}.jsonl").open() as lines:
        for line in lines:
            mine, other = _rounded(json.loads(line)), _rounded(next(others, {}))
            if mine != other:
                return False
    return next(others, None) is None


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def _own_time() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


class ProcessorTime:
    """The processor time of this process and of all below it, looked at each half second.

    Spark ends Python processes that have nothing to do, and their time would be lost with them. Each time
    *look* is called with the processes.
    """

    def __init__(self, look: Callable[[list[psutil.Process]], None] = lambda processes: None) -> None:
        self._seen: dict[tuple[int, float], float] = {}
        self._look = look
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._look_again, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def seconds(self) -> float:
        with self._lock:
            this = psutil.Process()
            processes = [this, *this.children(recursive=True)]
            self._look(processes)
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    self._seen[process.pid, process.create_time()] = times.user + times.system
            return sum(self._seen.values())

    def _look_again(self) -> None:
        while not self._ended.wait(0.5):
            self.seconds()


def _java_peak() -> int:
    for child in psutil.Process().children():
        if child.name() == "java":
            status = Path(f"/proc/{child.pid}/status").read_text()
            return (
                int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024
            )
    return 0


if __name__ == "__main__":
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    main()

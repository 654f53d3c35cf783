"""The audit on Spark of more signatures than fit in memory: whether it spills or fails, and what it finds.

    python -m benchmarks.spark_memory --signatures 10000000 --memory 1g --data ../shared/data

A crawl of recombined texts is audited first, with its signatures kept. Then as many crawls like it as are
wanted are made of these signatures: in each of them all hashes are others, so that none has a text in common
with another crawl, and five bits of all fingerprints differ, so that fingerprints crowd as before. The pairs
and clusters that an audit of them all has to find are known: those of the first crawl, as many times.

Spark runs on two threads of this machine, without broadcasts and adaptive execution.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from benchmarks.spark import SETTINGS, ProcessorTime, pages, shuffled_and_spilled
from benchmarks.suite.inputs import texts as real_texts
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.fingerprint.sketch import SIZE as SKETCH
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.records import OWN
from scrapy_neardup.spark import audit, audit_paths
from scrapy_neardup.spark.frames import keys_of, pieces, records_of
from scrapy_neardup.spark.run import SETTINGS as SETTINGS_FILE
from scrapy_neardup.spark.run import SIGNATURES
from scrapy_neardup.spark.session import require_spark, start_session

if TYPE_CHECKING:
    from scrapy_neardup.index import Header

#: Bits of all fingerprints of a crawl that are others than in the first one.
_BITS = 5
#: What pairs of the same pages are called.
_REPEATS = ("exact", "near", "part")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signatures", type=int, default=10_000_000)
    parser.add_argument("--memory", default="1g", help="of Java, where Spark's tasks sort and join")
    parser.add_argument("--texts", type=int, default=100_000, help="pages of the first crawl")
    parser.add_argument("--first", type=Path, help="folder that its audit is kept in, for several runs")
    parser.add_argument("--data", type=Path, help="folder of the labelled sets; without it example pages")
    arguments = parser.parse_args()
    require_spark()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        spark = start_session("local[2]", SETTINGS | {"spark.driver.memory": arguments.memory})
        kept = arguments.first or directory / "first"
        if not (kept / "summary.json").exists():
            feed = directory / "feed.jl"
            with feed.open("w") as file:
                for page in pages(arguments.texts, real_texts(arguments.data)):
                    file.write(json.dumps(page) + "\n")
            audit_paths([str(feed)], str(kept), seed=7, overwrite=True)
        first = json.loads((kept / "summary.json").read_text())
        crawls = -(-arguments.signatures // first["pages"])
        print(f"the first crawl: {_found(first, 1)}", flush=True)
        before = shuffled_and_spilled(spark)
        bytes_made = _multiply(kept, directory / "kept", crawls)
        print(f"{crawls * first['pages']:,} signatures, {bytes_made / 1e6:,.0f} MB", flush=True)
        nothing = spark.createDataFrame([], "url string, title string, text string")
        with contextlib.closing(_Watch(directory)) as watch:
            earlier = [str(directory / "kept")]
            found = audit(nothing, str(directory / "all"), earlier=earlier, watch=watch.step)
            watch.step("end")
        print(f"all of them: {_found(found.summary, 1)}; expected: {_found(first, crawls)}")
        after = shuffled_and_spilled(spark)
        moved = {name: after[name] - before[name] for name in after}
        print(f"  shuffled {moved['shuffled'] / 1e6:,.0f} MB, spilled {moved['spilled'] / 1e6:,.0f} MB")
        print(f"  peaks: Java {watch.java / 1e6:,.0f} MB with a heap of {arguments.memory},", end=" ")
        print(f"one Python process {watch.python / 1e6:,.0f} MB, files {watch.files / 1e6:,.0f} MB")
        spark.stop()


def _found(summary: dict[str, Any], times: int) -> str:
    pairs = sum(summary["pairs"].get(kind, 0) for kind in _REPEATS)
    return f"{pairs * times:,} pairs of repeats, {summary['clusters'] * times:,} clusters"


def _multiply(first: Path, kept: Path, crawls: int) -> int:
    """Keep in the folder *kept* the signatures of *crawls* like the one in *first*; return their bytes."""
    (kept / SIGNATURES).mkdir(parents=True)
    shutil.copy(first / SETTINGS_FILE, kept)
    content = json.loads((kept / SETTINGS_FILE).read_text())
    header = AuditOptions.from_json(content["settings"]).header
    table = pyarrow.dataset.dataset(str(first / SIGNATURES)).to_table()
    size = 0
    for crawl in range(crawls):
        path = kept / SIGNATURES / f"{crawl}.parquet"
        pyarrow.parquet.write_table(
            _other_crawl(table, crawl, header), path, compression="zstd", row_group_size=10_000
        )
        size += path.stat().st_size
    return size


def _other_crawl(table: pa.Table, crawl: int, header: Header) -> pa.Table:
    """Return the signatures of a crawl like that of *table*, with other hashes."""
    dice = np.random.default_rng(crawl)
    mask = np.bitwise_or.reduce(np.uint64(1) << dice.choice(64, _BITS, replace=False).astype(np.uint64))
    other = dice.integers(1, 1 << 63, header.keys + 2, np.uint64)
    keys, records = keys_of(table, header), records_of(table, header)
    other[OWN] = mask  # that key is the fingerprint itself
    keys = np.where(keys == NO_KEY, keys, keys ^ other[: header.keys, np.newaxis])
    records["fingerprint"] ^= mask
    records["digest"] ^= other[-1]
    records["sketch"] ^= np.frombuffer(dice.bytes(SKETCH), np.uint8)
    paragraphs = table["paragraphs"].to_pylist()
    hashes = np.frombuffer(b"".join(paragraphs), np.uint64) ^ other[-2]
    columns = {
        "url": [url.replace(".example/", f"-{crawl}.example/") for url in table["url"].to_pylist()],
        "keys": pieces(keys.T),
        "record": pieces(records),
        "paragraphs": [
            each.tobytes()
            for each in np.split(hashes, np.cumsum([len(each) // 8 for each in paragraphs])[:-1])
        ],
        "text": pa.nulls(len(table), pa.binary()),
    }
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(
            place, table.schema.field(name), pa.array(values, table.schema.field(name).type)
        )
    return table


class _Watch:
    """What the audit takes, by step, and the most memory and disk at a time; looked at each half second."""

    def __init__(self, directory: Path) -> None:
        self.java = self.python = self.files = 0
        self._directory, self._step = directory, ("", 0.0, 0.0)
        self._processors = ProcessorTime(self._look)

    def close(self) -> None:
        self._processors.close()

    def step(self, name: str) -> None:
        """Print what the step before took."""
        now = (time.perf_counter(), self._processors.seconds())
        before, started, spent = self._step
        if before:
            print(f"  {before}: {now[0] - started:,.0f} s, processors {now[1] - spent:,.0f} s", flush=True)
        self._step = (name, *now)

    def _look(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                size = process.memory_info().rss
                if process.name() == "java":
                    self.java = max(self.java, size)
                elif process.pid != os.getpid():
                    self.python = max(self.python, size)
        self.files = max(
            self.files, sum(path.stat().st_size for path in self._directory.rglob("*") if path.is_file())
        )


if __name__ == "__main__":
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    main()

"""Measure an audit on Spark, in turns with one on one machine, and what 100 more pages cost then.

    python benchmarks/spark_audit.py DIR 20000 100000

DIR is that of benchmarks/run.py. Settings of Spark, such as its memory, are read from PYSPARK_SUBMIT_ARGS.
"""

import sys
import tempfile
from pathlib import Path

from psutil import Process
from suite.auditing import run, write_feed
from suite.measuring import Form

from scrapy_neardup.spark import make_index

MORE, MAIN = 100, "from scrapy_neardup.cli import main; main()"


def measure(name: str, *given: object) -> None:
    peaks, cpu = dict[str, float](), dict[Process, float]()
    wall = run([sys.executable, "-c", MAIN, *map(str, given)], name, peaks, cpu)
    print(f"{name:32} {sum(cpu.values()):6.1f} s CPU {wall:6.1f} s {peaks[name]:.2f} GB", flush=True)


with tempfile.TemporaryDirectory() as folder:
    for size in map(int, sys.argv[2:]):
        feed = write_feed(Form("full", (), (), 1, 0, Path(sys.argv[1]), Path(folder)), size + MORE)
        lines = feed.read_text("utf-8").splitlines(keepends=True)
        first, more, out = (Path(folder, f"{size}{name}") for name in (".jl", "-more.jl", "-out"))
        for path, part in ((first, lines[:size]), (more, lines[size:])):
            path.write_text("".join(part), "utf-8")
        spark = ("--engine", "spark", "--master", "local[*]", "--out")
        measure(f"{size:,}, one machine", "audit", first, "--out", f"{out}-here")
        measure(f"{size:,}, Spark", "audit", first, *spark, out)
        measure(f"{MORE} more, Spark", "audit", more, *spark, f"{out}-more", "--earlier", out)
        make_index(out, index := f"{out}-index")
        measure(f"{MORE} more, filtered", "filter", more, "--against", index, "--out", f"{out}.kept.jl")

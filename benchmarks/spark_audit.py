"""Measure an audit on Spark, in turns with one on one machine: processor time of all processes, memory, size.

    python benchmarks/spark_audit.py DIR 20000 100000

DIR is that of benchmarks/run.py, and so are the texts. Beside each audit stands one of 100 more, with it as
an earlier one. Settings of Spark, such as its memory, are read from PYSPARK_SUBMIT_ARGS.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from psutil import Process
from suite.auditing import run, write_feed
from suite.measuring import Form

MORE = 100
COMMAND = [sys.executable, "-c", "from scrapy_neardup.cli import main; main()", "audit", "--seed", "3"]

with tempfile.TemporaryDirectory() as folder:
    for size in map(int, sys.argv[2:]):
        feed = write_feed(Form("full", (), (), 1, 0, Path(sys.argv[1]), Path(folder)), size + MORE)
        lines = feed.read_text("utf-8").splitlines(keepends=True)
        first, more, out = (Path(folder, f"{size}{name}") for name in (".jl", "-more.jl", "-out"))
        first.write_text("".join(lines[:size]), "utf-8")
        more.write_text("".join(lines[size:]), "utf-8")
        spark = ["--engine", "spark", "--master", "local[*]", "--out"]
        for name, given in (
            ("one machine", [first, "--out", f"{out}-here"]),
            ("Spark", [first, *spark, out]),
            (f"Spark, {MORE} more", [more, *spark, f"{out}-more", "--earlier", out]),
        ):
            peaks, cpu = dict[str, float](), dict[Process, float]()
            wall = run([*COMMAND, *map(str, given)], name, peaks, cpu)
            found = f"{sum(cpu.values()):6.1f} s CPU {wall:6.1f} s {peaks[name]:.2f} GB"
            print(f"{size:9,} {name:16} {found}", flush=True)

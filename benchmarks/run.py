"""Measure speed and scale against peers, in the same run on the same input, and print how the goals are met.

    python benchmarks/run.py --quick|--full [--only ROW] [--data DIR] [--write docs/performance.md]

--quick takes some 4 minutes, --full some 20. DIR has the labelled sets of docs/quality.md; without it pages
and texts are made from the example network. With --write, and without --only, the tables replace those in
that file. Needs the extra "bench", and a machine that is idle.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from suite.machine import describe
from suite.measuring import Finding, Form
from suite.tables import console, markdown, write

#: Load of a machine that is idle.
IDLE = 0.5


class Row(NamedTuple):
    """A module of `suite`."""

    name: str
    title: str


ROWS = (
    Row("fingerprinting", "Fingerprints of main texts"),
    Row("batching", "Building an index, and probes in batch"),
    Row("probing", "One probe of an index on disk"),
    Row("disk", "On disk, and opening"),
    Row("adding", "Adding while crawling"),
    Row("crawling", "Crawls of pages from a local server"),
    Row("joining", "All pairs"),
    Row("auditing", "Audit of texts, end to end"),
)


def form_of(options: argparse.Namespace, folder: Path) -> Form:
    if options.form == "quick":
        return Form("quick", (10**5, 10**6), (10**5,), 3, 250, options.data, folder)
    return Form("full", (10**5, 10**6, 10**7), (10**5, 10**6), 5, 500, options.data, folder)


def measure(row: Row, form: Form, out: Console) -> list[Finding]:
    """Measure one row in a process of its own; what fails there fails that row alone."""
    start = time.monotonic()
    command = [sys.executable, __file__, "--row", row.name, form.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        lines = child.communicate()[0].splitlines()
    findings = [Finding.from_dict(json.loads(line)) for line in lines]
    out.print(console(f"{row.title} ({time.monotonic() - start:.0f} s)", findings))
    for note in dict.fromkeys(each.note for each in findings if each.note):
        out.print(f"  {note}", style="dim", highlight=False)
    if child.returncode:
        out.print(f"[red]{row.name} failed, see above[/]")
    return findings


def print_row(name: str, form: Form) -> None:
    """Print the findings of one row as they come, a JSON object a line."""
    for finding in importlib.import_module(f"suite.{name}").measure(form):
        print(json.dumps(asdict(finding), default=float), flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    forms = parser.add_mutually_exclusive_group()
    for name in ("quick", "full"):
        forms.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="quick")
    parser.add_argument("--only", choices=[row.name for row in ROWS], action="append")
    parser.add_argument("--data", type=Path, help="a folder that does not exist counts as none")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    options.data = options.data.resolve() if options.data and options.data.is_dir() else None
    return options


def main() -> None:
    if sys.argv[1:2] == ["--row"]:
        print_row(sys.argv[2], Form.from_json(sys.argv[3]))
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each crawl would compile all modules at its start
    options, out = parse_arguments(), Console(width=None if sys.stdout.isatty() else 140)
    folder = Path(tempfile.mkdtemp(prefix="neardup-bench-"))
    lines, everything, start = [], [], time.monotonic()
    try:
        form = form_of(options, folder)
        machine = describe(folder)
        for line in machine:
            out.print(line, highlight=False)
        if (load := os.getloadavg()[0]) > IDLE:
            out.print(f"Other programs run (load {load:.1f}): what follows is no measure.", style="red")
        for row in ROWS:
            if not options.only or row.name in options.only:
                findings = measure(row, form, out)
                everything += findings
                lines += markdown(row.title, findings)
    finally:
        shutil.rmtree(folder)
    outcomes = [each.outcome for each in everything if each.goal]
    summary = (
        f"{outcomes.count('met')} goals met, {outcomes.count('missed')} missed, {outcomes.count('unclear')} "
        "unclear"
    )
    out.print(f"{summary}; {time.monotonic() - start:.0f} s", highlight=False)
    if options.write and not options.only:
        inputs = "real pages and texts" if options.data else "pages and texts of the example network"
        head = [
            f"Measured on {date.today()}, {form.name} form, with {inputs}:",
            "",
            *(f"- {line}" for line in machine),
            "",
        ]
        write(options.write, "bench", [*head, f"{summary}.", "", *lines])


if __name__ == "__main__":
    main()

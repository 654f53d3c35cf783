"""``scrapy-neardup audit --engine spark``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from .errors import Failure
from .output import print_json, print_line
from .totals import print_totals

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_on_spark(sources: Sequence[str], out: str, as_json: bool, options: dict[str, Any]) -> dict[str, Any]:
    """Run the audit of *sources* and print what it has found; return its summary."""
    from scrapy_neardup.spark.session import require_spark

    require_spark()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from scrapy_neardup.spark import audit_paths

    started = time.monotonic()
    try:
        found = audit_paths(sources, out, watch=lambda step: click.echo(f"{step} …", err=True), **options)
    except (PySparkException, Py4JError) as error:
        raise Failure(RuntimeError(f"Spark has failed: {cause_in(str(error))}")) from error
    seconds, facts = time.monotonic() - started, found.summary
    if as_json:
        print_json(facts | {"seconds": round(seconds, 1)})
        return facts
    print_totals(facts, f"{found.out}: {seconds:.1f} seconds")
    if facts["problems"]:
        print_line(f"{found.out}/signatures.parquet has a row with the reason for each problem.")
    print_line(f"{found.out}/drop.txt has the lines to remove.")
    return facts


def cause_in(trace: str) -> str:
    """Return what is at the bottom of *trace*: of Java's or Python's, or of one in the other."""
    lines = [line for line in trace.splitlines() if line[:1].strip() and line.strip("-=: ")]
    return lines[-1].lstrip(": ").removeprefix("Caused by: ") if lines else "it does not say why"

"""``scrapy-neardup evaluate``: how well labelled pairs are told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from scrapy_neardup.errors import ConfigurationError

from .output import RegularFile, json_option, print_json, print_line, print_table
from .settings import read_assignments, set_option


@click.command()
@click.argument("pairs", type=RegularFile())
@click.argument("audit", type=click.Path(exists=True, file_okay=False, path_type=Path))
@set_option
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N most wrong pairs.")
@json_option
def evaluate(pairs: Path, audit: Path, assignments: tuple[str, ...], worst: int, as_json: bool) -> None:
    """Judge labelled pairs of pages as a crawl would, and score the result.

    PAIRS is a table with a header line, separated by tabs: id1, id2, label and, if you like, kind. Labels: 3
    the same text, 2 a near-duplicate, 0 different; 1 (partly shared) and empty (unsure) are shown, not
    scored. An id is the URL of a page, or its identifier, as pages.jsonl has it.

    AUDIT is the directory that an audit of these pages has written: its texts are signed anew, with its
    settings and what --set changes.

    Each pair is judged in both orders, with only the page that came first stored. A page that has much more
    than the stored one is no copy of it, so fewer are found where the shorter came first.
    """
    from scrapy_neardup.audit import evaluate as on
    from scrapy_neardup.audit.explaining import judge_documents

    labelled, given = on.read_pairs(pairs), read_assignments(assignments)
    if {"extractor", "include_area", "exclude_area"} & given.keys():
        raise ConfigurationError("The texts are those of the audit: audit again for other ones.")
    names, documents, options = on.audited_documents(audit, {*labelled.id1, *labelled.id2})
    judge, sides = judge_documents(documents, replace(options, **given)), on.rows_of(labelled, names)
    orders = on.judge_orders(judge, *sides)
    facts = on.score(labelled, orders) | {"worst": on.worst(labelled, orders, judge, *sides, worst)}
    if as_json:
        print_json({"settings": dict(each.split("=", 1) for each in assignments), **facts})
        return
    shares = [
        (label or "-", kind, n, *(f"{each / n:.3f}" for each in found))
        for label, kind, n, *found in (row.values() for row in facts["by_kind"])
    ]
    print_table(f"{pairs}: judged duplicate", ["label", "kind", "pairs", *orders._fields], shares)
    figures = (f"{name} {facts[name]:.3f}" for name in ("precision", "recall", "f1"))
    print_line(f"Labels 3 and 2 against 0: {', '.join(figures)}")
    if facts["worst"]:
        print_table("The most wrong pairs", [*facts["worst"][0]], [row.values() for row in facts["worst"]])

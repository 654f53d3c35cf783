"""``scrapy-neardup filter``: a new batch of documents without what a corpus has."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import INCOMPLETE, RegularFile, json_option, print_json, print_table, watching
from .settings import read_assignments, set_option

if TYPE_CHECKING:
    from typing import Any


@click.command("filter")
@click.argument("batch", type=RegularFile())
@click.option("--against", required=True, metavar="PATH", help="Directory or URL of the index of the corpus.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="What is kept.")
@click.option("--add", is_flag=True, help="File what is kept in the index, which is begun if there is none.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what was left out, and what each repeats, as JSON lines.",
)
@set_option
@click.option("--text-field", metavar="NAME", help="Field with the text or HTML.  [default: guessed]")
@click.option("--url-field", metavar="NAME", help="Field with the URL.  [default: guessed]")
@json_option
@click.pass_context
def filter_(
    context: click.Context,
    /,
    batch: Path,
    against: str,
    out: Path,
    add: bool,
    report: Path | None,
    assignments: tuple[str, ...],
    as_json: bool,
    **fields: Any,
) -> None:
    """Copy a batch without what repeats a document of an index.

    BATCH is a file of JSON lines (also .gz or .bz2), Parquet or WARC, and so is the copy. An item is left out
    only if the one that it repeats says the same. What cannot be read or judged is kept; the exit status is 3
    if some records could not be read.
    """
    from scrapy_neardup.audit.filter import filter_against

    options = read_assignments(assignments) | {name: value for name, value in fields.items() if value}
    with watching() as watch:
        found = filter_against(batch, against, out, add=add, watch=watch, **options)
    if report is not None:
        lines = (json.dumps(each._asdict()) + "\n" for each in found.repeats)
        report.write_text("".join(lines), "utf-8")
    facts = {
        "records": found.records,
        "left out": len(found.repeats),
        **Counter(each.verdict for each in found.repeats),
        "not judged, kept": found.unjudged.total(),
        **found.unjudged,
    }
    if as_json:
        print_json(facts)
    else:
        print_table(str(out), None, [(name, f"{count:,}") for name, count in facts.items()])
    context.exit(INCOMPLETE if found.unjudged["broken"] else 0)

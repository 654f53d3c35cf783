"""``audit``: the duplicates of a finished crawl; ``filter``: a new batch without what an index has."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from . import output
from .parameters import read_assignments, seed_option, set_option

#: Problems and clusters that are shown in the terminal.
_PROBLEMS, _CLUSTERS = 5, 10
#: Said of audits that know no site.
_NO_URLS = (
    "No page has the URL of a site. With --url-field, the field that holds it, or --base-url, that of a "
    "folder, an audit tells more pages of one template from copies."
)
_share = click.FloatRange(0, 1)
_guessed = "Field with the {}.  [default: guessed]"
_text_field = click.option("--text-field", metavar="NAME", help=_guessed.format("text or HTML"))
_url_field = click.option("--url-field", metavar="NAME", help=_guessed.format("URL"))


@click.command()
@click.argument("sources", nargs=-1, required=True)
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Directory for the results.")
@click.option(
    "--kept",
    type=click.Path(file_okay=False),
    help="Directory for copies of the sources without what drop.txt lists: JSON lines, Parquet, WARC.",
)
@click.option(
    "--min-similarity",
    type=_share,
    help="Least similarity of near-duplicates. 0.62 to 0.85 is asked anyway, by length: it can only be "
    "stricter. A little less is asked between sites.",
)
@click.option(
    "--drop-similarity",
    type=_share,
    help="Least similarity of a near-duplicate that drop.txt lists.  [default: 0.9]",
)
@set_option
@click.option("--prefer-host", "hosts", multiple=True, help="Keep pages of this host; repeatable.")
@click.option(
    "--prefer-url",
    "urls",
    multiple=True,
    metavar="PATTERN",
    help="Keep pages whose URL matches, such as '*/stable/*'; repeatable.",
)
@_text_field
@_url_field
@click.option(
    "--base-url",
    metavar="URL",
    help="URL of a folder of HTML files.  [default: by a folder that is called like a host]",
)
@seed_option(show_default="drawn by chance")
@click.option("--overwrite", is_flag=True, help="Replace results of other sources or settings.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where to compare: in this process, or on Spark.",
)
@click.option("--master", metavar="URL", help="Spark's master.  [default: as Spark is set up, or local[*]]")
@click.option(
    "--earlier",
    multiple=True,
    metavar="DIRECTORY",
    help="Results of an audit on Spark: what repeats a page that it keeps is told, too; repeatable.",
)
@output.json_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    sources: tuple[str, ...],
    out: str,
    assignments: tuple[str, ...],
    as_json: bool,
    engine: str,
    master: str | None,
    earlier: tuple[str, ...],
    **options: Any,
) -> None:
    """Find the duplicates of a finished crawl, and write a report.

    SOURCES are feeds (.jl .jsonl .json, also .gz .bz2), Parquet, WARC files, Scrapy's HTTP
    cache and folders of HTML files; patterns such as 'archive/*.warc.gz' are expanded. What was read
    is kept in the directory of the results: an audit that was interrupted goes on when run again, and one
    that is run again later, with more sources if need be, reads what is new. The exit status is 3 if some
    records could not be read; they are in problems.jsonl.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    settings = read_assignments(assignments) | given
    if engine == "spark" and "kept" in settings:
        raise click.UsageError("--kept is for --engine local.")
    if engine == "local" and (master is not None or earlier):
        raise click.UsageError("--master and --earlier are for --engine spark.")
    started = time.monotonic()
    if engine == "spark":
        facts, hints = _on_spark(sources, out, settings | {"master": master, "earlier": earlier})
    else:
        facts, hints = _here(sources, Path(out), settings)
    seconds = time.monotonic() - started
    if as_json:
        output.print_json(facts | {"seconds": round(seconds, 1)})
    else:
        totals = {"pages": facts["pages"], **facts["verdicts"]}
        totals |= {name: facts[name] for name in ("clusters", "problems")}
        totals |= {"repeats to fix": facts["handled"]["to_fix"]}
        rows = [(name.replace("_", " "), f"{count:,}") for name, count in totals.items()]
        output.print_table(f"{out}: {seconds:.1f} seconds", None, rows)
        largest = [(f"{row['size']:,}", row["canonical"]) for row in facts["largest_clusters"][:_CLUSTERS]]
        if largest:
            output.print_table("Largest clusters", ["pages", "canonical page"], largest)
        for line in hints:
            output.print_line(line)
    context.exit(output.INCOMPLETE if facts["problems"] else 0)


def _here(sources: Sequence[str], out: Path, options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Run the audit of *sources*; return its summary, and what to say besides."""
    from scrapy_neardup.audit import audit as run
    from scrapy_neardup.audit.output.files import summarise

    with output.watching() as watch, run(sources, out, watch=watch, **options) as found:
        facts, to_remove = summarise(found), (out / "drop.txt").read_bytes().count(b"\n")
    hints = [_NO_URLS] if [each["host"] for each in facts["hosts"]] == [""] else []
    if found.problems:
        hints += [", ".join(each) for each in found.problems[:_PROBLEMS]]
        hints.append(f"{out / 'problems.jsonl'} has all {len(found.problems):,}.")
    hints.append(f"{out / 'drop.txt'}: {to_remove:,} to remove.")
    return facts, [*hints, f"Open {out / 'report.html'} in a browser."]


def _on_spark(sources: Sequence[str], out: str, options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Run the audit of *sources*; return its summary, and what to say besides."""
    with output.needing("spark"):
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from scrapy_neardup.spark import audit_paths

    try:
        found = audit_paths(sources, out, watch=lambda step: click.echo(f"{step} …", err=True), **options)
    except (PySparkException, Py4JError) as error:
        raise output.Failure(RuntimeError(f"Spark has failed: {_cause_in(str(error))}")) from error
    hints = [f"{found.out}/signatures.parquet has a row with the reason for each problem."]
    return found.summary, [*hints * bool(found.summary["problems"]), f"{found.out}/drop.txt: what to remove."]


def _cause_in(trace: str) -> str:
    """Return what is at the bottom of *trace*: of Java's or Python's, or of one in the other."""
    lines = [line for line in trace.splitlines() if line[:1].strip() and line.strip("-=: ")]
    return lines[-1].lstrip(": ").removeprefix("Caused by: ") if lines else "it does not say why"


@click.command("filter")
@click.argument("batch", type=output.existing_file)
@click.option("--against", required=True, metavar="PATH", help="Directory or URL of the index of the corpus.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="What is kept.")
@click.option("--add", is_flag=True, help="File what is kept in the index, which is begun if there is none.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what was left out, and what each repeats, as JSON lines.",
)
@set_option
@_text_field
@_url_field
@output.json_option
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
    with output.watching() as watch:
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
    output.print_facts(str(out), facts, as_json)
    context.exit(output.INCOMPLETE if found.unjudged["broken"] else 0)

"""``scrapy-neardup audit``: the duplicates of a finished crawl."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .audit_options import given_options, judging_options, print_audit
from .errors import INCOMPLETE, Interrupted
from .watching import watching

if TYPE_CHECKING:
    from scrapy_neardup.audit.output.files import Format


@click.command()
@click.argument("sources", nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False),
    help="Directory for the results.",
)
@judging_options
@click.option(
    "--text-field",
    metavar="NAME",
    help="Field of feeds and tables with the text or HTML.  [default: guessed]",
)
@click.option(
    "--include-area",
    multiple=True,
    metavar="SELECTOR",
    help="Look for the text of a page in these elements alone: CSS, such as 'article, #main'. May be"
    " repeated.",
)
@click.option(
    "--exclude-area",
    multiple=True,
    metavar="SELECTOR",
    help="Leave out these elements, such as '.related'. May be repeated.",
)
@click.option("--url-field", metavar="NAME", help="Field with the URL.  [default: guessed]")
@click.option(
    "--base-url",
    metavar="URL",
    help="URL of a folder of HTML files.  [default: by a folder that is called like a host]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="Seed of the hashes, to get the same results again.  [default: drawn by chance]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace the results of other sources or settings that are in the directory.",
)
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
    help="Results of an audit on Spark whose pages count, too; they are not read again. May be repeated.",
)
@click.pass_context
def audit(
    context: click.Context,
    /,
    sources: tuple[str, ...],
    out: str,
    formats: tuple[Format, ...],
    as_json: bool,
    text_field: str | None,
    url_field: str | None,
    base_url: str | None,
    overwrite: bool,
    seed: int | None,
    engine: str,
    master: str | None,
    earlier: tuple[str, ...],
    **options: Any,
) -> None:
    """Find the duplicates of a finished crawl, and write a report.

    SOURCES are feeds (.jl .jsonl .json .csv, also .gz .bz2), Parquet, WARC and WACZ files, Scrapy's HTTP
    cache, folders of HTML files and indexes; patterns such as 'archive/*.warc.gz' are expanded. What was read
    is kept in the directory of the results: an audit that was interrupted goes on when run again, and one
    that is run again later, with more sources if need be, reads what is new. The exit status is 3 if some
    records could not be read; they are in problems.jsonl.
    """
    from scrapy_neardup.audit import audit as run

    settings = given_options(**options) | {
        "text_field": text_field, "url_field": url_field, "base_url": base_url,
        "seed": seed,
    }  # fmt: skip
    if engine == "spark":
        if formats:
            raise click.UsageError("An audit on Spark writes Parquet: leave --format out.")
        from .on_spark import run_on_spark

        settings |= {"master": master, "earlier": earlier, "overwrite": overwrite}
        context.exit(INCOMPLETE if run_on_spark(sources, out, as_json, settings)["problems"] else 0)
    if master is not None or earlier:
        raise click.UsageError("--master and --earlier are for --engine spark.")
    started = time.monotonic()
    try:
        with watching(sources) as watch:
            found = run(sources, out, formats=formats, overwrite=overwrite, watch=watch, **settings)
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted: run it again, and it goes on.") from error
    with found:
        print_audit(found, Path(out), time.monotonic() - started, as_json)
    context.exit(INCOMPLETE if found.problems else 0)

"""``scrapy-neardup audit`` and ``rethreshold``: the duplicates of a finished crawl."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .errors import Interrupted
from .output import print_json, print_line, print_table
from .settings import read_assignments, set_option
from .totals import print_totals
from .watching import watching

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_neardup.audit import Audit
    from scrapy_neardup.audit.output.files import Format

#: Exit status if some records could not be read.
INCOMPLETE = 3
#: Rows of the table in the terminal.
_PROBLEMS = 5


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that both commands have."""
    for option in reversed(
        (
            click.option(
                "--distance",
                type=click.IntRange(0, 7),
                help="Bits in which fingerprints of candidates may differ.",
            ),
            click.option(
                "--min-similarity",
                type=click.FloatRange(0, 1),
                help="Least similarity of near-duplicates. 0.62 to 0.85 is asked anyway, by length: "
                "it can only be stricter. A little less is asked between sites.",
            ),
            click.option(
                "--drop-similarity",
                type=click.FloatRange(0, 1),
                help="Least similarity of a near-duplicate that drop.txt lists.  [default: 0.9]",
            ),
            click.option(
                "--indexable-only/--all-pages",
                default=None,
                help="Leave out pages that ask search engines not to index them, or to index another URL.",
            ),
            set_option,
            click.option(
                "--rules", metavar="NAMES", help="Rules for canonical pages, in order, with commas."
            ),
            click.option(
                "--prefer-host",
                "hosts",
                multiple=True,
                metavar="HOST",
                help="Keep pages of this host. May be repeated.",
            ),
            click.option(
                "--prefer-url",
                "urls",
                multiple=True,
                metavar="PATTERN",
                help="Keep pages whose URL matches, such as '*/stable/*'. May be repeated.",
            ),
            click.option(
                "--format",
                "formats",
                multiple=True,
                type=click.Choice(["csv", "parquet"]),
                help="Write the tables like this, too. May be repeated.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
        )
    ):
        command = option(command)
    return command


seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="Seed of the hashes, to get the same results again.  [default: drawn by chance]",
)


@click.command()
@click.argument("sources", nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False),
    help="Directory for the results.",
)
@_options
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
@seed_option
@click.option(
    "--trust-pickle",
    is_flag=True,
    help="Unpickle what an HTTP cache has pickled. It can run any code: only for your own.",
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
    trust_pickle: bool,
    overwrite: bool,
    seed: int | None,
    engine: str,
    master: str | None,
    earlier: tuple[str, ...],
    **options: Any,
) -> None:
    """Find the duplicates of a finished crawl, and write a report.

    SOURCES are feeds (.jl .jsonl .json .csv, also .gz .xz .bz2), Parquet, WARC and WACZ files, Scrapy's HTTP
    cache, folders of HTML files and indexes; patterns such as 'archive/*.warc.gz' are expanded. What was read
    is kept in the directory of the results: an audit that was interrupted goes on when run again, and one
    that is run again later, with more sources if need be, reads what is new. The exit status is 3 if some
    records could not be read; they are in problems.jsonl.
    """
    from scrapy_neardup.audit import audit as run

    settings = _given(**options) | {
        "text_field": text_field, "url_field": url_field, "base_url": base_url, "trust_pickle": trust_pickle,
        "seed": seed,
    }  # fmt: skip
    if engine == "spark":
        if formats:
            raise click.UsageError("An audit on Spark writes Parquet: leave --format out.")
        if trust_pickle:
            raise click.UsageError("An audit on Spark does not unpickle caches: leave --trust-pickle out.")
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
        _print(found, Path(out), time.monotonic() - started, as_json)
    context.exit(INCOMPLETE if found.problems else 0)


@click.command()
@click.argument("report", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_options
@click.pass_context
def rethreshold(
    context: click.Context, /, report: Path, formats: tuple[Format, ...], as_json: bool, **options: Any
) -> None:
    """Judge an audit once more with another threshold, which can only make it stricter than without.

    REPORT is the directory that an audit has written. Its results are replaced; no page is read or extracted
    again, and settings that are not given stay those of the audit.
    """
    from scrapy_neardup.audit import rethreshold as run

    started = time.monotonic()
    with watching(()) as watch:
        found = run(report, formats=formats, watch=watch, **_given(**options))
    with found:
        _print(found, report, time.monotonic() - started, as_json)
    context.exit(INCOMPLETE if found.problems else 0)


def _given(
    assignments: tuple[str, ...],
    rules: str | None,
    **options: Any,
) -> dict[str, Any]:
    """Return the options of an audit that the command line names."""
    from scrapy_neardup.audit.canonical import parse_rules

    given = read_assignments(assignments)
    if rules is not None:
        given["rules"] = parse_rules(rules)
    return given | {name: value for name, value in options.items() if value not in (None, ())}


def _print(found: Audit, out: Path, seconds: float, as_json: bool) -> None:
    from scrapy_neardup.audit.output.files import dropped
    from scrapy_neardup.audit.output.summary import summarise

    facts = summarise(found)
    if as_json:
        print_json(facts | {"seconds": round(seconds, 1)})
        return
    if found.started == "anew":
        print_line("The settings are not those of the audit before: all pages were read anew.")
    print_totals(facts, f"{out}: {seconds:.1f} seconds")
    if found.problems:
        print_table("The first problems", ["file", "place", "reason"], found.problems[:_PROBLEMS])
        print_line(f"{out / 'problems.jsonl'}: {_counted(len(found.problems), 'problem')}.")
    print_line(f"{out / 'drop.txt'}: {_counted(len(dropped(found)), 'line')} to remove.")
    print_line(f"Open {out / 'report.html'} in a browser.")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

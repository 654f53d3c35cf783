"""What `audit` and `rethreshold` have in common: options, and what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import print_json, print_line, print_table
from .settings import read_assignments, set_option
from .totals import print_totals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.audit import Audit

#: Problems that are shown in the terminal.
_PROBLEMS = 5


def judging_options(command: Callable[..., None]) -> Callable[..., None]:
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


def given_options(
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


#: Said of audits that know no site.
_NO_URLS = (
    "No page has the URL of a site. With --url-field, the field that holds it, or --base-url, that of a "
    "folder, an audit tells more pages of one template from copies."
)


def print_audit(found: Audit, out: Path, seconds: float, as_json: bool) -> None:
    """Print what an audit has *found*, which took so many *seconds* and is in the directory *out*."""
    from scrapy_neardup.audit.output.files import dropped
    from scrapy_neardup.audit.output.summary import summarise

    facts = summarise(found)
    if as_json:
        print_json(facts | {"seconds": round(seconds, 1)})
        return
    if found.started == "anew":
        print_line("The settings are not those of the audit before: all pages were read anew.")
    print_totals(facts, f"{out}: {seconds:.1f} seconds")
    if [each["host"] for each in facts["hosts"]] == [""]:
        print_line(_NO_URLS)
    if found.problems:
        print_table("The first problems", ["file", "place", "reason"], found.problems[:_PROBLEMS])
        print_line(f"{out / 'problems.jsonl'}: {_counted(len(found.problems), 'problem')}.")
    print_line(f"{out / 'drop.txt'}: {_counted(len(dropped(found)), 'line')} to remove.")
    print_line(f"Open {out / 'report.html'} in a browser.")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

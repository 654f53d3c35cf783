"""``scrapy-neardup rules``: which URLs lead to one page, out of an audit."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .output import print_table


@click.command()
@click.argument("audit", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["neardup", "duplicate-url-discarder", "regex"]),
    default="neardup",
    show_default=True,
    help="For NEARDUP_RULES, for DUD_LOAD_RULE_PATHS, or lines of pattern and replacement.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the rules to this file.")
@click.option(
    "--min-precision",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Least share of copies among pages that a rule joins, a lower bound: 0.95 asks for 52 pages.",
)
def rules(audit: Path, form: str, out: Path | None, min_precision: float) -> None:
    """Find what in URLs never changes the page.

    AUDIT is the directory of an audit. Found are parameters, words in paths (print, amp, index.html),
    slashes, letter case, www and https. No rule joins pages that are known to be different.
    """
    from scrapy_neardup.audit.rules import find_rules, for_discarder, read_pages

    rows = read_pages(audit)
    found = [rule.facts() for rule in find_rules(rows, min_precision)]
    written = [*for_discarder(rows, min_precision)] if form == "duplicate-url-discarder" else found
    if not written:
        click.echo("No rule: no edit of URLs joins pages often enough (--min-precision).", err=True)
    if form == "regex":
        text = "".join(f"{rule['url']}\t{rule['to']}\n" for rule in found)
    else:
        text = json.dumps(written, indent=2) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, "utf-8")
    table = [(*rule["why"].values(),) for rule in found]
    shown = [(what, ", ".join(where), *counts, " ".join(pairs[0])) for what, where, *counts, pairs in table]
    print_table(str(out), ["rule", "where", "pages", "URLs", "precision", "such as"], shown)

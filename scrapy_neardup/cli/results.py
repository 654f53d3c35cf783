"""``changes``, ``evaluate``, ``rules`` and ``stories``, which read what audits have written; ``compare``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click

from scrapy_neardup.errors import ConfigurationError

from .output import clean, existing_file, json_option, print_facts, print_json, print_line, print_table
from .parameters import read_assignments, seed_option, set_option

#: Lines of the difference between two texts, and characters of a line, that are shown.
_LINES, _WIDTH = 40, 300
_directory = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("old", type=_directory)
@click.argument("new", type=_directory)
@json_option
def changes(old: Path, new: Path, as_json: bool) -> None:
    """List the pages that are new, gone or changed between two audits.

    OLD and NEW are directories that audits have written. Of a page that has changed the numbers of
    paragraphs added, removed and kept are shown. With --json each page is a line, also an unchanged one.
    """
    from scrapy_neardup.audit.run import changed_pages

    rows, counts = [], Counter[str]()
    for page in changed_pages(old, new):
        counts[page["change"]] += 1
        if as_json:
            click.echo(json.dumps(page))
        elif page["change"] != "unchanged":
            sizes = (str(len(page[each])) if each in page else "" for each in ("added", "removed", "kept"))
            rows.append((page["change"], page["url"], *sizes))
    if not as_json:
        title = ", ".join(f"{counts[each]:,} {each}" for each in ("new", "gone", "changed", "unchanged"))
        print_table(title, ["", "page", "added", "removed", "kept"], rows)


@click.command()
@click.argument("one", type=existing_file)
@click.argument("other", type=existing_file)
@set_option
@click.option("--url1", metavar="URL", help="The URL of ONE.")
@click.option("--url2", metavar="URL", help="The URL of OTHER.")
@seed_option(default=0, show_default=True)
@json_option
def compare(
    one: Path,
    other: Path,
    assignments: tuple[str, ...],
    url1: str | None,
    url2: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Tell whether a document repeats another, and why.

    ONE and OTHER are files with a text or with HTML, which goes through the extractor of the settings. The
    verdict is the one of a crawl that meets ONE when it has stored OTHER: it depends on their URLs, which say
    whether they are of one site.
    """
    from scrapy_neardup.audit.evaluate import differences, explain, read_document
    from scrapy_neardup.audit.options import AuditOptions

    settings = AuditOptions(**read_assignments(assignments), seed=seed)
    a, b = (read_document(path, settings) for path in (one, other))
    a, b = a._replace(url=url1 or a.url), b._replace(url=url2 or b.url)
    found = explain(a, b, settings)
    print_facts(f"{one} | {other}", found, as_json)
    for line in islice(differences(a.main.text, b.main.text), 0 if as_json else _LINES):
        print_line(line[:_WIDTH])


@click.command()
@click.argument("pairs", type=existing_file)
@click.argument("audit", type=_directory)
@set_option
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N most wrong pairs.")
@json_option
def evaluate(pairs: Path, audit: Path, assignments: tuple[str, ...], worst: int, as_json: bool) -> None:
    """Judge labelled pairs of pages as a crawl would, and score it.

    PAIRS is a table with a header line, separated by tabs: id1, id2 (as in pages.jsonl), label and, if you
    like, kind. Labels: 3 the same text, 2 a near-duplicate, 0 different; 1 and empty are shown, not scored.
    AUDIT is the directory that an audit of these pages has written: its texts are signed anew, with its
    settings and what --set changes. Each pair is judged in both orders.
    """
    from scrapy_neardup.audit import evaluate as on

    labelled, given = on.read_pairs(pairs), read_assignments(assignments)
    if {"extractor", "include_area", "exclude_area"} & given.keys():
        raise ConfigurationError("The texts are those of the audit: audit again for other ones.")
    names, documents, options = on.audited_documents(audit, {*labelled.id1, *labelled.id2})
    judge, sides = on.judge_documents(documents, replace(options, **given)), on.rows_of(labelled, names)
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


@click.command()
@click.argument("audit", type=_directory)
@click.option(
    "--format",
    "form",
    type=click.Choice(["neardup", "duplicate-url-discarder", "regex"]),
    default="neardup",
    show_default=True,
    help="For NEARDUP_RULES, for DUD_LOAD_RULE_PATHS, or lines of pattern and replacement.",
)
@click.option(
    "--min-precision",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Least share of copies among pages that a rule joins, a lower bound: 0.95 asks for 52 pages.",
)
def rules(audit: Path, form: str, min_precision: float) -> None:
    """Find what in URLs never changes the page.

    AUDIT is the directory of an audit. Found are parameters, words in paths (print, amp, index.html),
    slashes, letter case, www and https. No rule joins pages that are known to be different.
    """
    from scrapy_neardup.audit.output.files import read_rows
    from scrapy_neardup.audit.url_rules import COLUMNS, Rule, find_rules, for_discarder

    find = for_discarder if form == "duplicate-url-discarder" else find_rules
    found = [*find(read_rows(audit, "pages", *COLUMNS), min_precision)]
    if not found:
        click.echo("No rule: no edit of URLs joins pages often enough (--min-precision).", err=True)
    if form != "regex":
        print_json([each.facts() if isinstance(each, Rule) else each for each in found])
        return
    for rule in found:
        click.echo(f"{clean(rule.pattern)}\t{clean(rule.edit.to)}")


@click.command()
@click.argument("audit", type=_directory)
@click.option(
    "--sources", type=click.IntRange(1), default=2, show_default=True, help="Least hosts of a story."
)
@json_option
def stories(audit: Path, sources: int, as_json: bool) -> None:
    """Show what several sources have told, who was first, who copied.

    AUDIT is the directory that an audit has written; stories.html there gets pictures of the stories. With
    --json each story is a line.
    """
    from scrapy_neardup.audit.output.report import read_stories, write_stories

    found = read_stories(audit, sources)
    write_stories(audit / "stories.html", found)
    if as_json:
        for story in found:
            click.echo(json.dumps(story))
        return
    rows = [
        (each["first_seen"] or "unknown", each["sources"][0], each["title"] or each["copies"][0]["url"],
         *(f"{len(each[name]):,}" for name in ("sources", "copies", "fuller")))
        for each in found[:20]
    ]  # fmt: skip
    title = f"{len(found):,} stories of {sources} hosts or more"
    print_table(title, ["first seen", "by", "title", "sources", "pages", "fuller"], rows)
    print_line(f"Open {audit / 'stories.html'} in a browser.")

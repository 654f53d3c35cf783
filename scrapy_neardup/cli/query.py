"""``scrapy-neardup query``: what an index has that documents repeat."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .output import INCOMPLETE, print_json, print_line, print_table
from .settings import path_and_files, read_assignments, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_neardup.audit.documents import Answer


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="INDEX FILES...",
    callback=path_and_files,
)
@set_option
@click.option("--scope", help="Look in this scope only, as the crawl named it. Default: in all.")
@click.option(
    "--most", type=click.IntRange(1), default=10, show_default=True, help="Matches shown of each document."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def query(
    context: click.Context,
    /,
    paths: tuple[Path, tuple[str, ...]],
    assignments: tuple[str, ...],
    scope: str | None,
    most: int,
    as_json: bool,
) -> None:
    """Find what documents repeat among those stored in an index.

    INDEX is the directory of an index; in a Scrapy project it may be left out. FILES hold a text or HTML
    each, or are feeds with a document a line. Nothing is stored. The exit status is 3 if some documents could
    not be read.
    """
    from scrapy_neardup.audit.documents import extracting_as, read_documents
    from scrapy_neardup.audit.documents import query as look_up
    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.index.lmdb.commands import require_index

    index, files = paths
    require_index(index)
    settings = extracting_as(index, AuditOptions(**read_assignments(assignments)))
    answers = list(look_up(index, read_documents(files, settings), settings, scope=scope))
    if as_json:
        print_json([_facts(answer, most) for answer in answers])
    elif sys.stdout.isatty():
        for answer in answers:
            for line in _lines(answer, most):
                print_line(line)
    else:
        print_table(
            f"Matches in {index}",
            ["document", "verdict", "distance", "similarity", "containment", "URL"],
            (row for answer in answers for row in _rows(answer, most)),
        )
    context.exit(INCOMPLETE if any(answer.document.text is None for answer in answers) else 0)


def _lines(answer: Answer, most: int) -> Iterator[str]:
    """Yield what a terminal shows: no table, whose cells would break URLs."""
    for number, (name, verdict, distance, similarity, containment, url) in enumerate(_rows(answer, most)):
        if not answer.matches:
            yield f"{name}: {verdict}" + (f" ({url})" if url else "")
            return
        if not number:
            yield f"{name}:"
        yield f"  {verdict}, {distance} bits, similarity {similarity}, containment {containment}: {url}"


def _rows(answer: Answer, most: int) -> Iterator[tuple[str, ...]]:
    """Yield document, verdict, distance, similarity, containment, and URL or else why there is no text."""
    name = answer.document.name
    if not answer.matches:
        yield name, answer.verdict.replace("_", " "), "", "", "", answer.document.reason or ""
    for match in answer.matches[:most]:
        yield (
            name,
            match.kind,
            str(match.distance),
            f"{match.similarity:.2f}",
            f"{match.containment:.2f}",
            match.url,
        )


def _facts(answer: Answer, most: int) -> dict[str, Any]:
    return {
        "document": answer.document.name,
        "verdict": answer.verdict,
        "reason": answer.document.reason,
        "matches": [
            match._asdict()
            | {"similarity": round(match.similarity, 4), "containment": round(match.containment, 4)}
            for match in answer.matches[:most]
        ],
    }

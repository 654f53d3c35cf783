"""``scrapy-neardup compare``: two documents side by side; ``query``: what documents repeat of an index."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from .output import INCOMPLETE, LINES, WIDTH, RegularFile, json_option, print_json, print_line, print_table
from .settings import path_and_files, read_assignments, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_neardup.audit.documents import Answer, Document
    from scrapy_neardup.audit.settings import AuditOptions


@click.command()
@click.argument("one", type=RegularFile())
@click.argument("other", type=RegularFile())
@set_option
@click.option("--url1", metavar="URL", help="The URL of ONE.")
@click.option("--url2", metavar="URL", help="The URL of OTHER.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the hashes; pairs near a threshold depend on it.",
)
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

    ONE and OTHER are files with a text or with HTML, which goes through the extractor of the settings. With
    URLs the verdict is the one of a crawl that meets ONE when it has stored OTHER: it depends on whether they
    are of one site, or one page.
    """
    from scrapy_neardup.audit.documents import read_documents
    from scrapy_neardup.audit.explaining import differences, explain
    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.errors import ConfigurationError

    settings = AuditOptions(**read_assignments(assignments), seed=seed)
    documents = list(islice(read_documents([str(one), str(other)], settings), 3))
    for document in documents:
        if document.text is None:
            raise ConfigurationError(
                f"{document.name} cannot be compared ({document.reason}): name another file."
            )
    if len(documents) != 2:
        raise ConfigurationError(
            f"{one} and {other} hold {len(documents)} documents or more: name two files with one text or "
            "page each."
        )
    a, b = documents
    a, b = a._replace(url=url1 or a.url), b._replace(url=url2 or b.url)
    found = explain(a, b, settings)
    verdict = found.verdict if url1 is None and url2 is None else _verdict_of_a_crawl(a, b, settings)
    if as_json:
        print_json(_rounded(found) | {"verdict": verdict})
        return
    print_table(
        f"{one} | {other}",
        None,
        [
            ("verdict", verdict.replace("_", " ")),
            ("distance", f"{found.distance} of 64 bits"),
            ("similarity", f"{found.similarity:.2f}"),
            ("containment", f"{found.containment:.2f}"),
            ("substituted numbers", f"{found.substituted:.0f} of {found.numbers:.0f}"),
            ("tokens", " and ".join(f"{count:,}" for count in found.tokens)),
        ],
    )
    changes = list(differences(a.text or "", b.text or ""))
    more = [f"… {len(changes) - LINES:,} more"] if len(changes) > LINES else []
    for line in [*found.why, *(line[:WIDTH] for line in changes[:LINES]), *more]:
        print_line(line)


def _rounded(found: Any) -> dict[str, Any]:
    """Return the fields of what was found, with shares that have four digits."""
    facts: dict[str, Any] = found._asdict()
    return facts | {name: round(facts[name], 4) for name in ("similarity", "containment")}


def _verdict_of_a_crawl(one: Document, other: Document, settings: AuditOptions) -> str:
    """Return the verdict on *one* in a crawl that has stored *other*."""
    from scrapy_neardup import Detector
    from scrapy_neardup.index import MemoryIndex

    with Detector(
        MemoryIndex(settings.header),
        distance=settings.distance,
        threshold=settings.threshold,
        verified=settings.verified,
        min_tokens=settings.min_tokens,
    ) as detector:
        detector.add(other.main, other.url)
        return detector.check(one.main, one.url).kind


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="INDEX FILES...", callback=path_and_files)
@set_option
@click.option("--scope", help="Look in this scope only, as the crawl named it. Default: in all.")
@click.option(
    "--most", type=click.IntRange(1), default=10, show_default=True, help="Matches shown of each document."
)
@json_option
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
    answers = [
        answer._replace(matches=answer.matches[:most])
        for answer in look_up(index, read_documents(files, settings), settings, scope=scope)
    ]
    if as_json:
        print_json([_facts(answer) for answer in answers])
    elif sys.stdout.isatty():  # no table, whose cells would break URLs
        for name, verdict, *figures, url in _rows(answers):
            names = ("distance", "similarity", "containment")
            told = (f", {each} {figure}" for each, figure in zip(names, figures, strict=True) if figure)
            print_line(f"{name}: {verdict}{''.join(told)}" + (f": {url}" if url else ""))
    else:
        columns = ["document", "verdict", "distance", "similarity", "containment", "URL"]
        print_table(f"Matches in {index}", columns, _rows(answers))
    context.exit(INCOMPLETE if any(answer.document.text is None for answer in answers) else 0)


def _rows(answers: list[Answer]) -> Iterator[tuple[str, ...]]:
    """Yield document, verdict, distance, similarity, containment, and URL or else why there is no text."""
    for document, verdict, matches in answers:
        if not matches:
            yield document.name, verdict.replace("_", " "), "", "", "", document.reason or ""
        for url, kind, distance, similarity, containment in matches:
            yield document.name, kind, str(distance), f"{similarity:.2f}", f"{containment:.2f}", url


def _facts(answer: Answer) -> dict[str, Any]:
    return {
        "document": answer.document.name,
        "verdict": answer.verdict,
        "reason": answer.document.reason,
        "matches": [_rounded(match) for match in answer.matches],
    }

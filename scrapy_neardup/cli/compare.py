"""``scrapy-neardup compare``: two documents side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import LINES, WIDTH, RegularFile, json_option, print_json, print_line, print_table
from .settings import read_assignments, set_option

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_neardup.audit.explaining import Document
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
    from scrapy_neardup.audit.explaining import differences, explain, read_document
    from scrapy_neardup.audit.settings import AuditOptions

    settings = AuditOptions(**read_assignments(assignments), seed=seed)
    a, b = (read_document(path, settings) for path in (one, other))
    a, b = a._replace(url=url1 or a.url), b._replace(url=url2 or b.url)
    found = explain(a, b, settings)
    verdict = found.verdict if url1 is None and url2 is None else _verdict_of_a_crawl(a, b, settings)
    if as_json:
        figures = {name: round(getattr(found, name), 4) for name in ("similarity", "containment")}
        print_json({**found._asdict(), **figures, "verdict": verdict})
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
    changes = list(differences(a.main.text, b.main.text))
    more = [f"… {len(changes) - LINES:,} more"] if len(changes) > LINES else []
    for line in [*found.why, *(line[:WIDTH] for line in changes[:LINES]), *more]:
        print_line(line)


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

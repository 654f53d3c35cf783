"""``scrapy-neardup compare``: two documents side by side."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from .output import RegularFile, json_option, print_json, print_line, print_table, shown
from .settings import read_assignments, seed_option, set_option

if TYPE_CHECKING:
    from pathlib import Path

#: Lines of the difference between two texts, and characters of a line, that are shown.
_LINES, _WIDTH = 40, 300


@click.command()
@click.argument("one", type=RegularFile())
@click.argument("other", type=RegularFile())
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
    from scrapy_neardup.audit.explaining import differences, explain, read_document
    from scrapy_neardup.audit.settings import AuditOptions

    settings = AuditOptions(**read_assignments(assignments), seed=seed)
    a, b = (read_document(path, settings) for path in (one, other))
    a, b = a._replace(url=url1 or a.url), b._replace(url=url2 or b.url)
    found = explain(a, b, settings)
    if as_json:
        print_json(found)
        return
    print_table(f"{one} | {other}", None, [(name, shown(value)) for name, value in found.items()])
    for line in islice(differences(a.main.text, b.main.text), _LINES):
        print_line(line[:_WIDTH])

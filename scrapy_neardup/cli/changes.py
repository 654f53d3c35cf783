"""``scrapy-neardup changes``: two audits of one site side by side."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from .output import print_pairs

_WORDS = {
    "gone": "fixed: gone",
    "handled": "fixed: name the canonical page, or noindex",
    "rewritten": "fixed: repeat no page now",
    "new_page": "new: pages that were not there",
    "now_repeats": "new: pages that repeated no other",
    "stays": "still to fix",
    "line_new": "drop.txt: new lines",
    "line_gone": "drop.txt: lines that are gone",
}
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("earlier", type=_DIRECTORY)
@click.argument("later", type=_DIRECTORY)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each page.")
def changes(earlier: Path, later: Path, as_json: bool) -> None:
    """Tell what became of repeats from one audit to the next: which were fixed, which are new.

    EARLIER and LATER are directories that `audit` has written.
    """
    from scrapy_neardup.audit.changes import changes as compare

    counts: Counter[str | None] = Counter()
    for found in compare(earlier, later):
        counts.update((found.change, found.line))
        if as_json:
            click.echo(json.dumps(found._asdict()))
    if not as_json:
        print_pairs(f"{earlier} → {later}", [(words, f"{counts[name]:,}") for name, words in _WORDS.items()])

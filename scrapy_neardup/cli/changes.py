"""``scrapy-neardup changes``: what two audits of a site have in common, and what not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from .output import json_option, print_table

_directory = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("old", type=_directory)
@click.argument("new", type=_directory)
@json_option
def changes(old: Path, new: Path, as_json: bool) -> None:
    """List the pages that are new, gone, or changed since an earlier audit.

    OLD and NEW are directories that audits have written. Of a page that has changed the numbers of
    paragraphs added, removed and kept are shown. With --json each page is a line, also an unchanged one.
    """
    from scrapy_neardup.audit.changes import changed_pages

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

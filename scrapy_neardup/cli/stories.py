"""``scrapy-neardup stories``: who told what first, and who copied it when."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .output import json_option, print_line, print_table


@click.command()
@click.argument("audit", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--sources", type=click.IntRange(1), default=2, show_default=True, help="Least hosts of a story."
)
@json_option
def stories(audit: Path, sources: int, as_json: bool) -> None:
    """Show what several sources have told: who was first, who copied it when, and what says more.

    AUDIT is the directory that an audit has written; stories.html there gets pictures of the stories. With
    --json each story is a line.
    """
    from scrapy_neardup.audit.output.stories import read_stories, write_stories

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
    print_table(f"{len(found):,} stories", ["first seen", "by", "title", "sources", "pages", "fuller"], rows)
    print_line(f"Open {audit / 'stories.html'} in a browser.")

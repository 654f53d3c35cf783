"""The command line; a module imports what its commands need only when one of them runs."""

from __future__ import annotations

import click

from .audit import audit, filter_
from .index import index
from .output import Commands
from .results import changes, compare, evaluate, rules, stories
from .serve import serve


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="scrapy-neardup", prog_name="scrapy-neardup")
def main() -> None:
    """Near-duplicates: audit a crawl, look after an index, compare, evaluate.

    In a Scrapy project "scrapy neardup" knows its index, and has two commands more: doctor and skipped.
    """


for _command in (audit, changes, compare, evaluate, filter_, index, rules, serve, stories):
    main.add_command(_command)

"""``scrapy-neardup rethreshold``: an audit judged once more, more strictly."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .audit import given_options, judging_options, print_audit
from .output import INCOMPLETE, watching

if TYPE_CHECKING:
    from scrapy_neardup.audit.output.files import Format


@click.command()
@click.argument("report", type=click.Path(exists=True, file_okay=False, path_type=Path))
@judging_options
@click.pass_context
def rethreshold(
    context: click.Context, /, report: Path, formats: tuple[Format, ...], as_json: bool, **options: Any
) -> None:
    """Judge an audit once more with another threshold, which can only be stricter than the usual ones.

    REPORT is the directory that an audit has written. Its results are replaced; no page is read or extracted
    again, and settings that are not given stay those of the audit.
    """
    from scrapy_neardup.audit import rethreshold as run

    started = time.monotonic()
    with watching() as watch:
        found = run(report, formats=formats, watch=watch, **given_options(**options))
    with found:
        print_audit(found, report, time.monotonic() - started, as_json)
    context.exit(INCOMPLETE if found.problems else 0)

"""Settings of Scrapy on the command line: ``--set NAME=VALUE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scrapy_neardup.errors import ConfigurationError

from .index import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.plugin.settings import Config


def _with_scrapys(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Add those that ``scrapy neardup`` took, which knows ``--set`` as an option of its own."""
    project = context.find_object(Project)
    return (*(project.assignments if project is not None else ()), *values)


set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_with_scrapys,
    help="Override a setting, such as NEARDUP_DISTANCE=7; repeatable.",
)


def configure(assignments: Sequence[str]) -> Config:
    """Read settings as a crawl does; the prefix NEARDUP_ may be left out. Raises `ConfigurationError`."""
    from scrapy.settings import Settings

    from scrapy_neardup.plugin.settings import SETTINGS, Config, unknown

    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = name.strip().upper()
        name = name if name.startswith("NEARDUP_") else f"NEARDUP_{name}"
        if not equals:
            raise ConfigurationError(f"{assignment!r} sets nothing: write NAME=VALUE.")
        if name not in SETTINGS:
            raise ConfigurationError(unknown(name))
        values[name] = value
    return Config.from_settings(Settings(values))

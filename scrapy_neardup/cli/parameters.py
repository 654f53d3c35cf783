"""What commands work on: the settings of a crawl (``--set NAME=VALUE``) and an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from scrapy_neardup.errors import ConfigurationError


@dataclass(frozen=True)
class Project:
    """The Scrapy project that ``scrapy neardup`` runs in: the object of click's context."""

    #: Returns the directory of the index that the project's settings name, or its URL.
    index: Callable[[], Path | str | None]
    #: Settings given as options of Scrapy: NAME=VALUE.
    assignments: tuple[str, ...] = ()


def _with_scrapys(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Add the assignments that Scrapy has taken from ``scrapy neardup``: ``--set`` is its option, too."""
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


#: The option of the seed; it is given its default.
seed_option = partial(
    click.option,
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="Seed of the hashes; pairs near a threshold depend on it.",
)


def read_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the options that *assignments* (``NAME=VALUE``) set, by their names; the last value counts.

    Raises `ConfigurationError` for a value that cannot work, and what is not among `DetectionOptions`.
    """
    from scrapy_neardup.options import PREFIX, DetectionOptions, hint_at

    known = DetectionOptions.settings()
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = PREFIX + name.strip().upper().removeprefix(PREFIX)
        if not equals:
            raise ConfigurationError(f"{assignment} sets nothing: write NAME=VALUE.")
        if name not in known:
            raise ConfigurationError(f"This command has no setting {name}: {hint_at(name, known)}")
        values[name] = value
    return DetectionOptions.read(values.get)


def _path(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | str:
    """Return the directory of the index *value*, or of the project's; the URL of one on a server as text."""
    from scrapy_neardup.index.stores import located

    project = context.find_object(Project)
    where = project.index() if value is None and project is not None else value
    if where is None:
        raise click.MissingParameter("Name the index, or set NEARDUP_DIR in a project.", context, parameter)
    found = located(where)
    return found.resolve() if isinstance(found, Path) else found


path_argument = click.argument("path", required=False, metavar="PATH", callback=_path)


def path_and_urls(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return the index that the first of *values* names, or else the project, and the URLs after it."""
    named = bool(values) and not values[0].lower().startswith(("http://", "https://"))
    return _path(context, parameter, values[0] if named else None), values[named:]

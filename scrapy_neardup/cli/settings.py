"""The settings of a crawl on the command line: ``--set NAME=VALUE``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scrapy_neardup.errors import ConfigurationError

from .where import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.options import DetectionOptions


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


def read_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the options that *assignments* (``NAME=VALUE``) set, by their names.

    If an option is set twice, the last value counts. The prefix NEARDUP_ may be left out, and the case of
    names does not matter.
    Raises `ConfigurationError` for a value that cannot work and for a setting that is not among
    `DetectionOptions`, such as one that only a crawl has.
    """
    from scrapy_neardup.options import PREFIX, DetectionOptions, similar_name

    known = DetectionOptions.settings()
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = PREFIX + name.strip().upper().removeprefix(PREFIX)
        if not equals:
            raise ConfigurationError(f"{assignment!r} sets nothing: write NAME=VALUE.")
        if name not in known:
            near = similar_name(name, known)
            hint = f"did you mean {near}?" if near else f"it has {', '.join(known)}."
            raise ConfigurationError(f"This command has no setting {name}: {hint}")
        values[name] = value
    return DetectionOptions.read(values.get)


def read_options(assignments: Sequence[str]) -> DetectionOptions:
    """Return all options: those of *assignments*, the others with their defaults.

    Raises as `read_assignments` does.
    """
    from scrapy_neardup.options import DetectionOptions

    return DetectionOptions(**read_assignments(assignments))

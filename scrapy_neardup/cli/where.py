"""Where an index is: the argument PATH of commands, or what the Scrapy project says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeIs


@dataclass(frozen=True)
class Project:
    """The Scrapy project that ``scrapy neardup`` runs in: the object of click's context."""

    #: Returns the directory of the index that the project's settings name, or its URL.
    index: Callable[[], Path | str | None]
    #: Settings given as options of Scrapy: NAME=VALUE.
    assignments: tuple[str, ...] = ()


class Where(click.Path):
    """The directory of an index, as a path; or the URL of one on a server, as text."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the URL as it is."""
        return value if is_on_server(value) else super().convert(value, param, ctx)


def is_on_server(where: object) -> TypeIs[str]:
    """Tell whether an index is named by the URL of a server."""
    from scrapy_neardup.index.stores import SERVERS

    return isinstance(where, str) and where.partition("://")[0].lower() in SERVERS


def _path(context: click.Context, parameter: click.Parameter, value: Path | str | None) -> Path | str:
    project = context.find_object(Project)
    if value is None and project is not None:
        value = project.index()
    if value is None:
        raise click.MissingParameter("Name the directory of the index.", context, parameter)
    return value if isinstance(value, str) else value.resolve()


def path_and_urls(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return the index that the first of *values* names, or else the project, and the URLs after it."""
    on_server = bool(values) and is_on_server(values[0])
    named = on_server or (bool(values) and "://" not in values[0])
    path = _path(context, parameter, None if not named else values[0] if on_server else Path(values[0]))
    return path, values[named:]


def path_and_files(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return the folder of the index that the first of *values* is, or else the project's, and the files."""
    from scrapy_neardup.index.lmdb.directory import is_index

    project = context.find_object(Project)
    path = project.index() if project is not None and not is_index(Path(values[0])) else None
    if is_on_server(path):
        raise click.UsageError(
            "Documents are looked up in a folder: make one with scrapy neardup index export."
        )
    path, files = (Path(values[0]), values[1:]) if path is None else (Path(path), values)
    if not files:
        raise click.UsageError("Name the files with the documents, too.", context)
    return path, files


path_argument = click.argument("path", required=False, metavar="PATH", type=Where(), callback=_path)

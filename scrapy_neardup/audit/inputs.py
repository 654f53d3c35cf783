"""Which sources an audit is to read, before any is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.index.lmdb.directory import is_index

from .model import Input
from .sources import find_sources
from .sources.index import reading_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index import Header

    from .settings import AuditOptions


def find_inputs(paths: Sequence[str | os.PathLike[str]], settings: AuditOptions) -> list[Input]:
    """Return the sources that *paths* name, sorted by name.

    Raises `SourceUnavailable` if one is missing or unknown.
    """
    indexes = [path for path in paths if is_index(Path(path))]
    others = [path for path in paths if not is_index(Path(path))]
    sources = find_sources(others)
    found = [Input(str(source.path), source.kind) for source in sources]
    return sorted({*found, *(Input(os.fspath(path), "index") for path in indexes)})


def header_of(inputs: Sequence[Input]) -> Header | None:
    """Return the header of the indexes among *inputs*, None if there is none.

    Raises `IndexMismatch` if headers differ.
    """
    header: Header | None = None
    for name, kind in inputs:
        if kind == "index":
            with reading_index(Path(name)) as (own, _):
                if header is not None:
                    header.require(own, name)
                header = header or own
    return header

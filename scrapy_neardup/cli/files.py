"""Files that commands read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class RegularFile(click.Path):
    """A file that exists and is no pipe or device, which may never end.

    With *dash*, - is standard input; with *folder*, a directory will do.
    """

    def __init__(self, *, dash: bool = False, folder: bool = False) -> None:
        super().__init__(exists=True, dir_okay=folder, allow_dash=dash, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if (
            not path.is_file()
            and not (self.dir_okay and path.is_dir())
            and not (self.allow_dash and str(path) == "-")
        ):
            self.fail(f"{path} is a pipe or a device: save what it brings to a file first.", param, ctx)
        return path

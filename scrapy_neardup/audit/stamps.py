"""Tells whether a file is the one that was read before, by its size and time of change."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sources import Origin


class Stamps:
    """Returns the stamp of a file, its size and time of change.

    A file with the same stamp is taken for unchanged.
    """

    def __init__(self) -> None:
        self._path = ""
        self._stamp: str | None = None

    def of(self, origin: Origin) -> str:
        """Return the stamp of the file that *origin* is in."""
        if origin.path != self._path:
            self._path = origin.path
            path = Path(origin.path)
            self._stamp = None if path.is_dir() else _stamp(path)
        if self._stamp is not None:
            return self._stamp
        return _stamp(Path(origin.path, origin.place, "response_body"))


def _stamp(path: Path) -> str:
    with contextlib.suppress(OSError):
        found = path.stat()
        return f"{found.st_size} {found.st_mtime_ns}"
    return ""

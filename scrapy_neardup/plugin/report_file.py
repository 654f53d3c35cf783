"""The report file of ``NEARDUP_REPORT``: one JSON line for each decision that was not "unique"."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from scrapy_neardup.verdict import Verdict

#: What was judged.
What = Literal["page", "item"]
#: What was done with the document: nothing (``passed``), or what the policy says.
Action = Literal["passed", "tag", "drop_items", "drop_page", "drop_item"]


class ReportFile:
    """Appends JSON lines to a file, which is made where it is missing.

    A line that cannot be written is lost. The next one is written if that is possible again by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        #: Whether only the beginning of the last line was written.
        self._cut = False

    def require(self) -> None:
        """Raise `ConfigurationError` if the file cannot be opened for writing."""
        try:
            self._open().close()
        except FileNotFoundError:
            raise ConfigurationError(
                f"NEARDUP_REPORT is {str(self.path)!r}, whose folder does not exist: make it or name another."
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"NEARDUP_REPORT is {str(self.path)!r}, which cannot be written ({error.strerror}): "
                "set it to a file that can be."
            ) from error

    def write(self, what: What, url: str, verdict: Verdict, action: Action) -> None:
        """Append one decision as a line of UTF-8.

        A lone surrogate is written as a JSON escape, and a value that is no JSON as its ``str()``. Raises
        OSError if the file cannot be written, TypeError or ValueError for a value that no line can hold.
        """
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "type": what,
            "url": url,
            "verdict": verdict.kind,
            "match": verdict.url,
            "distance": verdict.distance,
            "similarity": _rounded(verdict.similarity),
            "changed": not verdict.unchanged if verdict.kind == "revisit" else None,
            "action": action,
            "why": {name: _rounded(value) for name, value in verdict.explanation.items()},
        }
        text = json.dumps(line, ensure_ascii=False, default=str) + "\n"
        try:
            self._append(text.encode("utf-8", "backslashreplace"))
        except OSError:
            with suppress(OSError):
                self.close()  # what is under this name later may be another file
            raise

    def close(self) -> None:
        """Close the file, if a line was written."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _append(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        data = b"\n" * self._cut + data
        written = self._file.write(data)
        if written is None:  # a pipe that is full
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._cut = written < len(data)
        if self._cut:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> FileIO:
        # Without a buffer each line is written whole, and a full disk leaves nothing to write later.
        return open(self.path, "ab", buffering=0, opener=_without_waiting)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file. A pipe that nobody reads fails, or the crawl would stand still until somebody does."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value

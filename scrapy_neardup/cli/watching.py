"""The progress of an audit: pages, how many a second, and how long it will take."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_neardup.audit.sources import Origin

#: Seconds between two looks at how far it is.
_PAUSE = 0.2
#: Seconds between two lines that say how far it is, where there is no terminal.
EVERY = 30.0
#: The files of one response in Scrapy's HTTP cache.
_ENTRY = (
    "meta", "pickled_meta", "request_body", "request_headers", "response_body", "response_headers",
)  # fmt: skip


@contextlib.contextmanager
def watching(sources: Sequence[str]) -> Iterator[Callable[[str, int, Origin | None], None]]:
    """Show a bar on a terminal, else a line every half minute.

    Yields a function that is called with what the audit does, how much of it is done, and where.
    """
    if not sys.stderr.isatty():
        yield plain_progress(lambda line: click.echo(line, err=True))
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[pace]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    amount = _Amount(sources)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        started = last = time.monotonic()
        doing = "Reading"
        task = bar.add_task(doing, total=None, pace="")

        def watch(what: str, done: int, where: Origin | None) -> None:
            nonlocal last, doing, task
            if where is not None:
                amount.reached(where)
            now = time.monotonic()
            if what != doing:
                bar.remove_task(task)
                task, doing = bar.add_task(what, total=None, pace=""), what
            elif where is not None and now - last >= _PAUSE:
                last = now
                pace = f"{done:,} pages, {done / (now - started):,.0f} a second"
                bar.update(task, pace=pace, completed=amount.done(), total=amount.total)

        yield watch


def plain_progress(
    tell: Callable[[str], object], every: float = EVERY, clock: Callable[[], float] = time.monotonic
) -> Callable[[str, int, Origin | None], None]:
    """Return what an audit calls, which tells in a line how far it is, each *every* seconds by *clock*."""
    started = last = clock()

    def watch(what: str, done: int, where: Origin | None) -> None:
        nonlocal last
        now = clock()
        if now - last < every:
            return
        last = now
        things = "pairs" if where is None else "pages"
        count = f", {done:,} {things}" if done else ""
        tell(f"{what}{count}, {now - started:,.0f} seconds" + (f": {clean(where)}" if where else ""))

    return watch


class _Amount:
    """How many bytes of the sources there are, and how many were read, as the system tells of open files."""

    def __init__(self, sources: Sequence[str]) -> None:
        from scrapy_neardup.audit.sources import find_sources
        from scrapy_neardup.errors import NearDupError
        from scrapy_neardup.index.lmdb.directory import is_index

        self._sizes: dict[str, int] = {}
        self._folders: set[str] = set()
        self._before = 0
        self._path = ""
        with contextlib.suppress(NearDupError, OSError):  # the audit says what is wrong
            for source in find_sources([each for each in sources if not is_index(Path(each))]):
                if source.path.is_dir():
                    self._folders.add(str(source.path))
                    for directory, _, names in os.walk(source.path):
                        for name in names:
                            path = os.path.join(directory, name)  # noqa: PTH118  # of many files
                            with contextlib.suppress(OSError):
                                self._sizes[path] = os.stat(path).st_size  # noqa: PTH116
                else:
                    self._sizes[str(source.path)] = source.path.stat().st_size
        self.total = sum(self._sizes.values()) or None

    def reached(self, where: Origin) -> None:
        """Take note of the file or, in a cache, the directory that is being read."""
        file = where.path
        if file in self._folders:
            self._before += sum(self._sizes.pop(str(Path(file, where.place, name)), 0) for name in _ENTRY)
        if file != self._path:
            self._before += self._sizes.get(self._path, 0)
            self._path = file

    def done(self) -> int:
        """Return how many bytes have been read."""
        size = self._sizes.get(self._path, 0)
        return self._before + (min(size, _position(self._path)) if size else 0)


def _position(path: str) -> int:
    """Return how far into the file *path* this process has read; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError):
        real = os.path.realpath(path)
        for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{descriptor}") == real:  # noqa: PTH115
                    return int(Path(f"/proc/self/fdinfo/{descriptor}").read_text().split()[1])
    return 0

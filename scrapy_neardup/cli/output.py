"""Tables for people on a terminal, tab-separated lines for pipes, JSON for programs.

Texts of a crawl are never obeyed: neither as markup nor as control sequences of the terminal.
"""

from __future__ import annotations

import contextlib
import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

#: Control, format (it can reverse the order of the text), surrogate, and the separators of lines and
#: paragraphs.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Lines of the difference between two texts, and characters of a line, that are shown.
LINES, WIDTH = 40, 300


def clean(text: object) -> str:
    """Replace by U+FFFD what a terminal would not print as it is."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNPRINTABLE else c for c in str(text)
    )


def print_line(text: object) -> None:
    """Print one line."""
    _write(clean(text))


def print_json(value: Any) -> None:
    """Print *value* in ASCII."""
    click.echo(json.dumps(value, indent=2))


def print_pairs(title: str, pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and their values."""
    print_table(title, None, pairs)


def print_table(title: str, columns: Sequence[str] | None, rows: Iterable[Sequence[object]]) -> None:
    """Print *rows* under *columns*."""
    texts = [[clean(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [columns or (), *texts]:
            if row:
                _write("\t".join(row))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(title=clean(title), title_justify="left", show_header=columns is not None)
    for column in columns or ("", ""):
        table.add_column(column, overflow="fold", min_width=len(column))
    for row in texts:
        table.add_row(*map(Text, row))
    _console(stderr=False).print(table)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal; yields what to call with the steps done and their total."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import Progress

    with Progress(console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def size(count: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))

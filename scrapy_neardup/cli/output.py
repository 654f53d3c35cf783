"""What commands print: tables on a terminal, tab-separated lines for pipes, JSON for programs.

Texts of a crawl are never obeyed, and trouble that is to be expected is one line and status 2.
"""

from __future__ import annotations

import contextlib
import errno
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scrapy_neardup.errors import NearDupError

if TYPE_CHECKING:
    from scrapy_neardup.audit.sources.records import Origin

#: Control, format (may reverse the text), surrogate, and the separators of lines and paragraphs.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Exit status of a command that could not read some of its input.
INCOMPLETE = 3
#: Seconds between two lines that say how far an audit is, on a terminal and elsewhere.
_PAUSE, EVERY = 0.2, 30.0

#: The type of arguments that name a file.
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def clean(text: object) -> str:
    """Replace by U+FFFD what a terminal would not print as it is."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNPRINTABLE else c for c in str(text)
    )


def print_line(text: object) -> None:
    """Print one line."""
    _write(clean(text))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def print_json(value: Any) -> None:
    """Print *value* in ASCII."""
    click.echo(json.dumps(value, indent=2))


def shown(value: Any) -> str:
    """Return *value* as a cell: parts of lists and objects after one another, numbers with commas."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(each)}" for name, each in value.items() if each != "")
    if isinstance(value, list):
        return " + ".join(map(shown, value)) or "none"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{round(value, 4):,}"
    return str(value) if value or value is False else "unknown"


def print_table(title: str, columns: Sequence[str] | None, rows: Iterable[Sequence[object]]) -> None:
    """Print *rows* under *columns*; None for pairs of a name and its value."""
    texts = [[clean(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [columns or (), *texts]:
            if row:
                _write("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(clean(title)), title_justify="left", show_header=columns is not None)
    for column in columns or ("", ""):
        table.add_column(column, overflow="fold", min_width=len(column))
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_facts(title: str, facts: dict[str, Any], as_json: bool) -> None:
    """Print *facts* as JSON, or as a table of names and values."""
    if as_json:
        print_json(facts)
    else:
        print_table(title, None, [(name.replace("_", " "), shown(value)) for name, value in facts.items()])


@contextlib.contextmanager
def status(what: str) -> Iterator[Callable[[str], None] | None]:
    """Show *what* is done on a terminal; yields what tells more of it, None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)) as shown:
        yield lambda text: shown.update(Text(text))


@contextlib.contextmanager
def watching() -> Iterator[Callable[[str, int, Origin | None], None]]:
    """Show on a terminal what an audit does, else tell it in a line every half minute."""
    started = last = time.monotonic()
    with status("Reading") as shown:

        def watch(what: str, done: int, where: Origin | None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= (EVERY if shown is None else _PAUSE):
                last = now
                count = f", {done:,} {'pairs' if where is None else 'pages'}" if done else ""
                place = f": {clean(where)}" if where else ""
                line = f"{what}{count}, {now - started:,.0f} seconds{place}"
                click.echo(line, err=True) if shown is None else shown(line)

        yield watch


class Failure(click.ClickException):
    """One line on the standard error stream, status 2."""

    exit_code = 2

    def __init__(self, error: Exception) -> None:
        super().__init__(clean(" ".join(str(error).split())))


@contextlib.contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say which *extra* brings what cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise Failure(RuntimeError(f"{error}: run `pip install 'scrapy-neardup[{extra}]'`.")) from error


#: What can be done about trouble that the system reports.
_REMEDIES = {
    errno.EACCES: "change its permissions, or name another path",
    errno.EADDRINUSE: "give another --port",
    errno.EADDRNOTAVAIL: "give another --host",
    errno.ENOENT: "see that its folder is there",
    errno.ENOSPC: "free space on the disk",
}


class Commands(click.Group):
    """The group of all commands, which turns trouble that is to be expected into a `Failure`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name in {"doctor", "skipped"} - self.commands.keys():
            ctx.fail(f"{cmd_name} looks at a Scrapy project: run `scrapy neardup {cmd_name}` in its folder.")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand."""
        import lmdb

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted: run it again, and an audit goes on.", err=True)
            ctx.exit(130)  # as shells say of a program that Ctrl-C has ended
        except NearDupError as error:
            raise Failure(error) from error
        except lmdb.Error as error:
            remedy = "look at the free space of its disk, then run `scrapy-neardup index check`."
            raise Failure(OSError(f"The index cannot be used ({error}): {remedy}")) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # click ends quietly when nobody reads on
                raise
            what = _REMEDIES.get(error.errno or 0)
            raise Failure(OSError(f"{error}: {what}.") if what else error) from error

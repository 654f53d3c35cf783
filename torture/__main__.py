"""The command `python -m torture`: try to make the package lose or damage something, and count."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .exercise import exercises
from .ledger import Ledger
from .page import write
from .runner import again, run_round
from .session import rounds
from .sums import load, save

if TYPE_CHECKING:
    from .exercise import Entry, Exercise

#: Minutes that the short form takes.
SHORT = 10.0


@click.command()
@click.option("--full", is_flag=True, help="Go on until all goals are reached: hours. Ctrl-C stops it.")
@click.option("--minutes", type=float, help="How long it may take (10; with --full as long as it takes).")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Only this one; may be repeated.")
@click.option("--seed", type=int, help="Do one round again, the one of this seed, and print what it did.")
@click.option("--first", type=int, default=1, help="The lowest seed of new rounds.")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    default="torture.jsonl",
    show_default=True,
    help="Where rounds are noted. A run goes on after those that are in it.",
)
@click.option(
    "--sums",
    type=click.Path(path_type=Path),
    default="docs/reliability.json",
    show_default=True,
    help="What all rounds came to, here and elsewhere. A run goes on after those, too.",
)
@click.option(
    "--write",
    "page",
    type=click.Path(path_type=Path),
    help="Put the figures into this file, and the rounds of the ledger into the sums.",
)
def main(
    full: bool,
    minutes: float | None,
    only: tuple[str, ...],
    seed: int | None,
    first: int,
    ledger: Path,
    sums: Path,
    page: Path | None,
) -> None:
    """Try to break each promise, and count how often that was tried and how often it broke.

    The short form takes 10 minutes. Exit code 1 says that a promise was broken.
    """
    found, out = exercises(), Console(width=None if sys.stdout.isatty() else 120)
    for name in only:
        if name not in found:
            raise click.BadParameter(f"{name!r} is none of {', '.join(found)}.", param_hint="--only")
    chosen = [each for each in found.values() if not only or each.name in only]
    if seed is not None:
        entries = [run_round(each, seed) for each in chosen]
    else:
        book = Ledger(ledger, load(sums), first)
        minutes = SHORT if minutes is None and not full else minutes
        entries = _run(chosen, book, out, full=full, seconds=None if minutes is None else minutes * 60)
        if page:
            write(page, found.values(), book)
            save(sums, book.sums)
    _print(entries, chosen, out)
    sys.exit(any(entry.violations for entry in entries))


def _run(
    chosen: list[Exercise], book: Ledger, out: Console, *, full: bool, seconds: float | None
) -> list[Entry]:
    """Do rounds with a line of progress for each exercise; returns them. Ctrl-C or SIGTERM ends it early."""
    done: list[Entry] = []
    started = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"))
    with Progress(*columns, TimeElapsedColumn(), console=out) as bar:
        tasks = {each.name: bar.add_task(each.name, counts="", total=None) for each in chosen}
        try:
            for entry in rounds(chosen, book, full=full, seconds=seconds):
                done.append(entry)
                for violation in entry.violations:
                    bar.console.print(f"{entry.exercise}: {violation}", highlight=False, markup=False)
                    bar.console.print(f"  {again(entry)}", highlight=False, markup=False)
                bar.update(tasks[entry.exercise], counts=_shown(book.of(entry.exercise).total()[1], ", "))
        except KeyboardInterrupt:
            out.print("Stopped; the next run goes on from here.")
        for task in tasks.values():
            bar.update(task, total=1, completed=1)
    out.print(f"{len(done)} rounds in {time.monotonic() - started:.0f} s")
    return done


def _shown(counts: Counter[str], between: str) -> str:
    return between.join(f"{number:,} {what}" for what, number in sorted(counts.items()))


def _print(entries: list[Entry], chosen: list[Exercise], out: Console) -> None:
    table = Table("exercise", "rounds", "done", "violations")
    for each in chosen:
        mine = [entry for entry in entries if entry.exercise == each.name]
        done: Counter[str] = Counter()
        for entry in mine:
            done.update(entry.counts)
        broken = sum(len(entry.violations) for entry in mine)
        shown = f"[red]{broken}[/]" if broken else "0"
        table.add_row(each.name, f"{len(mine)}", _shown(done, "\n"), shown)
    out.print(table)
    for line in sorted({f"{entry.exercise}: {line}" for entry in entries for line in entry.remarks}):
        out.print(line, highlight=False, markup=False)
    for entry in entries:
        for line in entry.violations:
            out.print(f"{entry.exercise}, seed {entry.seed}: {line}", highlight=False, markup=False)
        if entry.violations:
            out.print(f"  {again(entry)}", highlight=False, markup=False)


if __name__ == "__main__":
    main()

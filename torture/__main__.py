"""The command `python -m torture`: try to make the package lose or damage something, and count."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .exercise import exercises
from .ledger import Ledger
from .page import write
from .runner import again, do_round, run_round

if TYPE_CHECKING:
    from .exercise import Exercise
    from .ledger import Entry

#: Seconds that the short form takes.
SHORT = 600.0


@click.group(invoke_without_command=True)
@click.option("--full", is_flag=True, help="Go on until all goals are reached: hours. Ctrl-C stops it.")
@click.option("--minutes", type=float, help="How long it may take (10; with --full as long as it takes).")
@click.option("--only", multiple=True, metavar="EXERCISE", help="Only this one; may be repeated.")
@click.option("--seed", type=int, help="Do one round again, the one of this seed, and print what it did.")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    default="torture.jsonl",
    show_default=True,
    help="Where rounds are noted. With --full a run goes on after those that are in it.",
)
@click.option("--write", "page", type=click.Path(path_type=Path), help="Put the figures into this file.")
@click.pass_context
def main(
    context: click.Context,
    full: bool,
    minutes: float | None,
    only: tuple[str, ...],
    seed: int | None,
    ledger: Path,
    page: Path | None,
) -> None:
    """Try to break each promise, and count how often that was tried and how often it broke.

    The short form takes 10 minutes. Exit code 1 says that a promise was broken.
    """
    if context.invoked_subcommand:
        return
    found, out = exercises(), Console(width=None if sys.stdout.isatty() else 120)
    for name in only:
        if name not in found:
            raise click.BadParameter(f"{name!r} is none of {', '.join(found)}.", param_hint="--only")
    chosen = [each for each in found.values() if not only or each.name in only]
    if seed is not None:
        entries = [run_round(each, seed) for each in chosen]
        _print(entries, chosen, out)
        sys.exit(any(entry.violations for entry in entries))
    book = Ledger(ledger)
    before = len(book.entries) if not full else 0
    _run(chosen, book, out, full=full, seconds=minutes * 60 if minutes else None if full else SHORT)
    done = book.entries[before:]
    _print(done, chosen, out)
    if page:
        write(page, found.values(), book)
    sys.exit(any(entry.violations for entry in done))


@main.command("round", hidden=True)
@click.argument("name")
@click.argument("seed", type=int)
@click.argument("folder", type=click.Path(path_type=Path))
def round_(name: str, seed: int, folder: Path) -> None:
    """Do one round in this process."""
    do_round(exercises()[name], seed, folder)


def _run(chosen: list[Exercise], book: Ledger, out: Console, *, full: bool, seconds: float | None) -> None:
    """Do rounds of each exercise in turn, until the time is over or all goals are reached."""
    started, shares = time.monotonic(), sum(each.share for each in chosen)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"))
    bar = Progress(*columns, TimeElapsedColumn(), console=out)
    with bar:
        try:
            for each in chosen:
                budget = None if seconds is None else seconds * each.share / shares
                _run_one(each, book, bar, full=full, seconds=budget)
        except KeyboardInterrupt:
            out.print("Stopped; with --full the next run goes on from here.")
    out.print(f"{time.monotonic() - started:.0f} s")


def _run_one(each: Exercise, book: Ledger, bar: Progress, *, full: bool, seconds: float | None) -> None:
    """Do rounds until the *seconds* are over (one at least) or, in the full form, until the goals are met."""
    task, started = bar.add_task(each.name, counts="", total=None), time.monotonic()
    while not (full and _met(each, book)):
        left = None if seconds is None else seconds - (time.monotonic() - started)
        if left is not None and left < each.seconds and left != seconds:
            break
        entry = run_round(each, book.next_seed(each.name))
        book.append(entry)
        for violation in entry.violations:
            bar.console.print(f"[red]{each.name}[/]: {violation}\n  {again(entry)}", highlight=False)
        counts = ", ".join(f"{number:,} {what}" for what, number in book.counts(each.name).items())
        bar.update(task, counts=counts)
        if left is not None and time.monotonic() - started >= (seconds or 0):
            break
    bar.update(task, total=1, completed=1)


def _met(each: Exercise, book: Ledger) -> bool:
    done = book.counts(each.name)
    return all(done[what] >= number for what, number in each.goals.items())


def _print(entries: list[Entry], chosen: list[Exercise], out: Console) -> None:
    table = Table("exercise", "rounds", "done", "violations")
    for each in chosen:
        mine = [entry for entry in entries if entry.exercise == each.name]
        done: dict[str, int] = {}
        for entry in mine:
            for what, number in entry.counts.items():
                done[what] = done.get(what, 0) + number
        broken = sum(len(entry.violations) for entry in mine)
        table.add_row(
            each.name,
            f"{len(mine)}",
            "\n".join(f"{number:,} {what}" for what, number in done.items()),
            f"[red]{broken}[/]" if broken else "0",
        )
    out.print(table)
    for entry in entries:
        for line in [*entry.violations, *entry.remarks]:
            out.print(f"{entry.exercise}, seed {entry.seed}: {line}", highlight=False, markup=False)
        if entry.violations:
            out.print(f"  {again(entry)}", highlight=False)


main()

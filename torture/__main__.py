"""The command `python -m torture`: try to make the package lose or damage something, and count."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from .exercise import exercises
from .exercises.races import main as races
from .runner import again, run_round

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .exercise import Exercise, Round

#: Between which lines of the documentation the table stands.
BEGIN, END = "<!-- begin: make torture -->\n", "<!-- end: make torture -->\n"


@dataclass
class Sum:
    """What the rounds of one exercise came to."""

    rounds: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    #: The seed of each round that broke the promise, with what it said.
    violations: list[tuple[int, str]] = field(default_factory=list)
    remarks: set[str] = field(default_factory=set)

    def add(self, seed: int, outcome: Round, seconds: float) -> None:
        self.rounds += 1
        self.seconds += seconds
        self.counts.update(outcome.counts)
        self.violations += [(seed, said) for said in outcome.violations]
        self.remarks.update(outcome.remarks)


@click.command()
@click.option(
    "--minutes", default=10.0, show_default=True, help="How long it may take. Ctrl-C ends it earlier."
)
@click.option("--only", multiple=True, metavar="EXERCISE", help="Only this one; may be repeated.")
@click.option("--seed", type=int, help="Do the round of this seed alone, such as one that was printed.")
@click.option("--first", default=1, show_default=True, help="The seed of the first round of each exercise.")
@click.option("--write", "page", type=click.Path(path_type=Path), help="Put the table into this file.")
def main(minutes: float, only: tuple[str, ...], seed: int | None, first: int, page: Path | None) -> None:
    """Try to break each promise, and count how often that was tried and how often it broke.

    Each exercise has one round at least. Exit code 1 says that a promise was broken. `races --seed N --runs
    M` does M races by their numbers.
    """
    found, out = exercises(), Console(width=None if sys.stdout.isatty() else 120)
    for name in only:
        if name not in found:
            raise click.BadParameter(f"{name!r} is none of {', '.join(found)}.", param_hint="--only")
    chosen = [each for each in found.values() if not only or each.name in only]
    sums = {each.name: Sum() for each in chosen}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for each, number in plan(chosen, sums, minutes * 60, first, seed):
            outcome, seconds = run_round(each, number)
            sums[each.name].add(number, outcome, seconds)
            out.print(f"{each.name}, seed {number}: {seconds:.0f} s", highlight=False)
            for said in outcome.violations:
                out.print(f"  {said}\n  {again(each.name, number)}", highlight=False, markup=False)
    except KeyboardInterrupt:
        out.print("Stopped.")
    table = Table("exercise", "rounds", "done", "violations")
    for name, each_sum in sums.items():
        table.add_row(name, f"{each_sum.rounds}", _shown(each_sum, "\n"), f"{len(each_sum.violations)}")
        for line in sorted(each_sum.remarks):
            out.print(f"{name}: {line}", highlight=False, markup=False)
    out.print(table)
    if page:
        write(page, chosen, sums)
    sys.exit(any(each.violations for each in sums.values()))


def plan(
    chosen: Sequence[Exercise], sums: dict[str, Sum], seconds: float, first: int, seed: int | None
) -> Iterator[tuple[Exercise, int]]:
    """Yield which round is next, until the *seconds* are over: the exercises take turns by their shares.

    With a *seed*, each has that one round.
    """
    if seed is not None:
        yield from ((each, seed) for each in chosen)
        return
    started, waiting = time.monotonic(), [*chosen]
    while waiting:
        each = min(waiting, key=lambda each: sums[each.name].seconds / each.share)
        done, left = sums[each.name].rounds, seconds - (time.monotonic() - started)
        if done and left < each.seconds:
            waiting.remove(each)
        else:
            yield each, first + done


def write(path: Path, chosen: Sequence[Exercise], sums: dict[str, Sum]) -> None:
    """Replace what is between the marks in the file *path* by what the rounds came to."""
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    lines = [
        f"{date.today()}, {sum(each.seconds for each in sums.values()) / 3600:.1f} hours:",
        "",
        "| exercise | promised | how it is attacked | rounds | done | violations |",
        "|---|---|---|---|---|---|",
    ]
    for each in chosen:
        found = sums[each.name]
        row = (f"`{each.name}`", each.promise, each.how, f"{found.rounds}", _shown(found, "<br>"))
        lines.append(f"| {' | '.join(row)} | {len(found.violations)} |")
    broken = [(name, *each) for name, found in sums.items() for each in found.violations]
    lines += ["", *(f"- `{again(name, seed)}`: {said[:400]}" for name, seed, said in broken)]
    body = "\n".join(lines).rstrip()
    path.write_text(f"{before}{BEGIN}\n{body}\n\n{END}{after}", encoding="utf-8")


def _shown(found: Sum, between: str) -> str:
    return between.join(f"{number:,} {what}" for what, number in sorted(found.counts.items()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["races"]:
        races(sys.argv[2:])
    main()

"""docs/reliability.md: the table of what was promised, tried and seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .exercise import Exercise
    from .ledger import Ledger

#: Between which lines of the documentation the table stands.
BEGIN, END = "<!-- begin: make torture -->\n", "<!-- end: make torture -->\n"


def write(path: Path, chosen: Iterable[Exercise], book: Ledger) -> None:
    """Replace what is between the marks in the file *path* by what the ledger *book* says."""
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    body = "\n".join(_lines(list(chosen), book))
    path.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")


def _lines(chosen: list[Exercise], book: Ledger) -> Iterator[str]:
    dates, commits = {entry.date for entry in book.entries}, {entry.commit for entry in book.entries}
    yield (
        f"{len(book.entries):,} rounds, {min(dates, default='-')} to {max(dates, default='-')}, commits "
        f"{', '.join(sorted(commits))}; {'; '.join(sorted({entry.machine for entry in book.entries}))}."
    )
    yield ""
    yield "| exercise | promised | how it is attacked | done | goal | violations |"
    yield "|---|---|---|---|---|---|"
    for each in chosen:
        done = book.counts(each.name)
        goals = "<br>".join(f"{number:,} {what}" for what, number in each.goals.items())
        counts = "<br>".join(f"{number:,} {what}" for what, number in sorted(done.items()))
        broken = sum(len(entry.violations) for entry in book.of(each.name))
        yield f"| `{each.name}` | {each.promise} | {each.how} | {counts} | {goals} | {broken} |"
    remarks = {f"{entry.exercise}: {line}" for entry in book.entries for line in entry.remarks}
    yield ""
    yield from (f"- {line}" for line in sorted(remarks))

"""docs/reliability.md: the table of what was promised, tried and seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .runner import again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .exercise import Exercise
    from .ledger import Entry, Ledger

#: Between which lines of the documentation the table stands.
BEGIN, END = "<!-- begin: make torture -->\n", "<!-- end: make torture -->\n"


def write(path: Path, chosen: Iterable[Exercise], book: Ledger) -> None:
    """Replace what is between the marks in the file *path* by what the ledger *book* says."""
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    body = "\n".join(_lines(list(chosen), book))
    path.write_text(f"{before}{BEGIN}\n{body}\n\n{END}{after}", encoding="utf-8")


def _lines(chosen: list[Exercise], book: Ledger) -> Iterator[str]:
    yield "| exercise | promised | how it is attacked | done | goal | violations |"
    yield "|---|---|---|---|---|---|"
    for each in chosen:
        done = book.counts(each.name)
        goals = "<br>".join(f"{number:,} {what}" for what, number in each.goals.items())
        counts = "<br>".join(f"{number:,} {what}" for what, number in sorted(done.items()))
        broken = sum(len(entry.violations) for entry in book.of(each.name))
        yield f"| `{each.name}` | {each.promise} | {each.how} | {counts or '–'} | {goals} | {broken} |"
    yield ""
    yield "| exercise | rounds | hours | dates | first and last commit | machine |"
    yield "|---|---|---|---|---|---|"
    for each in chosen:
        if entries := book.of(each.name):
            yield f"| `{each.name}` | {_when(entries)} |"
    yield from _list("Broken", "", [entry for each in chosen for entry in book.of(each.name)])
    mended = [entry for each in chosen for entry in book.mended(each.name)]
    yield from _list("Broken and mended", " The same rounds break nothing since.", mended)
    remarks = {f"{entry.exercise}: {line}" for entry in book.entries for line in entry.remarks}
    if remarks:
        yield from ("", "Remarks:", "", *(f"- {line}" for line in sorted(remarks)))


def _when(entries: list[Entry]) -> str:
    dates, commits = sorted({entry.date for entry in entries}), [entry.commit for entry in entries]
    hours = sum(entry.seconds for entry in entries) / 3600
    machines = "<br>".join(sorted({entry.machine for entry in entries}))
    span = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    last = ", ".join(dict.fromkeys((commits[0], commits[-1])))
    return f"{len(entries):,} | {hours:.2f} | {span} | {last} | {machines}"


def _list(title: str, more: str, entries: list[Entry]) -> Iterator[str]:
    broken = [entry for entry in entries if entry.violations]
    if broken:
        yield from ("", f"{title}:{more}", "")
    for entry in broken:
        said = entry.violations[0] + (
            f" (and {len(entry.violations) - 1} more)" if entry.violations[1:] else ""
        )
        yield f"- {entry.date}, {entry.commit}: {said[:400]}: `{again(entry)}`"

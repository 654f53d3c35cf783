"""docs/reliability.md: the table of what was promised, tried and seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .runner import again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .exercise import Entry, Exercise
    from .ledger import Ledger
    from .sums import Sum

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
        _, done, _ = book.of(each.name).total()
        goals = "<br>".join(f"{number:,} {what}" for what, number in each.goals.items())
        counts = "<br>".join(f"{number:,} {what}" for what, number in sorted(done.items()))
        broken = sum(len(entry.violations) for entry in book.of(each.name).still_broken())
        yield f"| `{each.name}` | {each.promise} | {each.how} | {counts or '–'} | {goals} | {broken} |"
    yield ""
    yield "| exercise | rounds | hours | dates | first and last commit | machine |"
    yield "|---|---|---|---|---|---|"
    sums = {each.name: book.of(each.name) for each in chosen if book.of(each.name).first[0]}
    for name, found in sums.items():
        yield f"| `{name}` | {_when(found)} |"
    yield from _list("Broken", "", [entry for each in sums.values() for entry in each.still_broken()])
    mended = [entry for each in sums.values() for entry in each.mended]
    yield from _list("Broken and mended", " The same rounds break nothing since.", mended)
    remarks = [f"- {name}: {line}" for name, each in sums.items() for line in sorted(each.remarks)]
    if remarks:
        yield from ("", "Remarks:", "", *remarks)


def _when(done: Sum) -> str:
    number, _, seconds = done.total()
    span = " to ".join(dict.fromkeys(when[:10] for when, _ in (done.first, done.last)))
    commits = ", ".join(dict.fromkeys(commit for _, commit in (done.first, done.last)))
    machines = "<br>".join(sorted(done.machines))
    return f"{number:,} | {seconds / 3600:.2f} | {span} | {commits} | {machines}"


def _list(title: str, more: str, entries: list[Entry]) -> Iterator[str]:
    if entries:
        yield from ("", f"{title}:{more}", "")
    for entry in entries:
        said = entry.violations[0] + (
            f" (and {len(entry.violations) - 1} more)" if entry.violations[1:] else ""
        )
        yield f"- {entry.ended[:10]}, {entry.commit}: {said[:400]}: `{again(entry)}`"

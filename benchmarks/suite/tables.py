"""Findings as a table in the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from .measuring import REPEATS, SPREAD, Finding, quartiles, spread

HEADER = ("work", "stored", "goal", "ours", "peer", "times better", "")
STYLES = {"met": "green", "missed": "red", "unclear": "yellow", "": ""}


def figure(values: Sequence[float], unit: str) -> str:
    """Return the median with its spread; only the range if it is too wide to be quoted."""
    if not values:
        return ""
    middle, unit = quartiles(values)[1], short(unit)
    if len(set(values)) > 1 and spread(values) > SPREAD:
        return f"unstable: {number(min(values))}–{number(max(values))} {unit}"
    if len(values) < REPEATS or len(set(values)) == 1:
        return f"{number(middle)} {unit}"
    return f"{number(middle)} {unit} ±{spread(values) / 2:.0%}"


def number(value: float) -> str:
    """Return three significant digits."""
    if abs(value) >= 1e9:
        return f"{value / 1e9:.3g} billion"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g} M"
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def size(count: int) -> str:
    if count >= 10**9:
        return f"{count / 10**9:g} billion"
    return f"{count / 10**6:.3g} M" if count >= 10**6 else f"{count:,}" if count else ""


def short(unit: str) -> str:
    """Leave out of what it is a rate; the work says it."""
    return unit[unit.index("/") :] if unit.endswith("/s") else unit


def goal(each: Finding) -> str:
    if each.goal is None:
        return ""
    if each.goal.ratio:
        return f"≥ {each.goal.bound:g} ×"
    bound = f"{each.goal.bound:g}" if each.goal.bound < 10**4 else number(each.goal.bound)
    return f"{'≥' if each.more_is_better else '≤'} {bound} {short(each.unit)}"


def row(each: Finding) -> tuple[str, ...]:
    ours = figure(each.ours, each.unit)
    peer = f"{each.peer}: {figure(each.theirs, each.unit)}" if each.peer else ""
    return each.work, size(each.size), goal(each), ours, peer, figure(each.ratios, "×"), each.outcome


def console(title: str, findings: Sequence[Finding]) -> Table:
    table = Table(title=title, title_justify="left", expand=True)
    for name, ratio in zip(HEADER, (32, 8, 9, 17, 30, 12, 9), strict=True):
        table.add_column(name, ratio=ratio)
    for each in findings:
        table.add_row(*row(each), style=STYLES[each.outcome])
    return table


def markdown(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a section."""
    yield f"### {title}\n"
    yield f"| {' | '.join(HEADER[:-1])} | outcome |"
    yield "|---" * len(HEADER) + "|"
    notes: list[str] = []
    for each in findings:
        work, *rest = row(each)
        if each.note and each.note not in notes:
            notes.append(each.note)
        mark = f" ({notes.index(each.note) + 1})" if each.note else ""
        yield f"| {' | '.join([work + mark, *rest])} |"
    if notes:
        yield ""
    for place, note in enumerate(notes, 1):
        yield f"{place}. {note}"
    yield ""


def write(path: Path, target: str, lines: Sequence[str]) -> None:
    """Replace what is between the marks of a *target* of `make` in the file *path*."""
    begin, end = (f"<!-- {mark}: make {target} -->\n" for mark in ("begin", "end"))
    before, rest = path.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}", encoding="utf-8")

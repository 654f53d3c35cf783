"""The sums have each round once, wherever it was done and however often it is added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from torture.__main__ import main
from torture.exercise import Entry, exercises
from torture.ledger import Ledger
from torture.page import BEGIN, END, write
from torture.runner import ROOT
from torture.sums import Sum, load, save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

#: Rounds of this exercise are never run here.
NAME = "kills"


def done(seed: int, minute: int, *violations: str, commit: str = "abc", tries: int = 10) -> Entry:
    ended = f"2026-01-01T10:{minute:02}:00"
    return Entry(NAME, seed, {"tries": tries}, [*violations], [], 2.0, ended, commit, "2 cores")


def sum_of(entries: Iterable[Entry]) -> Sum:
    found = Sum()
    for each in entries:
        found.add(each)
    return found


def saved(path: Path, entries: Iterable[Entry]) -> Sum:
    save(path, {NAME: sum_of(entries)})
    return load(path)[NAME]


entries = st.builds(
    lambda seed, minute, broken: done(seed, minute, *["lost"] * broken, commit=f"c{minute}"),
    st.integers(1, 6),
    st.integers(0, 59),
    st.booleans(),
)


@given(st.lists(entries, unique_by=lambda each: each.ended), st.data())
def test_rounds_that_are_added_again_change_nothing(rounds: list[Entry], data: st.DataObject) -> None:
    rounds.sort(key=lambda each: each.ended)
    once = sum_of(rounds)
    part = data.draw(st.lists(st.sampled_from(rounds))) if rounds else []
    assert sum_of([*rounds, *rounds]) == once
    assert sum_of([*rounds, *sorted(part, key=lambda each: each.ended)]) == once


@given(st.lists(entries, unique_by=lambda each: each.ended))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[Entry]
) -> None:
    assert saved(tmp_path_factory.mktemp("sums") / "sums.json", rounds) == sum_of(rounds)


@given(st.lists(entries, unique_by=lambda each: each.ended))
def test_each_seed_counts_once_and_no_violation_is_forgotten(rounds: list[Entry]) -> None:
    rounds.sort(key=lambda each: each.ended)
    found, last = sum_of(rounds), {each.seed: each for each in rounds}
    sound = {each.seed: each for each in reversed(rounds) if not each.violations}
    number, counts, seconds = found.total()
    assert (number, seconds) == (len(last), 2.0 * len(last))
    assert counts["tries"] == sum(each.counts["tries"] for each in {**last, **sound}.values())
    assert by_time(found.still_broken()) == by_time(each for each in last.values() if each.violations)
    assert by_time(found.broken + found.mended) == [each for each in rounds if each.violations]
    assert found.next_seed() == max(last, default=0) + 1


def by_time(rounds: Iterable[Entry]) -> list[Entry]:
    return sorted(rounds, key=lambda each: each.ended)


def test_seeds_are_written_as_ranges(tmp_path: Path) -> None:
    path = tmp_path / "sums.json"
    saved(path, [done(seed, seed) for seed in (7, 1, 2, 3, 10, 11)])
    assert json.loads(path.read_text())[NAME]["seeds"] == "1-3, 7, 10-11"
    assert saved(path, [done(5, 1, "lost")]).next_seed() == 6


def test_a_round_done_again_elsewhere_mends_only_what_broke_before(tmp_path: Path) -> None:
    """Two machines have done the seed: what the newer code breaks is not mended by what the older one did."""
    older, newer = done(5, 1, commit="old"), done(5, 2, "lost", commit="new")
    for order in ((older, newer), (newer, older), (older, newer, older)):
        assert sum_of(order).broken == [newer]
    assert sum_of((newer, older, done(5, 3))).mended == [newer]


def run(folder: Path, ledger: str) -> str:
    """Do no rounds, but write the page and the sums of *folder*; returns both."""
    page, sums = folder / "page.md", folder / "sums.json"
    if not page.exists():
        page.write_text(f"{BEGIN}{END}")
    command = ["--full", "--minutes", "0", "--ledger", str(folder / ledger), "--sums", str(sums)]
    outcome = CliRunner().invoke(main, [*command, "--write", str(page)])
    assert outcome.exit_code == 0, outcome.output
    return page.read_text() + sums.read_text()


def test_a_run_writes_each_round_once(tmp_path: Path) -> None:
    """Also if it writes twice, if the ledger is lost, and if it was copied to a machine that has its own."""
    here, there = Ledger(tmp_path / "here"), Ledger(tmp_path / "there")
    for seed in (1, 2, 3):
        here.append(done(seed, seed))
    for each in (done(2, 2), done(4, 40, "lost"), done(4, 50)):
        there.append(each)
    first = run(tmp_path, "here")
    assert "| 30 tries |" in first
    assert f"| `{NAME}` | 3 | 0.00 | 2026-01-01 | abc | 2 cores |" in first
    assert run(tmp_path, "here") == first
    assert run(tmp_path, "lost") == first
    both = run(tmp_path, "there")
    assert "| 40 tries |" in both
    assert f"- 2026-01-01, abc: lost: `make torture ARGS='--only {NAME} --seed 4'`" in both
    assert [run(tmp_path, each) for each in ("here", "there", "lost")] == [both] * 3


def test_a_run_goes_on_after_the_sums(tmp_path: Path) -> None:
    path = tmp_path / "sums.json"
    saved(path, [done(7, 1), done(8, 2, "lost"), done(9, 3)])
    book = Ledger(tmp_path / "ledger", load(path))
    assert book.next_seed(NAME) == 10
    assert book.broken_seed(NAME, "def") == 8
    book.append(done(8, 9, commit="def"))
    assert Ledger(tmp_path / "ledger", load(path)).broken_seed(NAME, "ghi") is None


def test_the_page_says_what_the_sums_say(tmp_path: Path) -> None:
    page = ROOT / "docs/reliability.md"
    copy = tmp_path / "page.md"
    copy.write_bytes(page.read_bytes())
    write(copy, exercises().values(), Ledger(tmp_path / "none", load(page.with_suffix(".json"))))
    command = "make torture ARGS='--full --minutes 0'"
    assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), command

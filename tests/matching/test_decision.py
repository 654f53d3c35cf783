"""What a document is, and how it is filed, follows row by row from what its candidates are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.index.protocol import Found, Stored
from scrapy_neardup.matching.matcher import Candidates, Decision, Judgement, decide
from tests.examples import examples

RECORD = np.dtype([("time", "<u4"), ("figures", "u1", (2,)), ("words", "u1", (2,))])
HANDLE = Reservation("https://pending.example/", lambda _: None)


@dataclass(frozen=True)
class Row:
    """One candidate."""

    near: bool = False
    exact: bool = False
    fuller: bool = False
    template: bool = False
    text_only: bool = False
    own: bool = False
    pending: bool = False
    time: int = 5
    similarity: float = 1.0
    distance: int = 0
    #: Whether figures and words of the short lines are those of the new document.
    figures: bool = True
    words: bool = True


def candidates(rows: list[Row], *, complete: bool = True) -> Candidates:
    new = np.zeros((), RECORD)
    stored = np.zeros(len(rows), RECORD)
    for place, row in enumerate(rows):
        stored[place]["figures"][1], stored[place]["words"][1] = not row.figures, not row.words
        stored[place]["time"] = row.time

    def column(name: str, kind: type = bool) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        return np.array([getattr(row, name) for row in rows], kind)

    found = Found(
        np.arange(100, 100 + len(rows)),
        np.zeros((1, len(rows)), np.int64),
        Stored(stored, [f"u{place}" for place in range(len(rows))], [b""] * len(rows)),
        [HANDLE if row.pending else None for row in rows],
        crowded=not complete,
    )
    judgement = Judgement(
        *(column(name) for name in ("exact", "near", "fuller", "template", "text_only")),
        column("distance", np.uint8),
        column("similarity", np.float32),
        np.ones(len(rows), np.float32),
    )
    return Candidates(found, judgement, column("own"), new)


def best(rows: list[Row], among: list[int]) -> int | None:
    def rank(place: int) -> tuple[object, ...]:
        row = rows[place]
        return (not row.exact, row.pending, -row.similarity, row.distance, row.time, f"u{place}")

    return min(among, key=rank, default=None)


def expected(rows: list[Row], complete: bool, renewed: float, beside: set[int], naming: set[int]) -> Decision:
    """Read the rules of `decide` row by row."""

    def which(rule: Callable[[Row], bool]) -> list[int]:
        return [place for place, row in enumerate(rows) if rule(row)]

    beside = {place for place in beside if place < len(rows) and not rows[place].pending}
    repeats = which(lambda row: row.near and (complete or row.own or row.exact))
    near = [place for place in repeats if place not in beside]
    own = which(lambda row: row.own)
    template = which(lambda row: row.template)
    kinds = (
        ("revisit", [place for place in own if place in near or rows[place].fuller]),
        ("near", near),
        ("revisit", own),
        ("template", template),
        ("fuller", which(lambda row: row.fuller)),
    )
    kind, among = next(((kind, among) for kind, among in kinds if among), ("unique", []))
    row = best(rows, among)
    with_text = which(lambda row: row.text_only and not row.own)
    telling = [p for p in with_text if kind != "near" or (rows[p].figures and rows[p].words)]
    if len(telling) >= 2 and kind != "revisit":
        kind, row = "boilerplate", best(rows, with_text)
    if kind == "near":
        assert row is not None
        better = [place for place in near if not rows[place].pending and place in naming]
        if not better:
            return Decision("exact" if rows[row].exact else "near", row, replaces=[])
        replaces = [100 + place for place in sorted({*own, *better})]
        return Decision("preferred", best(rows, better), filed=True, replaces=replaces)
    same = [p for p in own if rows[p].exact and rows[p].time > renewed and p not in beside]
    return Decision(
        kind,  # type: ignore[arg-type]
        row,
        filed=not same,
        replaces=[100 + place for place in own],
        equal_only=not beside and (any(not rows[place].own for place in template) or len(with_text) > 0),
        keyed=1 <= len(with_text) <= 3 and not near,
        unchanged=kind == "revisit" and row is not None and rows[row].exact and rows[row].near,
    )


flag = st.booleans()
some_rows = st.builds(
    Row,
    near=flag,
    exact=flag,
    fuller=flag,
    template=flag,
    text_only=flag,
    own=st.sampled_from((False, False, True)),
    pending=st.sampled_from((False, False, True)),
    time=st.integers(4, 6),
    similarity=st.sampled_from((0.75, 1.0)),
    distance=st.integers(0, 2),
    figures=flag,
    words=flag,
).map(lambda row: row if row.near or not row.exact else Row(**{**row.__dict__, "near": True}))
NEAR, TEXT_ONLY, OWN = Row(near=True), Row(text_only=True), Row(near=True, exact=True, own=True)


@given(
    rows=st.lists(some_rows, max_size=5),
    complete=flag,
    renewed=st.sampled_from((-math.inf, 4.0, 5.0)),
    beside=st.sets(st.integers(0, 5), max_size=2),
    naming=st.sets(st.integers(0, 4)),
)
@example([TEXT_ONLY] * 4, True, -math.inf, set(), set())
@example([TEXT_ONLY] * 2 + [NEAR], True, -math.inf, set(), set())
@example([TEXT_ONLY, Row(text_only=True, words=False), NEAR], True, -math.inf, set(), set())
@example([TEXT_ONLY, Row(text_only=True, figures=False), NEAR], True, -math.inf, set(), set())
@example([NEAR, Row(near=True, exact=True)], False, -math.inf, set(), set())
@example([], True, -math.inf, set(), set())
@example([OWN], True, 5.0, set(), set())
@example([OWN], True, 4.0, {0}, set())
@example([NEAR, Row()], True, -math.inf, set(), {1})
@example([NEAR, NEAR], True, -math.inf, set(), {1})
@example([NEAR, Row(near=True, pending=True)], True, -math.inf, set(), {1})
@example([NEAR, NEAR], True, -math.inf, {0}, set())
@examples(200)
def test_as_read_row_by_row(
    rows: list[Row], complete: bool, renewed: float, beside: set[int], naming: set[int]
) -> None:
    found = decide(
        candidates(rows, complete=complete),
        renewed,
        beside=[(f"u{place}", b"") for place in beside],
        named_by=lambda url, _: int(url[1:]) in naming,
    )
    assert found._replace(replaces=[*found.replaces]) == expected(rows, complete, renewed, beside, naming)


def test_what_the_site_has_everywhere_is_boilerplate_unless_it_is_equal() -> None:
    equal = Row(near=True, exact=True, pending=True)
    for rows, kind, row in (([NEAR], "boilerplate", 0), ([equal], "exact", 0), ([NEAR, equal], "exact", 1)):
        found = decide(candidates(rows), is_boilerplate=lambda row, rows=rows: rows[row] is NEAR)
        assert (found.kind, found.row, found.filed) == (kind, row, kind == "boilerplate")

"""What a document is, and how it is filed, follows row by row from what its candidates are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.matching.decision import Decision, Preference, decide
from scrapy_neardup.matching.matcher import Candidates, Judgement
from scrapy_neardup.matching.sites import UNKNOWN
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

RECORD = np.dtype([("figures", "u1", (2,)), ("words", "u1", (2,)), ("shingles", "<u4"), ("site", "<u4")])
SITE = 7
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
    shingles: int = 100
    site: int = SITE


def candidates(
    rows: list[Row], *, complete: bool = True, shingles: int = 100, site: int = SITE
) -> Candidates:
    new = np.zeros((), RECORD)
    new["shingles"], new["site"] = shingles, site
    stored = np.zeros(len(rows), RECORD)
    for place, row in enumerate(rows):
        stored[place]["figures"][1], stored[place]["words"][1] = not row.figures, not row.words
        stored[place]["shingles"], stored[place]["site"] = row.shingles, row.site

    def column(name: str, kind: type = bool) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        return np.array([getattr(row, name) for row in rows], kind)

    return Candidates(
        np.arange(100, 100 + len(rows)),
        [f"u{place}" for place in range(len(rows))],
        [b""] * len(rows),
        column("own"),
        column("time", np.uint32),
        [HANDLE if row.pending else None for row in rows],
        Judgement(
            *(column(name) for name in ("exact", "near", "fuller", "template", "text_only")),
            column("distance", np.uint8),
            column("similarity", np.float32),
            np.ones(len(rows), np.float32),
        ),
        new,
        stored,
        np.zeros((1, len(rows)), np.int64),
        complete,
    )


def best(rows: list[Row], among: list[int]) -> int | None:
    def rank(place: int) -> tuple[object, ...]:
        row = rows[place]
        return (row.pending, not row.exact, -row.similarity, row.distance, row.time, f"u{place}")

    return min(among, key=rank, default=None)


def expected(
    rows: list[Row],
    complete: bool,
    renewed: float,
    beside: set[int],
    preference: Preference | None,
    long: int,
) -> Decision:
    """Read the rules of `decide` row by row."""

    def which(rule: Callable[[Row], bool]) -> list[int]:
        return [place for place, row in enumerate(rows) if rule(row)]

    beside = {place for place in beside if place < len(rows) and not rows[place].pending}
    repeats = which(lambda row: row.near and (complete or row.own or row.exact))
    near = [place for place in repeats if place not in beside]
    own = which(lambda row: row.own)
    template, fuller = which(lambda row: row.template), which(lambda row: row.fuller)
    kind, among = next(
        (
            (kind, among)
            for kind, among in (
                ("revisit", [place for place in near if place in own]),
                ("near", near),
                ("revisit", own),
                ("template", template),
                ("fuller", fuller),
            )
            if among
        ),
        ("unique", []),
    )
    row = best(rows, among)
    with_text = which(lambda row: row.text_only and not row.own)
    telling = [p for p in with_text if kind != "near" or (rows[p].figures and rows[p].words)]
    if len(telling) >= 2 and kind != "revisit":
        kind, row = "boilerplate", best(rows, with_text)
    if kind == "near":
        assert row is not None
        better, replaced = better_than(rows, near, preference, long)
        if not better:
            return Decision("exact" if rows[row].exact else "near", row, replaces=[])
        return Decision(
            "preferred",
            best(rows, better),
            filed=True,
            replaces=[100 + place for place in sorted({*own, *replaced})],
        )
    same = [p for p in own if rows[p].exact and rows[p].time > renewed and p not in beside]
    return Decision(
        kind,  # type: ignore[arg-type]
        row,
        filed=not same,
        replaces=[100 + place for place in own],
        of_template=not beside and (any(not rows[place].own for place in template) or len(with_text) > 0),
        keyed=1 <= len(with_text) <= 3 and not near,
        unchanged=kind == "revisit" and row is not None and rows[row].exact and rows[row].near,
    )


def better_than(
    rows: list[Row], near: list[int], preference: Preference | None, long: int
) -> tuple[list[int], list[int]]:
    """Return which rows the new document is better than, and those whose place it takes."""
    if preference is None:
        return [], []
    naming = [
        place
        for place in near
        if not rows[place].pending
        and preference.is_named_by is not None
        and preference.is_named_by(f"u{place}")
    ]
    if naming:
        return naming, naming
    if any(rows[p].pending or long < preference.length * max(1, rows[p].shingles) for p in near):
        return [], []
    return near, [place for place in near if rows[place].site == SITE != UNKNOWN]


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
    shingles=st.sampled_from((0, 1, 50, 100, 200)),
    site=st.sampled_from((UNKNOWN, SITE, SITE + 1)),
).map(lambda row: row if row.near or not row.exact else Row(**{**row.__dict__, "near": True}))
preferences = st.one_of(
    st.none(),
    st.builds(
        Preference,
        st.sampled_from((1.0, 1.1, 2.0, math.inf)),
        st.one_of(st.none(), st.sets(st.integers(0, 4)).map(lambda named: lambda url: int(url[1:]) in named)),
    ),
)
NEAR = Row(near=True)
SECOND = Preference(is_named_by=lambda url: url == "u1")


@given(
    rows=st.lists(some_rows, max_size=5),
    complete=flag,
    renewed=st.sampled_from((-math.inf, 4.0, 5.0)),
    beside=st.sets(st.integers(0, 5), max_size=2),
    preference=preferences,
    long=st.sampled_from((1, 100, 110, 200)),
)
@example([Row(text_only=True)] * 3, True, -math.inf, set(), None, 100)
@example([Row(text_only=True)] * 4, True, -math.inf, set(), None, 100)
@example([Row(text_only=True)] * 2 + [NEAR], True, -math.inf, set(), None, 100)
@example([Row(text_only=True), Row(text_only=True, words=False), NEAR], True, -math.inf, set(), None, 100)
@example([Row(text_only=True), Row(text_only=True, figures=False), NEAR], True, -math.inf, set(), None, 100)
@example([NEAR, Row(near=True, exact=True)], False, -math.inf, set(), None, 100)
@example([Row(near=True, exact=True, own=True)], True, 5.0, set(), None, 100)
@example([NEAR, Row(near=True, site=SITE + 1)], True, -math.inf, set(), Preference(1.1), 110)
@example([Row(near=True, shingles=0)], True, -math.inf, set(), Preference(2.0), 2)
@example([Row(near=True, shingles=0)], True, -math.inf, set(), Preference(2.0), 1)
@example([NEAR, Row()], True, -math.inf, set(), SECOND, 100)
@example([NEAR, NEAR], True, -math.inf, set(), SECOND, 100)
@example([NEAR, Row(near=True, pending=True)], True, -math.inf, set(), SECOND, 100)
@example([NEAR, Row(near=True, pending=True)], True, -math.inf, set(), Preference(1.0), 100)
@example([NEAR, NEAR], True, -math.inf, {0}, None, 100)
@example([Row(near=True, exact=True, own=True)], True, 4.0, {0}, None, 100)
@examples(200)
def test_as_read_row_by_row(
    rows: list[Row],
    complete: bool,
    renewed: float,
    beside: set[int],
    preference: Preference | None,
    long: int,
) -> None:
    found = decide(
        candidates(rows, complete=complete, shingles=long),
        renewed,
        beside=[(f"u{place}", b"") for place in beside],
        preference=preference,
    )
    assert found._replace(replaces=[*found.replaces]) == expected(
        rows, complete, renewed, beside, preference, long
    )


def test_a_page_of_an_unknown_site_takes_no_place() -> None:
    rows = [Row(near=True, site=UNKNOWN)]
    found = decide(candidates(rows, shingles=200, site=UNKNOWN), preference=Preference(1.5))
    assert (found.kind, found.row, found.filed, [*found.replaces]) == ("preferred", 0, True, [])


def test_an_unchanged_revisit_is_not_filed_anew_unless_somebody_asks() -> None:
    rows = [Row(near=True, exact=True, own=True)]
    assert not decide(candidates(rows)).filed
    assert decide(candidates(rows), renewed=5.0).filed


def test_without_candidates_it_is_unique() -> None:
    assert decide(candidates([])) == Decision("unique", filed=True, replaces=[])
    assert candidates([]).best(np.zeros(0, bool)) is None


def test_preferences_that_ask_for_nothing_prefer_nothing() -> None:
    assert decide(candidates([NEAR], shingles=10**9), preference=Preference()) == Decision("near", 0)

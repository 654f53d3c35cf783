"""Lists of a few values have runs of words in common by chance: only a copy of such a list is a copy."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.fingerprint.murmur import mix
from scrapy_neardup.fingerprint.schemes import ANCHOR, ANCHORS, Anchored
from scrapy_neardup.matching.variety import beyond_chance, by_chance, repeated, varied
from tests.audit.corpora import text

from .lists import without_repeats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@pytest.fixture(autouse=True)
def seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same seeds each time: one in ten takes a list of these for one that is not varied enough."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)


@pytest.mark.parametrize(("values", "most"), [(2, 5000), (3, 3000), (4, 1300)])
def test_lists_of_few_values_are_not_varied(values: int, most: int) -> None:
    """As long as two of them have so many runs in common that they would pass for copies."""
    dice = np.random.default_rng(values)
    for tokens in (40, 60, 200, 500, 1000, most):
        runs = values**5
        in_one = len(set(dice.integers(0, runs, tokens - 4).tolist()))
        in_both = (in_one / runs) / (2 - in_one / runs)
        if in_both > 0.5:
            assert not varied(tokens, in_one)


@pytest.mark.parametrize("values", [2, 3, 4, 5])
def test_lists_of_few_values_have_seldom_all_anchors_in_common(values: int) -> None:
    """Where so many of their runs of five are distinct that they may be repeated."""
    dice = np.random.default_rng(values)

    def runs(entries: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        return np.lib.stride_tricks.sliding_window_view(entries, length) @ (values ** np.arange(length))

    found = tried = 0
    for tokens in (100, 300, 500, 900, 2000):
        for _ in range(40):
            lists = dice.integers(0, values, (2, tokens))
            if all(repeated(tokens, len(np.unique(runs(entries, 5)))) for entries in lists):
                tried += 1
                hashes = [mix(runs(entries, ANCHOR[0]).astype(np.uint64)) for entries in lists]
                shared = sum(anchors(hashes[0], ANCHORS) == anchors(hashes[1], ANCHORS))
                found += bool(Anchored().has_same_runs(np.array([shared]))[0])
    assert found == 0
    assert tried or values == 2


def test_real_texts_are_varied() -> None:
    # The shortest that is judged, a page of forms, an article that was extracted twice.
    for tokens, shingles in ((40, 34), (300, 200), (2660, 1337)):
        assert varied(tokens, shingles)
    assert not varied(42, 2)
    assert varied(np.array([40, 42]), np.array([34, 2])).tolist() == [True, False]


COUNTS = st.tuples(st.sampled_from((100, 184, 185, 1000)), st.sampled_from((59, 60, 71, 80, 400, 900)))


@given(st.lists(st.tuples(COUNTS, COUNTS, st.floats(0, 1), st.booleans()), min_size=1, max_size=8))
@example([((184, 60), (184, 60), 1, False), ((184, 60), (184, 60), 0, True)])
@example([((184, 60), (184, 59), 0, True), ((185, 60), (184, 60), 0, True)])
@example([((100, 80), (100, 80), 0, False), ((100, 80), (184, 60), 1, False)])
@example([((100, 71), (100, 71), 0.7, False), ((100, 71), (100, 71), 0.8, False)])
def test_what_resembles_by_more_than_chance_is_told_pair_by_pair(
    pairs: list[tuple[tuple[int, int], tuple[int, int], float, bool]],
) -> None:
    """Both are varied, and alike enough; or all long runs agree, and in both a third of the runs, and 60, are
    distinct.
    """
    ones, others, jaccard, same = (np.array(column) for column in zip(*pairs, strict=True))
    one, other = ((counts[:, 0], counts[:, 1]) for counts in (ones, others))
    found = beyond_chance(one, other, jaccard, same)
    for row, (left, right, alike, runs) in enumerate(pairs):
        both = [(np.array(tokens), np.array(shingles)) for tokens, shingles in (left, right)]
        chance = float(by_chance(*both))
        lists = any(shingles / (tokens - 4) < 0.85 for tokens, shingles in (left, right))
        enough = not lists or alike >= chance + 0.15 + 20 / min(left[1], right[1])
        may_repeat = all(shingles >= max(60, (tokens - 4) / 3) for tokens, shingles in (left, right))
        assert found[row] == ((varied(*left) and varied(*right) and enough) or (runs and may_repeat))


@pytest.mark.parametrize(("values", "size", "other"), [(3, 260, 260), (4, 1100, 900), (5, 4000, 4000)])
def test_what_two_lists_have_in_common_by_chance(values: int, size: int, other: int) -> None:
    dice = np.random.default_rng(values)
    expected, seen = [], []
    for _ in range(20):
        lists = [{*dice.integers(0, values**5, tokens - 4).tolist()} for tokens in (size, other)]
        counts = [
            (np.array(tokens), np.array(len(runs))) for tokens, runs in zip((size, other), lists, strict=True)
        ]
        expected.append(float(by_chance(*counts)))
        seen.append(len(lists[0] & lists[1]) / len(lists[0] | lists[1]))
    assert np.mean(expected) == pytest.approx(np.mean(seen), abs=0.05)


#: So many values, and a length at which many of their runs are in any list of them.
LISTS = [(3, 250), (3, 270), (3, 290), (4, 1000), (4, 1100), (5, 4000), (6, 12_000)]


@pytest.mark.parametrize("site", ["https://a.example", "https://b.example"], ids=["one site", "two sites"])
@pytest.mark.parametrize(("values", "size"), LISTS)
def test_two_lists_of_a_few_values_are_no_copies(values: int, size: int, site: str) -> None:
    dice = random.Random(values * size)
    with Detector.open() as detector:
        for number in range(30 if size < 4000 else 3):
            words = text(number, values).split()
            for place in (f"https://a.example/{number}", f"{site}/of/{number}"):
                verdict = detector.add(" ".join(dice.choices(words, k=size)), place)
                assert verdict.kind == "unique", verdict.explanation


@pytest.mark.parametrize(
    ("values", "size", "share"), [(3, 140, 0.75), (3, 200, 0.85), (3, 250, 1), (4, 600, 0.75), (4, 900, 1)]
)
def test_a_list_that_holds_all_runs_of_its_values_repeats_no_other(
    values: int, size: int, share: float
) -> None:
    """Who knows the values that a list of another site has can publish all runs of them, or most."""
    dice = random.Random(values * size)
    for number in range(8):
        words = text(number, values).split()
        every = without_repeats(values, dice)
        with Detector.open() as detector:
            for place in range(4):
                begin = dice.randrange(len(every))
                held = (every[begin:] + every[:begin])[: int(share * len(every))]
                detector.add(" ".join(words[entry] for entry in held), f"https://evil-lists.com/{place}")
            verdict = detector.check(" ".join(dice.choices(words, k=size)), "https://good-lists.com/list")
            assert verdict.kind == "unique", verdict.explanation


@pytest.mark.parametrize("entries", ["胜平负", "アイウ", "กขค", ("胜利", "平局", "失败", "主场")])
@pytest.mark.parametrize("size", [120, 360, 720, 1500])
def test_lists_in_scripts_without_spaces_are_no_copies(entries: Sequence[str], size: int) -> None:
    dice = random.Random(size)
    ring = [entries[entry] for entry in without_repeats(len(entries), dice)]
    with Detector.open() as detector:
        for number in range(6):
            listed = "".join(dice.choices(entries, k=size))
            assert detector.add(listed, f"https://list-{number}.com/a").kind != "near"
        held = ring * (size // len(ring) + 1)
        assert detector.check("".join(held), "https://evil-lists.com/a").kind != "near"
        assert detector.check(listed, "https://copied-lists.com/a").kind in ("exact", "wall", "too_short")


@pytest.mark.parametrize(("values", "size"), LISTS)
def test_the_copy_of_such_a_list_is_found(values: int, size: int) -> None:
    dice = random.Random(values * size)
    entries = dice.choices(text(0, values).split(), k=size)
    with Detector.open() as detector:
        detector.add(" ".join(entries), "https://a.example/list")
        entries[size // 2] = "elsewhere"
        assert detector.check(" ".join(entries), "https://b.example/list").kind == "near"

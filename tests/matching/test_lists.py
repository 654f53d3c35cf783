"""Lists of a few values have runs of words in common by chance: only a copy of such a list is a copy."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import Detector
from tests.audit.corpora import text

if TYPE_CHECKING:
    from collections.abc import Sequence


def without_repeats(values: int, dice: random.Random) -> list[int]:
    """Return a list of so many *values* in which each run of five stands once, if it is read as a ring."""
    met: set[tuple[int, ...]] = set()
    ways = [(start, dice.sample(range(values), values)) for start in [(0,) * 4]]
    ring: list[int] = []
    while ways:  # Hierholzer's algorithm on the graph of runs of four
        run, left = ways[-1]
        following = next((each for each in left if (*run, each) not in met), None)
        if following is None:
            ring.append(ways.pop()[0][-1])
            continue
        met.add((*run, following))
        ways.append(((*run[1:], following), dice.sample(range(values), values)))
    return ring[:0:-1]


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

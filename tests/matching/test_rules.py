"""The rules: how alike texts must be, what allows less, what is a template, and what brings nothing new."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup import Detector, Fingerprinter
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.matching.records import header_for
from scrapy_neardup.matching.rules import (
    ADDED,
    KNOWN,
    KNOWN_OF_ONE_SITE,
    LEAST_CONTAINED,
    LENGTHS,
    SHORTER,
    SHORTER_TITLED,
    TITLED,
    TOKENS_A_VALUE,
    VALUES,
    Evidence,
    Findings,
    likenesses,
    verify,
)
from tests.audit.corpora import text

#: Two texts of 600 words that have everything in common; the new one is all in the stored one, and as long.
SAME: dict[str, Any] = {
    **dict.fromkeys(("jaccard", "containment", "known", "length"), 1.0),
    **dict.fromkeys(("substituted", "titled", "values", "added"), 0),
    **dict.fromkeys(("title", "retitled"), False),
    "tokens": 600,
    "numbers": 10,
    "varied": True,
}
SITES = {"one": (True, False), "two": (False, True), "": (False, False)}
SHARE = st.floats(0, 1, width=32)
PAIRS = st.fixed_dictionaries(
    {
        **dict.fromkeys(("jaccard", "containment", "known"), SHARE),
        **dict.fromkeys(("substituted", "titled", "values"), st.integers(0, 6)),
        **dict.fromkeys(("title", "retitled", "varied"), st.booleans()),
        "added": st.floats(0, 2 * ADDED, width=32),
        "length": st.floats(0.25, 4, width=32),
        "tokens": st.integers(40, 3000),
        "numbers": st.integers(6, 30),
        "sites": st.sampled_from([*SITES]),
    }
)


def evidence(*pairs: dict[str, Any]) -> Evidence:
    rows = []
    for pair in pairs:
        one_site, two_sites = SITES[pair.get("sites", "")]
        row = {**SAME, **pair, "one_site": one_site, "two_sites": two_sites}
        rows.append([row[name] for name in Evidence._fields])
    return Evidence(*(np.array(column) for column in zip(*rows, strict=True)))


def one(**pair: Any) -> str:
    found = verify(evidence(pair))
    assert {(each.dtype, each.shape) for each in found} == {(np.dtype(bool), (1,))}
    return " ".join(name for name, each in zip(Findings._fields, found, strict=True) if each[0]) or "other"


def decided_by(**pair: Any) -> str:
    told: dict[str, Any] = {}
    verify(evidence(pair), told)
    return str(told["decided_by"][0])


def below(value: float) -> float:
    return float(np.nextafter(value, -1))


@given(st.lists(PAIRS, min_size=1, max_size=20))
def test_many_are_judged_as_one_by_one_and_none_is_two_things(pairs: list[dict[str, Any]]) -> None:
    found = verify(evidence(*pairs))
    assert (np.sum(found[:3], axis=0) <= 1).all()
    assert not (found.text_only & ~found.template).any()
    for row, pair in enumerate(pairs):
        assert [each[0] for each in verify(evidence(pair))] == [each[row] for each in found]
        if max(pair["jaccard"], pair["containment"]) < LEAST_CONTAINED:
            assert not any(each[row] for each in found)


@given(PAIRS, SHARE, SHARE, SHARE, st.integers(0, 6), st.integers(0, 3000))
def test_more_evidence_never_makes_a_copy_less_of_one(
    pair: dict[str, Any], jaccard: float, containment: float, known: float, fewer: int, longer: int
) -> None:
    """That is: more in common, fewer numbers and values substituted, longer texts."""
    if pair["tokens"] < LENGTHS[0]:  # notes, of which every word is known
        longer = min(longer, LENGTHS[0] - 1)
    better = pair | {
        "jaccard": max(pair["jaccard"], jaccard),
        "containment": max(pair["containment"], containment),
        "known": max(pair["known"], known),
        "substituted": min(pair["substituted"], fewer),
        "values": min(pair["values"], fewer),
        "added": min(pair["added"], fewer),
        "tokens": max(pair["tokens"], longer),
    }
    assert one(**pair) != "near" or one(**better) == "near"


@given(PAIRS)
@example(SAME)
def test_what_has_decided_is_told_by_its_name(pair: dict[str, Any]) -> None:
    told: dict[str, Any] = {}
    verify(evidence(pair), told)
    decided = str(told["decided_by"][0])
    near = one(**pair) == "near"
    assert near == (decided in {rule.name for rule in likenesses(evidence(pair))})
    assert decided in ("similarity", "variety", "numbers") or f"{decided}_asked" in told
    assert not near or told[decided][0]


def test_on_one_site_title_short_lines_and_text_are_those_of_the_page() -> None:
    for other, kind in (
        ({"title": True, "retitled": True, "titled": 5}, "template text_only"),
        ({"retitled": True, "titled": 5, "jaccard": 0.95}, "template text_only"),
        ({"values": VALUES + 600 // TOKENS_A_VALUE + 1}, "template"),
    ):
        assert one(sites="one", **other) == kind  # type: ignore[arg-type]
        assert one(sites="two", **other) == "near"  # type: ignore[arg-type]
        assert one(**other) == "near"  # type: ignore[arg-type]
    # The name of the site may stand behind the title of the same text; what has no title may be another form.
    assert one(sites="one", retitled=True, titled=5) == "near"
    assert one(sites="one", retitled=True, titled=0, jaccard=0.9) == "near"
    assert one(sites="one", values=VALUES + 600 // TOKENS_A_VALUE) == "near"


def test_of_many_numbers_the_share_counts_if_no_site_is_known() -> None:
    for sites, numbers, kind in (("", 24, "template"), ("", 240, "near"), ("one", 240, "template")):
        assert one(sites=sites, numbers=numbers, substituted=20) == kind


def test_a_copy_brings_next_to_nothing_new_and_is_not_one_of_several() -> None:
    for sites in SITES:
        known = KNOWN_OF_ONE_SITE if sites == "one" else KNOWN
        assert one(known=known, length=1.2, sites=sites) == "near"
        assert one(known=below(known), length=1.2, sites=sites) == "fuller"
        # What is new in a text that is not longer stands in place of something else.
        assert one(known=below(known), length=1, sites=sites) == "other"
        assert one(length=SHORTER, sites=sites) == "near"
        assert one(length=below(SHORTER), sites=sites) == "other"
        assert one(varied=False, sites=sites) == "other"
        assert one(length=1.1, added=ADDED, sites=sites) == "near"
        assert one(length=1.1, added=ADDED + 1, sites=sites) == ("fuller" if sites == "one" else "near")
    assert one(length=SHORTER_TITLED, titled=TITLED, sites="two") == "near"
    assert one(length=below(SHORTER_TITLED), titled=TITLED, sites="two") == "other"


# Of whole texts


@pytest.mark.parametrize(("site", "of", "apart", "changed", "mostly"), [
    ("one", 200, 50, 4, True), ("one", 200, 28, 7, False), ("two", 200, 22, 9, True),
    ("two", 200, 14, 14, False), ("one", 2000, 300, 6, True), ("one", 2000, 160, 12, False),
    ("two", 2000, 22, 90, True), ("one", 1500, 1, 25, True), ("one", 1500, 1, 60, False),
    ("two", 1500, 1, 300, True),
])  # fmt: skip
def test_so_many_words_may_differ(site: str, of: int, apart: int, changed: int, mostly: bool) -> None:
    """As docs/limits.md says: the rules look at numbers, not at words."""
    found = 0
    for seed in range(20):
        words = text(seed, of).split()
        with Detector(LmdbIndex(None, header_for(Fingerprinter(seed=seed), ""))) as detector:
            assert detector.add(" ".join(words), url="https://one-site.com/1").kind == "unique"
            words[apart // 2 : apart * changed : apart] = text(seed + 20, changed).split()
            found += detector.check(" ".join(words), url=f"https://{site}-site.com/2").is_duplicate
    assert (found > 10) == mostly, found


# Lists of a few values have runs of words in common by chance: only a copy of such a list is a copy.


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
                assert detector.add(" ".join(dice.choices(words, k=size)), place).kind == "unique"


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
            listed = " ".join(dice.choices(words, k=size))
            assert detector.check(listed, "https://good-lists.com/list").kind == "unique"


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


def test_a_listing_of_other_products_is_another_beside_hundreds_of_figures_of_the_site() -> None:
    menu = "".join(f"{name} ({number})\n" for number, name in enumerate(text(1, 150).split()))
    pages = [
        MainText(text(2, 1000), "Hooks", menu + "\n".join(f"No {n} {n * 37}.{n % 90 + 10}" for n in shown))
        for shown in (range(300, 312), range(340, 352))
    ]
    for seed in range(6):
        with Detector(LmdbIndex(None, header_for(Fingerprinter(seed=seed), ""))) as detector:
            detector.add(pages[0], "https://one-site.com/1")
            assert detector.check(pages[1], "https://one-site.com/2").kind == "template"
            longer = pages[0]._replace(details=f"{pages[0].details}\n{text(3, 200)}")
            assert detector.check(longer, "https://one-site.com/3").kind == "unique"
            assert detector.check(longer, "https://two-sites.com/3").kind == "near"

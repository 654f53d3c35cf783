"""What items say: which say the same, what is learned to say nothing, when the text of the page decides."""

from __future__ import annotations

import pytest

from scrapy_neardup.matching.items import Difference, ItemNotes, RepeatedItems, pack
from scrapy_neardup.verdict import Repeated

TEXT = "The ferry keeps its winter timetable until the pier has been mended by the county. " * 6


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"title": "Ferry", "text": TEXT + "Update: the pier opens on Friday, " * 9}, "undecided"),
        ({"title": "Train", "text": TEXT}, "differs"),
    ],
    ids=["versions of a story", "two things with one text"],
)
def test_items_of_one_site_that_differ_in_text_alone_are_versions(other, found):
    notes = ItemNotes()
    stored = [notes.describe(item) for item in ({"title": "Ferry", "text": TEXT}, other)]
    pages = [
        Repeated(f"https://a.example/{n}", pack([item]), 1, one_site=False, exact=False, pending=False)
        for n, item in enumerate(stored)
    ]
    copy = notes.describe({"title": "Ferry, by our agency", "text": TEXT})
    assert RepeatedItems(notes, pages).find(copy, several=False) == found


SPECS = (
    "Width 40 units, height 60 units, depth 22 units, weight 3 units, volume 17 units, power 800 units, " * 9
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            [{"size": "S", "price": 10}, {"size": "M", "price": 12}],
            [{"size": "S", "price": 12}, {"size": "M", "price": 10}],
        ),
        (["Ann", "Bea", "Cora"], ["Bea", "Ann", "Cora"]),
        (SPECS, SPECS.replace("40", "x").replace("60", "40").replace("x", "60")),
        ([TEXT, TEXT], [TEXT.upper()[::-1], TEXT.upper()[::-1]]),
        ("S", "S | M"),
        ("Home \u00bb Men", "Home \u00bb Men \u00bb Shirts"),
        ("/etc/hosts", "/etc/passwd"),
        ("Red kettle", "Red kettle XL"),
    ],
)
def test_values_that_visibly_differ_do_not_say_the_same(one, other):
    notes = ItemNotes()
    assert notes.difference(notes.describe({"a": one}), notes.describe({"a": other}))


def test_the_name_of_the_site_behind_a_title_says_nothing():
    notes = ItemNotes()
    assert not notes.difference(
        *(notes.describe({"title": each}) for each in ("Red kettle", "Red kettle | Shop"))
    )


@pytest.mark.parametrize(
    ("values", "learned"),
    [
        (["7f3a91c2e0", "c04be7719d", "9a8b7c6d5e", "1f2e3d4c5b", "0a9b8c7d6e", "5e4f3a2b1c"], True),
        (["10", "12", "14", "15", "16", "18"], False),
        (["KT-100", "KT-101", "KT-102", "KT-103", "KT-104", "KT-105"], False),
        (["red kettle", "blue kettle", "green kettle", "pot", "pan", "lid"], False),
    ],
)
def test_only_identifiers_are_learned_to_say_nothing(values, learned):
    notes = ItemNotes()
    for page, (stored, new) in enumerate(zip(values[::2], values[1::2], strict=True)):
        notes.learn([Difference("a", new, stored)], f"https://a.example/{page}")
    assert notes.learned == ({"a"} if learned else set())

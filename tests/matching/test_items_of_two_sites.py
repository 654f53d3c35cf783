"""On two sites the text of the page decides, unless the pages that it repeats tell different things."""

from __future__ import annotations

import pytest

from scrapy_neardup.matching.items import ItemNotes, RepeatedItems, pack
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
    assert RepeatedItems(notes, pages).find(copy, several=False).kind == found

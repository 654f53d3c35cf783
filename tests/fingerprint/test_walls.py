"""Walls are told by a phrase when they are met again; what is met once is none, nor what is long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.fingerprinter import LONGEST_WALL, phrases_of_walls
from scrapy_neardup.fingerprint.normalise import normalise

sys.path.insert(0, str(Path(__file__).parents[1] / "walls"))

from pages import across_hosts, on_each_host, templates

FINGERPRINTER = Fingerprinter()

NOTES = {
    "harbour": """The ferry to the islands leaves at seven instead of eight from Monday on, the harbour office said. Passengers
with bicycles should be at the pier twenty minutes earlier. The timetable on the landing stage has been changed.""",
    "room 404": """The choir rehearses in room 404 of the town hall until the church is dry again. New singers are welcome, above all
tenors. Please return to the home of the choir in Mill Lane the scores that were lent out before Christmas.""",
    "cookies for tea": """Aunt May's cookies use butter, brown sugar and a pinch of salt. Our cookies use oats in place of half of
the flour. Bake them for twelve minutes, let them cool on the tray, and hide the tin from the children.""",
    "library": """The town library now lends tools as well: drills, saws and a sewing machine. Members can keep them for a week. To
join, one has to create an account at the desk, with a passport and two pounds for the card.""",
    "match": """United beat Rovers by three goals to one at Park Lane. Hill scored twice before half-time and once after it, and Dunn
saved a penalty. The crowd of 4,049 was the largest of the season. United stay third, two points behind.""",
    "museum": """The museum shows two hundred letters of the painter's sister, found in an attic last year. They are a broken link in
what is known of his youth. The exhibition is open until May, closed on Mondays; admission is free.""",
    "school zh": """本市三所小学将于九月启用新校舍，可容纳两千名学生。家长们周末参观了教室和操场。校长表示，新的图书馆每天开放到晚上七点，欢迎附近居民前来阅读。""",
}  # fmt: skip

#: They speak of pages, settings and where to click, but of nothing that keeps the reader from a page.
HELP = {
    "shelf": """How to move your shelf to another phone. Open the list of books on the old phone and tap the button with three
lines. Click Settings, then Save. The address of your shelf is now in a file on the phone. Please copy this file to the new
phone, open the menu there, click Load and choose it. Your books stand in the order that you know.""",
    "Teich": "So melden Sie einen Fund am Teich: Prüfen Sie zuerst in der Suche, ob ihn schon jemand eingetragen hat. Öffnen Sie dann "
    "die Karte, klicken Sie auf die Stelle und schreiben Sie Tag, Art und Zahl der Tiere auf. Bitte laden Sie ein Bild dazu hoch, "
    "auf dem man die Zeichnung des Rückens sieht. Für die Jahresliste brauchen Sie ein Konto, oder Sie sind als Gast angemeldet.",
}  # fmt: skip


@pytest.mark.parametrize("text", [*NOTES.values(), *HELP.values()], ids=[*NOTES, *HELP])
def test_ordinary_notes_and_texts_about_where_to_click_are_no_walls(text: str) -> None:
    signature = FINGERPRINTER.signature(text)
    assert 20 <= signature.tokens <= LONGEST_WALL
    assert not signature.wall


def test_a_text_of_some_length_is_none_whatever_it_speaks_of() -> None:
    article = " ".join([NOTES["harbour"], NOTES["match"], NOTES["museum"], "They use cookies and a captcha."])
    long = FINGERPRINTER.signature(f"{article} {NOTES['library']}")
    assert long.tokens > LONGEST_WALL
    assert not long.wall
    assert FINGERPRINTER.signature(article).wall


def test_a_page_that_speaks_of_walls_is_found_and_none_until_it_is_met_again() -> None:
    topic = f"{NOTES['library']} Whoever has to solve a captcha, or cannot log in, finds help at the desk."
    with Detector.open() as detector:
        kinds = [detector.add(topic, f"https://{site}.example/help").kind for site in "aab"]
    assert kinds == ["unique", "revisit", "wall"]


@pytest.mark.parametrize(("file", "most"), [("unseen", 70), ("varied", 110)])
@pytest.mark.parametrize("form", [across_hosts, on_each_host])
def test_walls_of_many_languages_are_hardly_ever_dropped(
    form: Callable[..., Any], file: str, most: int
) -> None:
    """The bounds are above what was dropped when the phrases were chosen."""
    with Detector.open() as detector:
        pages = form(templates(file), hosts=100, pages=1000)
        assert sum(detector.add(page.text, page.url).is_duplicate for page in pages) <= most


def test_no_phrase_is_a_part_of_another_one() -> None:
    every = phrases_of_walls()
    assert len({*every}) == len(every) <= 130
    assert all(one not in other for one in every for other in every if one != other)
    assert all(normalise(phrase) == phrase for phrase in every)


def test_links_around_a_short_article_make_no_wall() -> None:
    """What is left out of the fingerprint says nothing about the text either."""
    article = "\n".join([NOTES["harbour"], NOTES["match"], NOTES["museum"]]).replace("\n", " ")
    links = "Log in to comment\nPrivacy policy\nCookie settings\nAccept cookies\nCreate an account"
    bare, dressed = (FINGERPRINTER.signature(text) for text in (article, f"{links}\n{article}"))
    assert bare.tokens == dressed.tokens <= LONGEST_WALL
    assert not bare.wall
    assert not dressed.wall

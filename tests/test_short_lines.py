"""Title and short lines belong to the page: other ones make another page, the same ones a copy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.extraction.segment import Segment
from scrapy_neardup.fingerprint import MainText
from scrapy_neardup.matching.matcher import KEYED
from scrapy_neardup.matching.records import entries
from tests.audit.corpora import text
from tests.examples import examples
from tests.helpers.short_lines import KINDS, SCRIPTS, Maker

FORMS = {
    "titled": lambda page: MainText(page.description, page.title, "\n".join(page.lines)),
    "untitled": lambda page: MainText(page.description, "", "\n".join(page.lines)),
    "plain": lambda page: page.plain,
}


@pytest.fixture
def detector() -> Iterator[Detector]:
    with Detector.open() as detector:
        yield detector


@pytest.mark.parametrize(
    ("kind", "form", "languages"),
    # Every language in every form, and of every kind.
    [
        (kind, form, tuple(SCRIPTS)[(number + other) % 3 :: 3])
        for (number, kind), (other, form) in product(enumerate(KINDS), enumerate(FORMS))
    ],
)
def test_pages_that_differ_in_short_lines_only_are_never_dropped(
    detector: Detector, kind: str, form: str, languages: tuple[str, ...]
) -> None:
    for language in languages:
        dice = random.Random(f"{kind} {language}")
        for same_title in (False, True) if form == "titled" else (True,):
            maker = Maker(kind, language, dice)
            for number in range(examples(40).max_examples):
                page = FORMS[form](maker.page(same_title=same_title))
                url = f"https://{language}.example/{same_title}/{number}"
                verdict = detector.add(page, url=url)
                assert not verdict.is_duplicate, (language, same_title, page, verdict)
                if number < 5:
                    again = detector.check(page, url=f"{url}?utm_source=feed")
                    assert (again.kind, again.url) == ("exact", url)


@pytest.mark.parametrize("language", SCRIPTS)
def test_one_page_in_its_several_forms_is_found(detector: Detector, language: str) -> None:
    maker = Maker("product", language, random.Random(language))
    page = maker.page(same_title=False)
    lines = [*page.lines, "5 minutes ago", "12 comments"]
    stored = MainText(page.description, page.title, "\n".join(lines))
    assert detector.add(stored, url="https://shop.example/item").kind == "unique"
    later = [*page.lines, "9 minutes ago", "12 comments"]
    forms = {
        "?utm_medium=mail": MainText(page.description, page.title, "\n".join(later)),
        "?print=1": MainText(page.description, f"{page.title} {maker.word()}", "\n".join(page.lines)),
        "?mobile=1": MainText(page.description, page.title, "\n".join([*later, maker.name(), maker.name()])),
        "?text": MainText(page.description, "", ""),
    }
    for parameters, form in forms.items():
        verdict = detector.check(form, url=f"https://shop.example/item{parameters}")
        assert verdict.kind == "near", parameters


def test_a_name_among_many_lines_makes_another_page(detector: Detector) -> None:
    service, lines = text(4), [text(number)[:50] for number in range(10, 60)]
    for number, name in enumerate(("uttar pradesh", "andhra coast", "goa south", "new assam")):
        page = MainText(f"{service} Apply in {name} now.", "", "\n".join((f"Stores in {name}", *lines)))
        assert not detector.add(page, url=f"https://a.example/{number}").is_duplicate


def test_listings_of_one_title_whose_text_is_the_sites_pass(detector: Detector) -> None:
    # The menu of a site is taken for the main text of its listings, and says nothing of them.
    menu, line = text(5), "Terms of use (10 Mar 2031)"
    detector.add(MainText(menu, "home", "Welcome to the archive"), url="https://a.example/")
    for name in ("log in", "films", "music", "jobs"):
        detector.add(MainText(menu, name, line), url=f"https://a.example/{name}")
    first = detector.add(MainText(menu, "view posts", line), url="https://a.example/posts?by=1")
    other = MainText(menu, "view posts", line)
    # Be they like the first page of the text, like the second, like one filed by its digest alone.
    for title in ("log in", "films", "jobs", "view posts"):
        other = MainText(menu, title, line)
        assert detector.add(other, url=f"https://a.example/{title}?2").kind == "boilerplate", title
    assert first.kind == "boilerplate"
    # Nearly the same text, too; but not with short lines of its own, and not elsewhere.
    longer = MainText(f"{menu} ba1x be2x", "home", line)
    assert detector.check(longer, url="https://a.example/3").kind == "boilerplate"
    assert detector.check(other, url="https://b.example/3").is_duplicate


def test_a_text_that_pages_of_other_titles_have_is_the_sites(detector: Detector) -> None:
    pages = [MainText(text(1), f"title{n} about{n}", f"line {n}") for n in range(50)]
    found = [detector.add(page, url=f"https://a.example/{n}") for n, page in enumerate(pages)]
    assert [verdict.kind for verdict in found] == ["unique", "template", *["boilerplate"] * 48]
    assert not any(verdict.is_duplicate for verdict in found)
    # One of the pages under another URL is a copy of itself, and of nothing else.
    for number in (0, 1, 2, 49):
        again = detector.check(pages[number], url=f"https://a.example/copy/{number}")
        assert (again.kind, again.url) == ("exact", f"https://a.example/{number}")
        own = detector.check(pages[number], url=f"https://a.example/{number}")
        assert own.kind == "revisit"
    # However many there are, a lookup meets the first few.
    new = MainText(text(1), "another title")
    entry = entries([detector.signature(new)], ["https://a.example/new"], detector.index.header)
    assert len(detector.index.find(entry, detector.matcher.lookups).documents) == KEYED
    # Nothing is held against another site, nor against pages of that text without a title.
    assert detector.check(MainText(text(2), "title1 about1"), url="https://a.example/x").kind == "unique"
    assert detector.check(new, url="https://b.example/").kind == "near"


def test_a_page_that_repeats_another_is_a_copy_also_where_its_text_is_the_sites(detector: Detector) -> None:
    pages = [MainText(text(1), f"name{number}", f"Written by author{number}") for number in range(4)]
    for number, page in enumerate(pages):
        detector.add(page, url=f"https://a.example/{number}")
    for number, page in enumerate(pages):
        for copy in range(3):
            assert detector.add(page, url=f"https://a.example/{number}/{copy}").kind == "exact"


def test_other_titles_on_other_sites_are_no_other_pages(detector: Detector) -> None:
    detector.add(MainText(text(3), "Bridge closed"), url="https://a.example/")
    assert detector.check(MainText(text(3), "The long wait"), url="https://b.example/").kind == "near"
    assert detector.check(MainText(text(3), "The long wait"), url="https://a.example/2").kind == "template"
    assert detector.check(MainText(text(3), ""), url="https://a.example/2").kind == "near"


ANNOUNCEMENT = """\
The {0} Foundation is delighted to announce that {1} has been chosen as this year's recipient of the \
{0} Medal, which honours a lifetime of work for the protection of rivers and lakes, and of all that \
live in them.
{1}, who was born in {2} and teaches at the University of {3}, was selected from many candidates by \
a jury of scientists and writers. "We could think of nobody who deserves this honour more than {1}," \
said the chair of the jury, {4}.
The medal will be presented at the annual dinner in {5}, where {1} will give a lecture that is open \
to the public. Past recipients of the medal have led research stations, saved wetlands and written \
books that changed how we think of water.
"""


def announcement(dice: random.Random) -> str:
    maker = Maker("job", "en", dice)
    names = [maker.name() for _ in range(4)]
    return ANNOUNCEMENT.format("Lakeland", names[0], maker.word(), maker.word(), names[1], maker.word())


def test_texts_of_one_wording_for_other_people_are_never_dropped(detector: Detector) -> None:
    dice = random.Random(5)
    for number in range(40):
        page = announcement(dice)
        assert not detector.add(page, url=f"https://senator.example/{number}").is_duplicate
        assert detector.check(page, url=f"https://senator.example/{number}/print").kind == "exact"


NOTE = """\
The ferry between the island and the mainland will run again from Monday, the harbour office said. \
Repairs to the landing stage took longer than planned, because parts had to be made by hand. \
Passengers who bought tickets for the days without service can have them refunded at the counter, or \
use them until the end of summer."""


def test_a_note_that_is_cut_or_extended_is_a_copy(detector: Detector) -> None:
    more = "A spokesman thanked everyone who had waited for the boats so patiently."
    detector.add(f"{NOTE} {more}", url="https://a.example/1")
    for site in ("a", "b"):
        url = f"https://{site}.example/2"
        assert detector.check(NOTE, url=url).kind == "near"
        assert detector.check(f"{NOTE} {more}".replace("longer", "more time"), url=url).kind == "near"
    others = (
        f"{NOTE} {more}".replace("Monday", "Friday").replace("island", "cape").replace("summer", "August")
    )
    assert not detector.check(others, url="https://a.example/2").is_duplicate


def evening(date: str, hours: str, *more: str, words: int = 90) -> MainText:
    """A page about one evening of a play, with the same text as those about the others."""
    lines = (f"{date}, {hours}", *more, "The Old Mill", "Mill Street 7", "Two hours", "Tickets at the door")
    return MainText(text(11, words), "The Winter Play", "\n".join(lines))


@pytest.mark.parametrize("words", [90, 250, 700])
def test_evenings_of_one_play_are_pages_of_their_own(detector: Detector, words: int) -> None:
    dates = ["4 march 2031", "5 march 2031", "11 march 2031", "2 april 2031", "4 april 2032"]
    hours = ["19:00 - 21:20", "15:00 - 17:20"]
    for number, (date, hour) in enumerate(product(dates, hours)):
        page = evening(date, hour, words=words)
        verdict = detector.add(page, url=f"https://play.example/?date={number}")
        assert not verdict.is_duplicate, (date, hour, verdict)
        again = detector.check(page, url=f"https://play.example/?date={number}&from=list")
        assert (again.kind, again.url) == ("exact", f"https://play.example/?date={number}")
    first = evening(dates[0], hours[0], "Book now", "3 seats left", words=words)
    assert detector.check(first, url="https://play.example/print").kind == "near"


def test_variants_that_differ_in_a_word_of_text_and_lines_pass_though_a_sample_has_one(
    detector: Detector,
) -> None:
    first, *others = [
        MainText(f"{text(7, 30)} of cloth{n} {text(9, 30)}", "Uniform", f"{text(8, 22)}\nseason{n}")
        for n in "abcdefghijklmnopqrstu"
    ]
    detector.add(first, url="https://shop.example/uniform")
    found = [detector.check(other, url="https://shop.example/other") for other in others]
    assert sum(verdict.is_duplicate for verdict in found) <= 4


def test_a_title_that_grew_names_another_page_if_the_text_is_another_too(detector: Detector) -> None:
    frame = text(13, 130)
    offer = MainText(f"{frame} all shops may send a letter about seats", "Seats for children")
    detector.add(offer, url="https://town.example/1")
    course = MainText(
        f"{frame} who teaches parents how seats are put into a car",
        "Seats for children: a course on their right use",
    )
    assert detector.check(course, url="https://town.example/2").kind == "template"
    # The name of the site behind the title of the same text says nothing, nor does either on another site.
    named = offer._replace(title="Seats for children | The Town of Old Harbour")
    assert detector.check(named, url="https://town.example/3").kind == "near"
    assert detector.check(course, url="https://other.example/2").kind == "near"


def test_pages_of_one_article_with_other_comments_are_pages_of_their_own_within_its_site(
    detector: Detector,
) -> None:
    article = "".join(f"<p>{text(number, 80)}.</p>" for number in range(4))

    def page(*comments: int) -> MainText:
        said = "".join(f"<div class=comment><p>{text(number, 30)}.</p></div>" for number in comments)
        found = Segment()(f"<h1>News</h1>{article}<div class=comments>{said}</div>", None)
        assert found is not None
        return found

    detector.add(page(10, 11, 12), url="https://one.example/story")
    assert detector.check(page(20, 21, 22), url="https://one.example/story?page=2").kind == "template"
    for url, comments in {
        "https://one.example/comment/12": (10, 11, 12),
        "https://one.example/story?again": (10, 11, 12, 13),
        "https://one.example/amp/story": (),
        "https://two.example/": (20, 21, 22),
    }.items():
        assert detector.check(page(*comments), url=url).is_duplicate, url

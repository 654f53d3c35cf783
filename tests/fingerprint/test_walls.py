"""Walls are told by a few phrases of many languages; ordinary short texts are none, nor long ones about walls."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.walls import LONGEST, phrases

sys.path.insert(0, str(Path(__file__).parents[1] / "walls"))

from pages import on_each_host, templates

FINGERPRINTER = Fingerprinter()

NOTES = {
    "harbour": """The ferry to the islands leaves at seven instead of eight from Monday on, the harbour office said. Passengers
with bicycles should be at the pier twenty minutes earlier. The timetable on the landing stage has been changed.""",
    "robots at school": """Pupils of the grammar school have won the regional robot contest with a machine that sorts apples by
colour. The jury praised its simple arm. In May the team of six will travel to the final in Leeds.""",
    "room 404": """The choir rehearses in room 404 of the town hall until the church is dry again. New singers are welcome, above all
tenors. Please return to the home of the choir in Mill Lane the scores that were lent out before Christmas.""",
    "pupils online": """Pupils of the lower school get an account of their own from Monday on. Parents choose the password with them, and
may at any time ask the school to close it. The headmaster asks them to be patient until all the tablets are there.""",
    "signal box": """Because of work on a signal box no trains run between Ely and March until Friday. Please allow for half an hour more; a
bus waits at the station. The railway says sorry to its passengers. Tickets may be used on any other line.""",
    "concert de": """Das Konzert in der Stadthalle muss leider verschoben werden, die Sängerin ist erkrankt. Karten bleiben gültig. Wer
sie lieber zurückgeben möchte, findet die Kasse bis Samstag am alten Ort. Der neue Termin steht noch nicht fest.""",
    "elections es": """El ayuntamiento lamenta el retraso en el recuento de los votos del domingo y pide disculpas a los vecinos. Los resultados
se darán a conocer el martes por la mañana en la plaza, dijo la alcaldesa, que agradeció la paciencia de todos.""",
    "water ru": """В субботу в трёх домах по улице Садовой временно отключат воду: рабочие заменят трубы. Жителей просят набрать воду
заранее. Работы закончатся к вечеру, сообщили в городской службе.""",
    "museum ja": """市立美術館は改修工事のため来月から半年間休館する。収蔵品の一部は隣の県の美術館で公開される。館長は「新しい展示室を楽しみにしてほしい」と話している。""",
    "cookies for tea": """Aunt May's cookies use butter, brown sugar and a pinch of salt. Our cookies use oats in place of half of
the flour. Bake them for twelve minutes, let them cool on the tray, and hide the tin from the children.""",
    "court and privacy": """The court of appeal has ruled that a landlord may not film the stairs of the house. He had pointed to a
theft of bicycles. The privacy of tenants weighs more, the judges said, and ordered the cameras to be taken down.""",
    "theft": """Thieves broke into a jeweller's in the High Street on Sunday night. The security check of the shop had been passed a
week before. The owner put the damage at forty thousand pounds; the police are looking for a grey van.""",
    "library": """The town library now lends tools as well: drills, saws and a sewing machine. Members can keep them for a week. To
join, one has to create an account at the desk, with a passport and two pounds for the card.""",
    "x-ray": """The clinic has a new X-ray ideal for children, which needs a tenth of the dose. Doctor Amin showed it to parents on
Friday. Access denied was yesterday, he joked: small patients may now watch their own picture being made.""",
    "match": """United beat Rovers by three goals to one at Park Lane. Hill scored twice before half-time and once after it, and Dunn
saved a penalty. The crowd of 4,049 was the largest of the season. United stay third, two points behind.""",
    "portal": """Residents can now apply for a parking permit from home. They create an account on the council's pages, or log in to
the one they have, and send a picture of the papers of their car. The permit comes by post within a week.""",
    "numbers": """Tickets for the concert of 1404 Days are sold out, the box office said; call 404-555-0134 for those that are handed
back. The hall could not be found by many visitors last time, so there will be signs at the station.""",
    "museum": """The museum shows two hundred letters of the painter's sister, found in an attic last year. They are a broken link in
what is known of his youth. The exhibition is open until May, closed on Mondays; admission is free.""",
    "advice": """If your boiler makes a knocking noise, let the air out of the radiators first. Turn off the pump, open the valve a
quarter of a turn and wait for water. If it may have moved out of true, leave it to a plumber.""",
    "trade union": """The union and our partners in the port have agreed on a raise of four per cent, a speaker said. Members vote on it by
Friday. The employers had offered three. Without your consent there will be no contract, he told them.""",
    "politics ru": """Известный политик посетил в субботу областной центр и вышел на главную площадь к избирателям. Он пообещал построить
мост и новую школу. В понедельник политика ждут в соседнем районе, где закрывают завод.""",
    "robot ru": """Это не робот, а человек в костюме, объяснили зрителям устроители праздника. Дети всё равно просили его поднять машину.
Вечером в парке играл оркестр, а в десять часов был салют.""",
    "school zh": """本市三所小学将于九月启用新校舍，可容纳两千名学生。家长们周末参观了教室和操场。校长表示，新的图书馆每天开放到晚上七点，欢迎附近居民前来阅读。""",
    "council ar": """وافق المجلس البلدي يوم الثلاثاء على خطة لتجديد الميناء القديم خلال ثلاث سنوات. ورحب السكان بالقرار لكنهم طلبوا تخفيف الضجيج ليلا، وسيبقى سوق السمك مفتوحا طوال مدة العمل.""",
}  # fmt: skip

#: They speak of pages, settings and where to click, but of nothing that keeps the reader from a page.
HELP = {
    "shelf": """How to move your shelf to another phone. Open the list of books on the old phone and tap the button with three
lines. Click Settings, then Save. The address of your shelf is now in a file on the phone. Please copy this file to the new
phone, open the menu there, click Load and choose it. Your books stand in the order that you know.""",
    "boats": "The hall by the north pier shows forty boats of the lake, most of them built before the railway came. The oldest one "
    "carried salt and never had a name. Two carpenters of the yard have rigged her again, with ropes of hemp and one brown sail. "
    "Families find a table with tools where children may plane a board. Open from April to October, on Mondays by arrangement "
    "with the warden. This page was translated automatically: sorry for mistakes. Please contact us if you find an error.",
    "typo": "Have you found a slip in the names of the birds? Every list on these pages is typed by hand, so please check it against "
    "the book first. Click on the bird, then on the pencil, and write the name as it should be. Two of us look at each change. "
    "You can also tell us at the meeting on Monday. To change more than one name you need an account, or you log in with the "
    "number of your club card.",
    "Teich": "So melden Sie einen Fund am Teich: Prüfen Sie zuerst in der Suche, ob ihn schon jemand eingetragen hat. Öffnen Sie dann "
    "die Karte, klicken Sie auf die Stelle und schreiben Sie Tag, Art und Zahl der Tiere auf. Bitte laden Sie ein Bild dazu hoch, "
    "auf dem man die Zeichnung des Rückens sieht. Für die Jahresliste brauchen Sie ein Konto, oder Sie sind als Gast angemeldet.",
    "class": "Preparing search index... The search index is not available. Loom. Class Shuttle. Hierarchy: Tool, Shuttle. "
    "Constructors: new Shuttle(width: number, yarn: Yarn). Properties: side: Side, the side on which it lies. Methods: throw(): void "
    "passes the yarn through the shed. See the link to the page of the warp.",
}  # fmt: skip

ABOUT_COOKIES = """Fine for a cookie banner that could not be refused
A publisher has to pay sixty thousand euros because its pages use cookies before a reader has chosen anything. The
authority had looked at forty sites. On most of them it takes one click to accept all and five clicks to reject all,
and on some there was no way at all to manage preferences. The law asks for your consent before anything is stored,
and consent has to be as easy to refuse as to give. The publisher said that its privacy policy had named the
advertisers, some three hundred of them, as our partners. The judges did not think that this was enough: nobody reads
such a list. They also found that the cookie settings could only be changed by those who knew where to look, at the
foot of a page, in grey on grey. The ruling can still be appealed. Lawyers expect that other publishers will change
their banners in the coming weeks, since the sums grow with turnover. For readers little will change at first, for
the banners stay, only with one more button."""


@pytest.mark.parametrize("text", [*NOTES.values(), *HELP.values()], ids=[*NOTES, *HELP])
def test_ordinary_notes_and_texts_about_where_to_click_are_no_walls(text: str) -> None:
    signature = FINGERPRINTER.signature(text)
    assert 20 <= signature.tokens <= LONGEST
    assert not signature.wall


def test_an_article_about_walls_is_none() -> None:
    signature = FINGERPRINTER.signature(ABOUT_COOKIES)
    assert signature.tokens > LONGEST
    assert not signature.wall
    # Its length is all that tells it from a wall.
    assert FINGERPRINTER.signature(" ".join(ABOUT_COOKIES.split()[:130])).wall


COOKIE_PARAGRAPHS = (
    (
        "We use cookies so that this website works. Necessary cookies keep your basket and remember whether you are logged "
        "in; these cookies are set whatever you choose, and deleted when you close the browser."
    ),
    (
        "With your consent we also set cookies for statistics. These cookies tell us which pages are read and for how long. "
        "Our partners may combine what such cookies say with data that you gave them elsewhere."
    ),
)
BISCUITS = """For the cookies, beat butter and sugar until pale, add the eggs one by one, then flour and salt. Chill the dough
for an hour. Cookies spread less when the dough is cold. Scoop two spoons for each cookie and leave room between them.
Bake the cookies for nine minutes, until the rim is brown and the middle soft. Cookies go on baking on the hot tray, so
take them off after two minutes. They keep for a week in a tin, if nobody finds them."""


def test_a_text_of_any_length_that_asks_leave_to_set_cookies_is_a_wall() -> None:
    signature = FINGERPRINTER.signature("\n".join(COOKIE_PARAGRAPHS * 9))
    assert signature.tokens > 3 * LONGEST
    assert signature.wall


#: What stands over the recipes of many who are paid for links, and in their steps.
LINKS_PAID_FOR = """If you buy by one of these links, I am paid a share; please read our disclosure and privacy policy.
Check the oven again after five minutes. Have you made them? Click on the stars, or send a picture to our address."""


def test_recipes_and_articles_with_a_notice_are_none() -> None:
    notes = "\n".join(NOTES.values())
    recipe = f"{BISCUITS}\n" * 6
    for text in (recipe, f"{LINKS_PAID_FOR}\n{recipe}", f"{notes}\n{notes}\n{COOKIE_PARAGRAPHS[0]}"):
        signature = FINGERPRINTER.signature(text)
        assert signature.tokens > LONGEST
        assert not signature.wall


def test_most_walls_of_many_languages_are_told() -> None:
    """What is missed is met under many URLs. The bounds are what was missed when the phrases were chosen."""
    for file, most in (("tuned", 12), ("unseen", 20), ("varied", 27)):
        pages = list(on_each_host(templates(file), hosts=60, pages=60))
        missed = {page.template for page in pages if not FINGERPRINTER.signature(page.text).wall}
        assert len(missed) <= most


def test_no_phrase_is_a_part_of_another_one() -> None:
    every, ascii_ones = phrases()
    assert len({*every}) == len(every) <= 600
    assert {*ascii_ones} == {*filter(str.isascii, every)}
    assert all(one not in other for one in every for other in every if one != other)
    assert all(normalise(phrase) == phrase for phrase in every)


def test_links_around_a_short_article_make_no_wall() -> None:
    """What is left out of the fingerprint says nothing about the text either."""
    article = "\n".join([NOTES["harbour"], NOTES["match"], NOTES["museum"]]).replace("\n", " ")
    links = "Log in to comment\nPrivacy policy\nCookie settings\nAccept cookies\nCreate an account"
    bare, dressed = (FINGERPRINTER.signature(text) for text in (article, f"{links}\n{article}"))
    assert bare.tokens == dressed.tokens <= LONGEST
    assert not bare.wall
    assert not dressed.wall

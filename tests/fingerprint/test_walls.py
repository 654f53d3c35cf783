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

WALLS = {
    "captcha en": """Just a moment
Before you go on, please prove that you are human. We have noticed unusual traffic from your network.
Tick the box and solve the captcha below to return to the page you asked for. Reference ID 8a31-fe02.""",
    "denied en": """Access denied
You do not have permission to open this address on this server. Your request looks like automated requests from a
script. If you think that you have been blocked by mistake, write to the owner of the site and name the Ray ID.""",
    "script en": """Please enable JavaScript and cookies to continue
This application needs a supported browser. It seems that JavaScript is disabled in yours, so nothing can be shown
here. Change the settings of your browser and load the page again, or use another one.""",
    "cookies en": """We value your privacy
We and our partners use cookies and similar techniques to store information on your device, to measure how the site
is used and to show advertising. With your consent we may read your location. Accept all. Reject all. Details are in
the privacy policy.""",
    "log in en": """Welcome back
Please sign in to read this page. E-mail address. Password. Remember me. Forgot your password? Not a member yet?
Create an account within a minute, it is free and you will get our letter every Friday morning.""",
    "subscribe en": """You have read all of your free articles this month
Subscribe to continue reading. From one pound a week, cancel at any time. Already a subscriber? Log in to your
account and go on where you left off. Students and schools pay half.""",
    "404 plain en": """404
That page no longer exists. Try the search above, or go to the home page. If a link on our site has led you here,
please let us know about it.""",
    "cookies de": """Wir achten Ihre Privatsphäre
Wir und unsere Partner verwenden Cookies, um die Nutzung der Seite zu messen und Anzeigen auszuwählen. Sie können
alle akzeptieren oder Ihre Auswahl in den Einstellungen treffen. Mehr dazu steht im Datenschutz.""",
    "404 fr": """Page introuvable
Erreur 404. La page demandée n'existe plus ou a changé d'adresse. Vérifiez le lien ou faites un retour à l'accueil
pour poursuivre votre lecture.""",
    "captcha es": """Comprobación de seguridad
Marca la casilla «no soy un robot» y resuelve el captcha para continuar. Hemos detectado demasiadas visitas desde tu
dirección en los últimos minutos.""",
    "captcha ru": """Подтвердите, что вы не робот
С вашего адреса поступает слишком много запросов. Включите JavaScript в настройках браузера, отметьте поле и
введите символы с картинки.""",
    "404 zh": """404
抱歉，您访问的页面不存在，可能已被删除或改名。请检查网址，或返回首页继续浏览其他内容。""",
    "log in ja": """会員限定の記事です
続きを読むには、ログインしてください。クッキーを有効にしてから、メールアドレスと暗証番号を入力してください。""",
    "captcha ar": """تحقق من الاتصال
يرجى التأكد من أنك لست روبوت قبل المتابعة إلى الصفحة المطلوبة. نستخدم ملفات تعريف الارتباط لحفظ إجابتك، ثم اضغط زر تسجيل الدخول.""",
}  # fmt: skip

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

ABOUT_CAPTCHAS = """Why captchas are on the way out
For twenty years a captcha was the answer to automated requests: read a crooked word, click on all the bridges, and
you are let in. The tests were meant to show that you are human and not a robot. Programs now solve them faster than
people do, and people are tired of them. A study of four hundred visitors found that one in six gave up when a
security check came up before a purchase. Shops noticed unusual traffic less often than lost customers. Browser makers
are therefore trying something else, by which a device vouches for its user without telling who that is. Critics fear
that whoever has an old telephone or a rare system will read access denied more often. They also say that those who
have been blocked seldom learn why. The proposal leaves it to every site what to do with the answer. Until it is
agreed, most of us will go on counting traffic lights, and wonder whether the pole belongs to the light or not.
Nobody knows, not even those who drew the squares."""

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


@pytest.mark.parametrize("text", WALLS.values(), ids=WALLS.keys())
def test_walls_are_told(text: str) -> None:
    assert FINGERPRINTER.signature(text).wall


@pytest.mark.parametrize("text", [*NOTES.values(), *HELP.values()], ids=[*NOTES, *HELP])
def test_ordinary_notes_and_texts_about_where_to_click_are_no_walls(text: str) -> None:
    signature = FINGERPRINTER.signature(text)
    assert 20 <= signature.tokens <= LONGEST
    assert not signature.wall


@pytest.mark.parametrize("article", [ABOUT_CAPTCHAS, ABOUT_COOKIES])
def test_articles_about_walls_are_none(article: str) -> None:
    signature = FINGERPRINTER.signature(article)
    assert signature.tokens > LONGEST
    assert not signature.wall
    # Their length is all that tells them from a wall.
    assert FINGERPRINTER.signature(" ".join(article.split()[:130])).wall


COOKIE_PARAGRAPHS = (
    (
        "We use cookies so that this website works. Necessary cookies keep your basket and remember whether you are logged "
        "in; these cookies are set whatever you choose, and deleted when you close the browser."
    ),
    (
        "With your consent we also set cookies for statistics. These cookies tell us which pages are read and for how long. "
        "Our partners may combine what such cookies say with data that you gave them elsewhere."
    ),
    (
        "Marketing cookies follow visitors across websites. They are meant to show advertising that is of interest. You can "
        "refuse marketing cookies below, and change your choice at any time in the settings of cookies."
    ),
    (
        "Preference cookies let the website remember what changes how it looks, such as your language. Cookies of providers "
        "abroad may be read under laws that protect privacy less than ours do."
    ),
    (
        "Wir verwenden Cookies, um die Website zu verbessern. Notwendige Cookies werden immer gesetzt, für alle anderen "
        "Cookies brauchen wir Ihre Einwilligung, die Sie jederzeit widerrufen können."
    ),
    (
        "Мы используем файлы cookie, чтобы сайт работал. Остальные файлы cookie ставятся только с вашего согласия, которое "
        "можно отозвать в настройках cookie в любое время."
    ),
)
BISCUITS = """For the cookies, beat butter and sugar until pale, add the eggs one by one, then flour and salt. Chill the dough
for an hour. Cookies spread less when the dough is cold. Scoop two spoons for each cookie and leave room between them.
Bake the cookies for nine minutes, until the rim is brown and the middle soft. Cookies go on baking on the hot tray, so
take them off after two minutes. They keep for a week in a tin, if nobody finds them."""


def test_a_text_of_any_length_that_asks_leave_to_set_cookies_is_a_wall() -> None:
    signature = FINGERPRINTER.signature("\n".join(COOKIE_PARAGRAPHS * 3))
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

"""Walls are told by what they say, in many languages; ordinary short texts are not, nor long ones about walls."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.walls import LENGTHS, LONGEST, subjects
from scrapy_neardup.fingerprint.wallwords import SUBJECTS

sys.path.insert(0, str(Path(__file__).parents[1] / "walls"))

from pages import on_each_host, templates

FINGERPRINTER = Fingerprinter()

WALLS = {
    "captcha en": """Just a moment
Before you go on, please prove that you are human. We have noticed unusual traffic from your network.
Tick the box and solve the captcha below to return to the page you asked for. Reference ID 8a31-fe02.""",
    "robot check en": """There were many requests from your IP address today. Someone in your network may use a
program. Tick "I'm not a robot", and read on. Your IP address is 203.0.113.7.""",
    "robot check it": """Dal tuo indirizzo IP sono arrivate oggi molte richieste. Per leggere l'articolo spunta la
casella «Non sono un robot». Il tuo indirizzo IP: 203.0.113.7.""",
    "robot check pl": """Z Twojego adresu IP przyszło dziś bardzo wiele połączeń. Ktoś mógł użyć programu. Zaznacz
pole „Nie jestem robotem”, a od razu wrócisz do czytania. Twój adres IP: 203.0.113.7.""",
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
    "404 en": """Page not found
Sorry, the page you requested cannot be found on this server. It may have moved, or you may have mistyped the address.
Try searching for it, or return to the home page and follow the links from there.""",
    "404 plain en": """404
That page no longer exists. Try the search above, or go to the home page. If a link on our site has led you here,
please let us know about it.""",
    "cookies de": """Wir achten Ihre Privatsphäre
Wir und unsere Partner verwenden Cookies, um die Nutzung der Seite zu messen und Anzeigen auszuwählen. Sie können
alle akzeptieren oder Ihre Auswahl in den Einstellungen treffen. Mehr dazu steht im Datenschutz.""",
    "captcha de": """Sicherheitsprüfung
Bitte bestätigen Sie, dass Sie kein Roboter sind, und lösen Sie das Captcha. Danach geht es gleich weiter zu der Seite,
die Sie aufgerufen haben. Ohne Eingabe endet die Sitzung in zehn Minuten.""",
    "404 de": """Seite nicht gefunden
Fehler 404: Die gewünschte Seite gibt es nicht oder nicht mehr. Bitte prüfen Sie die Adresse oder gehen Sie zur
Startseite und suchen Sie dort weiter.""",
    "log in de": """Anmelden
Bitte melden Sie sich an, um diesen Beitrag zu lesen. E-Mail-Adresse, Kennwort, angemeldet bleiben. Haben Sie Ihr
Passwort vergessen? Dann schicken wir Ihnen einen Link, mit dem Sie ein neues wählen.""",
    "cookies fr": """Votre vie privée nous importe
Nous et nos partenaires utilisons des cookies pour mesurer l'audience et vous proposer des contenus adaptés. Vous
pouvez tout accepter, tout refuser ou régler vos choix un par un à tout moment.""",
    "404 fr": """Page introuvable
Erreur 404. La page demandée n'existe plus ou a changé d'adresse. Vérifiez le lien ou faites un retour à l'accueil
pour poursuivre votre lecture.""",
    "log in fr": """Connectez-vous
Cet article est réservé à nos lecteurs inscrits. Adresse électronique, mot de passe. Mot de passe oublié ? Un lien vous
sera envoyé pour en choisir un autre.""",
    "cookies es": """Tu privacidad nos importa
Utilizamos cookies propias y de terceros para medir el uso del sitio y mostrarte anuncios. Puedes aceptar todas o
configurarlas. Más información en la política de privacidad.""",
    "captcha es": """Comprobación de seguridad
Marca la casilla «no soy un robot» y resuelve el captcha para continuar. Hemos detectado demasiadas visitas desde tu
dirección en los últimos minutos.""",
    "404 es": """Página no encontrada
Error 404. El contenido que buscas ya no está aquí. Comprueba la dirección o vuelve a la portada para seguir leyendo.""",
    "cookies ru": """Мы заботимся о ваших данных
Сайт использует файлы cookie для сбора статистики. Мы и наши партнёры используем cookie, чтобы показывать рекламу.
Продолжая работу с сайтом, вы соглашаетесь с тем, что написано в политике конфиденциальности.""",
    "captcha ru": """Подтвердите, что вы не робот
С вашего адреса поступает слишком много запросов. Включите JavaScript в настройках браузера, отметьте поле и
введите символы с картинки.""",
    "404 ru": """Страница не найдена
Ошибка 404. Возможно, она была удалена или вы ошиблись в адресе. Вернитесь на главную страницу сайта и попробуйте
поиск.""",
    "captcha zh": """安全验证
您的访问过于频繁，请输入图片中的验证码后继续访问。请完成人机验证，并确认浏览器已启用JavaScript。""",
    "cookies zh": """隐私设置
本网站使用Cookie来改善您的浏览体验并分析流量。您可以接受所有Cookie，也可以在设置中更改。详情见隐私政策。""",
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
    "obituary": """The former mayor Anna Holt has died at the age of ninety-one. She led the town for twelve years and had the old
baths rebuilt. A service will be held on Thursday at eleven in St Mary's, the family asks for no flowers.""",
    "room 404": """The choir rehearses in room 404 of the town hall until the church is dry again. New singers are welcome, above all
tenors. Please return to the home of the choir in Mill Lane the scores that were lent out before Christmas.""",
    "recipe": """Boil the potatoes in their skins, peel them while hot and cut them into thin slices. Pour over the broth, add
vinegar, oil and chives, and let the salad stand for an hour. Serve it lukewarm, with bread.""",
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
    "closed road": """Bridge Street will be closed from nine on Sunday because of the marathon. Buses of lines 3 and 11 stop in Park Road.
Residents can reach their houses by way of the mill. The road opens again at four in the afternoon.""",
    "theft": """Thieves broke into a jeweller's in the High Street on Sunday night. The security check of the shop had been passed a
week before. The owner put the damage at forty thousand pounds; the police are looking for a grey van.""",
    "library": """The town library now lends tools as well: drills, saws and a sewing machine. Members can keep them for a week. To
join, one has to create an account at the desk, with a passport and two pounds for the card.""",
    "missing cat": """Missing since Tuesday: a black cat with one white paw, shy, answers to Minnie. She was last seen behind the station.
If she could be in your cellar or shed, please look, and call the vet in Mill Lane at any hour.""",
    "x-ray": """The clinic has a new X-ray ideal for children, which needs a tenth of the dose. Doctor Amin showed it to parents on
Friday. Access denied was yesterday, he joked: small patients may now watch their own picture being made.""",
    "match": """United beat Rovers by three goals to one at Park Lane. Hill scored twice before half-time and once after it, and Dunn
saved a penalty. The crowd of 4,049 was the largest of the season. United stay third, two points behind.""",
    "press": """Acme said on Monday that its plant in Leeds will make pumps for the new trains. The order is worth nine million pounds
and keeps two hundred people in work until next year. Deliveries begin in the spring.""",
    "portal": """Residents can now apply for a parking permit from home. They create an account on the council's pages, or log in to
the one they have, and send a picture of the papers of their car. The permit comes by post within a week.""",
    "numbers": """Tickets for the concert of 1404 Days are sold out, the box office said; call 404-555-0134 for those that are handed
back. The hall could not be found by many visitors last time, so there will be signs at the station.""",
    "denial": """Such a contract does not exist and never existed, the minister told parliament on Tuesday. The opposition had quoted
from a draft of eleven pages. It wants to know by Friday who wrote it and where it was kept.""",
    "museum": """The museum shows two hundred letters of the painter's sister, found in an attic last year. They are a broken link in
what is known of his youth. The exhibition is open until May, closed on Mondays; admission is free.""",
    "advice": """If your boiler makes a knocking noise, let the air out of the radiators first. Turn off the pump, open the valve a
quarter of a turn and wait for water. If it may have moved out of true, leave it to a plumber.""",
    "trade union": """The union and our partners in the port have agreed on a raise of four per cent, a speaker said. Members vote on it by
Friday. The employers had offered three. Without your consent there will be no contract, he told them.""",
    "software": """Version 4 of the editor opens large files faster and can compare two of them side by side. Macros written for version 3
run unchanged. A supported browser is no longer needed for the manual, which now comes as a book.""",
    "reception de": """Der Gemeinderat hat am Dienstag dem Neubau der Grundschule zugestimmt. Die Kosten liegen bei neun Millionen Euro,
gebaut wird ab Mai. Eltern lobten den Entwurf; Kritik gab es am Weg zur Startseite der Turnhalle.""",
    "datenschutz de": """Die Beauftragte für den Datenschutz hat ihren Bericht vorgelegt. Beschwerden über Kameras in Läden haben sich
verdoppelt. Sie fordert mehr Stellen für ihre Behörde und raschere Verfahren in Brüssel.""",
    "marché fr": """Le marché aux fleurs revient samedi sur la place de la mairie, après deux ans de travaux. Une trentaine de marchands
sont attendus. La circulation sera coupée de six heures à quatorze heures.""",
    "robot fr": """Une équipe de lycéens a construit un robot qui trie les déchets. Le jury a salué un projet simple et utile. Les élèves
partiront en mai à Lyon pour la finale, avec l'aide de la commune.""",
    "vino es": """La cosecha de este año será la menor de la década, según la cooperativa. La sequía de julio ha dejado las uvas pequeñas,
aunque de buena calidad. Los precios subirán en torno a un diez por ciento.""",
    "politics ru": """Известный политик посетил в субботу областной центр и вышел на главную площадь к избирателям. Он пообещал построить
мост и новую школу. В понедельник политика ждут в соседнем районе, где закрывают завод.""",
    "theatre ru": """Молодую актрису пригласили на главную роль в пьесе о жизни старого города. Премьера пройдёт в декабре. Политики в
спектакле нет, говорит режиссёр, зато есть любовь, море и рыбный рынок.""",
    "robot ru": """Это не робот, а человек в костюме, объяснили зрителям устроители праздника. Дети всё равно просили его поднять машину.
Вечером в парке играл оркестр, а в десять часов был салют.""",
    "port zh": """市政府周二宣布，旧港口的改造工程将于明年春季开工，预计需要三年时间。附近居民表示欢迎，但希望夜间施工能够减少噪音。鱼市场在施工期间照常营业。""",
    "school zh": """本市三所小学将于九月启用新校舍，可容纳两千名学生。家长们周末参观了教室和操场。校长表示，新的图书馆每天开放到晚上七点，欢迎附近居民前来阅读。""",
    "fish ja": """港の魚市場は来月から朝五時に開くことになった。観光客が増えたためで、組合は見学用の通路も新しく作るという。周辺の店からは歓迎の声が上がっている。""",
    "council ar": """وافق المجلس البلدي يوم الثلاثاء على خطة لتجديد الميناء القديم خلال ثلاث سنوات. ورحب السكان بالقرار لكنهم طلبوا تخفيف الضجيج ليلا، وسيبقى سوق السمك مفتوحا طوال مدة العمل.""",
}  # fmt: skip

#: They speak of pages, settings and where to click, but of nothing that keeps the reader from a page. Four do,
#: behind what they are about, and the last two have one word that may mean it.
HELP = {
    "shelf": """How to move your shelf to another phone. Open the list of books on the old phone and tap the button with three
lines. Click Settings, then Save. The address of your shelf is now in a file on the phone. Please copy this file to the new
phone, open the menu there, click Load and choose it. Your books stand in the order that you know.""",
    "strip": "Klicken Sie auf das Bild des Gartens und dann auf die Schaltfläche mit dem Baum. In den Einstellungen wählen Sie die "
    "Sorte. Bitte prüfen Sie die Nummer, die auf dem Schild steht, und klicken Sie auf Speichern. Der Baum steht nun auf Ihrer "
    "Seite, und wenn Sie den Link weitergeben, sehen ihn auch die Nachbarn.",
    "modem": "Begini cara mengganti nama jaringan di rumah. Buka halaman milik modem, pilih pengaturan, lalu tulis nama yang anda "
    "suka. Periksa alamat yang tertera di bawah kotak, karena nama itu tidak boleh sama. Klik simpan, dan semua ponsel di rumah "
    "akan mencari nama yang baru.",
    "station": "라디오에 방송국을 더하는 방법입니다. 설정 메뉴를 열고 더하기 버튼을 클릭하십시오. 방송국 링크를 적고 번호를 확인한 뒤 저장을 "
    "누르십시오. 방송국은 목록 페이지의 맨 위에 나타나며, 이름은 나중에 바꾸셔도 됩니다.",
    "tree": "如何在花园的地图上加一棵树：点击右上角的按钮，打开设置，选择树木。写上树的编号，检查位置是否正确，把照片的链接贴在下面，"
    "然后点击保存。您的树就会出现在地图的页面上，邻居们也能看到它开花的日子。",
    "boats": "The hall by the north pier shows forty boats of the lake, most of them built before the railway came. The oldest one "
    "carried salt and never had a name. Two carpenters of the yard have rigged her again, with ropes of hemp and one brown sail. "
    "Families find a table with tools where children may plane a board. Open from April to October, on Mondays by arrangement "
    "with the warden. This page was translated automatically: sorry for mistakes. Please contact us if you find an error.",
    "typo": "Have you found a slip in the names of the birds? Every list on these pages is typed by hand, so please check it against "
    "the book first. Click on the bird, then on the pencil, and write the name as it should be. Two of us look at each change. "
    "You can also tell us at the meeting on Monday. To change more than one name you need an account, or you log in with the "
    "number of your club card.",
    "brännugn": "Ugnen i lera rum bränner på torsdagar, och den som vill vara med ställer sitt gods på hyllan dagen innan. Skriv namn "
    "och glasyr på lappen. Kontrollera att foten är torr. Krukor som spricker får ligga kvar i en vecka. Priset står på listan vid "
    "dörren. Lämna gärna synpunkter på den här sidan. Du får inget svar, så skriv inget om dig själv eller andra "
    "personuppgifter. Kontakta oss om du behöver hjälp.",
    "Teich": "So melden Sie einen Fund am Teich: Prüfen Sie zuerst in der Suche, ob ihn schon jemand eingetragen hat. Öffnen Sie dann "
    "die Karte, klicken Sie auf die Stelle und schreiben Sie Tag, Art und Zahl der Tiere auf. Bitte laden Sie ein Bild dazu hoch, "
    "auf dem man die Zeichnung des Rückens sieht. Für die Jahresliste brauchen Sie ein Konto, oder Sie sind als Gast angemeldet.",
    "class": "Preparing search index... The search index is not available. Loom. Class Shuttle. Hierarchy: Tool, Shuttle. "
    "Constructors: new Shuttle(width: number, yarn: Yarn). Properties: side: Side, the side on which it lies. Methods: throw(): void "
    "passes the yarn through the shed. See the link to the page of the warp.",
    "słownik": "Do strony z narzędziami dla kajakarzy dodałem słownik rzek i jezior. Wystarczy kliknąć na przycisk obok opisu, a potem "
    "wpisać nazwę i szukać. Wyniki regat z ostatnich lat też tam są, razem z czasem każdej osady i z mapą toru, którą narysował "
    "nasz sternik po powrocie z jeziora.",
}
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


@pytest.mark.parametrize("name", WALLS)
def test_walls_are_told(name: str) -> None:
    signature = FINGERPRINTER.signature(WALLS[name])
    assert signature.tokens <= LONGEST
    assert signature.wall


@pytest.mark.parametrize("name", NOTES)
def test_ordinary_notes_are_no_walls(name: str) -> None:
    signature = FINGERPRINTER.signature(NOTES[name])
    assert 20 <= signature.tokens <= LONGEST
    assert not signature.wall


@pytest.mark.parametrize("name", HELP)
def test_texts_about_where_to_click_are_no_walls(name: str) -> None:
    signature = FINGERPRINTER.signature(HELP[name])
    assert 20 <= signature.tokens <= LENGTHS[0]
    assert not signature.wall


def test_signs_between_words_are_no_sentences() -> None:
    text = "Please click the link on this page, log in, and open the settings to verify your account. " * 2
    assert FINGERPRINTER.signature(text).wall
    assert FINGERPRINTER.signature(text + "-! " * 1000).wall


@pytest.mark.parametrize("article", [ABOUT_CAPTCHAS, ABOUT_COOKIES])
def test_articles_about_walls_are_none(article: str) -> None:
    signature = FINGERPRINTER.signature(article)
    assert signature.tokens > LENGTHS[1]
    assert not signature.wall
    # Their length is all that tells them from a wall.
    assert FINGERPRINTER.signature(" ".join(article.split()[:130])).wall


LONG_CONSENT = """We and our 164 partners store and read information on your device, such as cookies and the addresses of networks,
so that this website works, to measure how our pages are used, and to show advertising that fits your interests. With
your consent we may also use exact data on where you are. You can accept all of it, reject what is not necessary, or
open the settings and choose one by one what you agree to. You may change your mind at any time with the button at the
bottom of every page. Some of our partners do not ask for your consent and rely on a legitimate interest instead;
against that you can object in the same menu. Your choice holds for this browser only, and for twelve months. If you
would rather read without advertising, take out a subscription, or log in if you have an account already. What we do
with personal data is said in our privacy notice, and the terms of use say the rest. To continue, click one of the
buttons. Please contact us if you need help with any of this, or if a page does not load after you have made your
choice."""


def test_a_long_text_that_asks_for_consent_is_a_wall() -> None:
    signature = FINGERPRINTER.signature(LONG_CONSENT)
    assert LENGTHS[1] < signature.tokens <= LONGEST
    assert signature.wall
    # No text of two of them is: what is longer may be an article.
    assert not FINGERPRINTER.signature(f"{LONG_CONSENT}\n{NOTES['harbour']} {NOTES['match']}").wall


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
    text = "\n".join(COOKIE_PARAGRAPHS * 3)
    assert FINGERPRINTER.signature(text).tokens > 2 * LONGEST
    assert FINGERPRINTER.signature(text).wall


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


@pytest.mark.parametrize("file", ["tuned", "unseen"])
def test_nearly_all_walls_of_many_languages_are_told(file: str) -> None:
    """The wording of ``unseen`` was written after the rules, which were not changed for it: three of thirty slip through."""
    pages = list(on_each_host(templates(file), hosts=60, pages=60))
    missed = {page.template for page in pages if not FINGERPRINTER.signature(page.text).wall}
    assert len(missed) <= (0 if file == "tuned" else 3)


def test_subjects_are_read_in_every_script() -> None:
    for subject, lines in SUBJECTS.items():
        for part in lines.replace("\n", "|").split("|"):
            assert subject in subjects(normalise(f"x {part.strip().rstrip('$')}")), part


def test_a_long_run_of_letters_costs_no_more_than_words() -> None:
    started = perf_counter()
    subjects("a" * 1_000_000)
    subjects("字" * 1_000_000)
    assert perf_counter() - started < 3


def test_links_around_a_short_article_make_no_wall() -> None:
    """What is left out of the fingerprint says nothing about the text either."""
    article = "\n".join([NOTES["harbour"], NOTES["match"], NOTES["museum"]]).replace("\n", " ")
    links = "Log in to comment\nPrivacy policy\nCookie settings\nAccept cookies\nCreate an account"
    bare, dressed = (FINGERPRINTER.signature(text) for text in (article, f"{links}\n{article}"))
    assert bare.tokens == dressed.tokens <= LONGEST
    assert not bare.wall
    assert not dressed.wall


PARTS = sorted(
    {part.strip("$ ") for lines in SUBJECTS.values() for part in lines.replace("\n", "|").split("|")}
)


@given(
    st.lists(st.sampled_from([each for each in PARTS if each.isascii()]) | st.text(max_size=5), max_size=9)
)
def test_subjects_of_ascii_are_those_among_other_characters(parts: list[str]) -> None:
    text = " ".join(parts)
    assert subjects(text) == subjects(f"{text} \N{MIDDLE DOT}")


def test_pictures_in_letters_are_not_kept_in_memory() -> None:
    subjects(normalise("just a moment"))
    tracemalloc.start()
    try:
        for number in range(20):
            subjects(normalise(f"picture {number} of the day {number}{'abcdefgh' * 50_000}"))
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()

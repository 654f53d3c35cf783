"""Walls: pages in place of the page asked for, such as captchas, cookie notices, log-in forms and soft 404s.

Walls repeat by nature, so their pages must not count as copies. Two signs give them away: what they say,
which is looked at here, and that one short text is met under many URLs, see
`scrapy_neardup.matching.site_counter`.

A wall speaks of the web itself: this page, its address, your browser, an account, a setting, what to do now.
An article speaks of the world. So what counts is how many such subjects a text speaks of. What also counts is
whether it says why it stands there, before all else: a text about where to click speaks of the web, too, and
an article may have a line about its site, or about a log-in, at its end. A wall may stand around other text;
then a few phrases that only walls have give it away.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import regex

from .normalise import normalise
from .pieces import PIECE, cut
from .wallwords import SUBJECTS

#: Longer texts are walls only if they ask for consent. Unit: tokens.
LONGEST = 250
#: A text that asks for consent names cookies at least so often, and at least once in so many tokens.
COOKIES = 4
TOKENS_A_COOKIE = 33
#: And it speaks of at least so many subjects, one of them among these; a long text of as many as any other
#: long wall. A recipe may name cookies as often.
SUBJECTS_OF_CONSENT = 5
_CONSENT = frozenset(("consent", "privacy"))
#: Subjects that say why the page asked for is not shown. A wall has one of them in its first sentences. One
#: alone is not counted among its subjects: the words for it have other meanings, too. It is if the text has a
#: box to tick for who is no robot, which itself is no subject more.
_REASONS = frozenset(
    (
        "missing", "results", "home", "browser", "robot", "no robot", "blocked", "again", "maintenance",
        "apology", "age", "cookies", "consent", "privacy", "log-in", "password", "subscription", "continue",
    )
)  # fmt: skip
#: Two lengths, in tokens, and of how many subjects another wall of each length speaks at least. A shorter one
#: speaks of as many as one of the first length; between the two lengths the number grows evenly.
LENGTHS = (90, 150)
SUBJECTS_OF_A_WALL = (4, 6)
#: Walls of more tokens than that speak of so many. An article about walls speaks of nearly as many.
SUBJECTS_OF_A_LONG_ONE = 10
#: Those that begin in this part of its letters.
_FIRST_SENTENCES = 0.6
#: One phrase may be what a short note is about; so many different ones make a wall.
_PHRASES_OF_A_WALL = 2
# Parts of normalised text, in the languages with the most pages.
# fmt: off
_PHRASES = (
    # Bot checks and scripts
    "captcha", "not a robot", "you are human", "you're human", "unusual traffic", "checking your browser",
    "security check", "access denied", "been blocked", "automated requests", "ray id:", "reference id",
    "enable javascript", "javascript is disabled", "enable cookies", "supported browser",
    "turn off your ad", "kein roboter", "javascript aktivieren", "pas un robot", "activer javascript",
    "activez javascript", "no eres un robot", "no soy un robot", "habilita javascript", "не робот",
    "включите javascript", "验证码", "人机验证", "安全验证", "启用javascript", "開啟javascript",
    "ロボットではありません", "لست روبوت",
    # Cookies and consent
    "use cookies", "uses cookies", "accept all", "accept cookies", "cookie policy", "cookie settings",
    "your consent", "we and our partners", "privacy policy", "reject all", "manage preferences",
    "your privacy choices", "verwenden cookies", "alle akzeptieren", "datenschutz",
    "utilisons des cookies", "tout accepter", "utilizamos cookies", "aceptar todas",
    "política de privacidad", "файлы cookie", "используем cookie", "конфиденциальност", "使用cookie",
    "隐私政策", "接受所有", "クッキー", "ملفات تعريف الارتباط",
    # Log-in and subscription
    "log in to continue", "log in to your account", "sign in to continue", "sign in to your account",
    "please log in", "please sign in", "forgot your password", "create an account",
    "already a subscriber", "subscribe to continue", "to continue reading", "free articles",
    "already registered", "passwort vergessen", "bitte melden sie sich an", "mot de passe oublié",
    "connectez-vous", "inicia sesión", "войдите", "забыли пароль", "请登录", "忘记密码", "注册账号",
    "ログインして", "تسجيل الدخول",
    # Pages that are not there
    "error 404", "404 error", "404 not found", "fehler 404", "erreur 404", "ошибка 404",
    "page not found", "cannot be found", "could not be found", "no longer exists", "no longer available",
    "find that page", "find this page", "find the page", "may have been moved", "or never existed",
    "page does not exist", "page you requested", "page you are looking for", "page you were looking for",
    "mistyped the address", "may have moved", "has been moved or", "broken link", "return to the home",
    "go to the home", "try searching", "seite nicht gefunden", "zur startseite", "page introuvable",
    "retour à l'accueil", "página no encontrada", "страница не найдена", "на главную страницу",
    "вернуться на главную", "页面不存在", "找不到页面", "返回首页", "ページが見つかりません",
)
# fmt: on
_ASCII_PHRASES = tuple(filter(str.isascii, _PHRASES))
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}'’]+")
#: For `bytes.translate`: a space in the place of what `_WORD` does not take.
_ASCII_WORDS = bytes(ord(" ") if not _WORD.match(chr(code)) else code for code in range(128)) + bytes(128)
#: No beginning of words in the vocabulary has fewer characters.
_FIRST = 3
#: And none has more. What follows in a word, which may be a picture in letters, is not kept in memory.
_BEGINNING = 40
#: Words that have been met and are of no subject, nearly all words of most texts; and how many are kept.
_PLAIN: set[str] = set()
_MOST = 1 << 14
#: So many letters are looked at, several times as many as a wall has: signs may be without end.
_LETTERS = 1 << 14
_GAP = regex.compile(r"[^\p{L}\p{M}\p{N}]++")
#: What has such a character between two words has two sentences; also those of Arabic, Hindi, Urdu, Chinese.
_SENTENCE_END = regex.compile(r"[.!?\u061F\u0964\u06D4]\s|[\u3002\n]")
#: Scripts in which words run together, or have others before them.
_RUN_TOGETHER = regex.compile(r"[\p{L}--\p{Latin}--\p{Cyrillic}--\p{Greek}]", regex.VERSION1)


def is_wall(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens* reads like a wall."""
    if _asks_for_consent(text, tokens):
        return True
    if tokens > LONGEST:
        return False
    (least, most), (short, long) = SUBJECTS_OF_A_WALL, LENGTHS
    if tokens <= long and len(phrases(text)) >= _PHRASES_OF_A_WALL:
        return True
    asked = least + max(0, tokens - short) * (most - least) / (long - short)
    found = subjects(text)
    reasons = len(found & _REASONS)
    told = len(found - {"no robot"}) - (reasons == 1)
    enough = told >= (asked if tokens <= long else SUBJECTS_OF_A_LONG_ONE)
    return enough and _begins_with_a_reason(text)


def _begins_with_a_reason(text: str) -> bool:
    """Tell whether the first sentences of normalised *text* say why the page asked for is not shown."""
    text = text[:_LETTERS]
    gaps = _GAP.finditer(text, int(_FIRST_SENTENCES * len(text)))
    end = next((gap.start() for gap in gaps if _SENTENCE_END.search(gap[0])), None)
    return not _REASONS.isdisjoint(subjects(text[:end]))


def _asks_for_consent(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens*, however many, asks for leave to set cookies."""
    # To look for one character takes a sixth of the time, and few texts have those of other languages.
    named = sum(text.count(word) for letter, word in _vocabulary().cookies if letter in text)
    if named < max(COOKIES, tokens / TOKENS_A_COOKIE):
        return False
    found = subjects(text)
    asked = SUBJECTS_OF_CONSENT if tokens <= LONGEST else SUBJECTS_OF_A_LONG_ONE
    return len(found) >= asked and not _CONSENT.isdisjoint(found)


def phrases(text: str) -> list[str]:
    """Return the phrases of walls that normalised *text* has."""
    return [phrase for phrase in (_ASCII_PHRASES if text.isascii() else _PHRASES) if phrase in text]


def subjects(text: str) -> set[str]:
    """Return the keys of `SUBJECTS` that normalised *text* has words of."""
    vocabulary = _vocabulary()
    words = _words(text).difference(_PLAIN)
    found: set[str] = set()
    for word in words:
        begun = _begun(word[:_BEGINNING])
        found |= begun
        if word in vocabulary.alone:
            found.add(vocabulary.alone[word])
        elif (
            not begun and word not in vocabulary.anywhere and len(_PLAIN) < _MOST and len(word) <= _BEGINNING
        ):
            _PLAIN.add(word)
    # Only parts that begin with a word or character of the text are searched for.
    if not text.isascii():
        for piece in cut(text):
            words.update(piece)
    for beginning in words & vocabulary.anywhere.keys():
        found.update(subject for part, subject in vocabulary.anywhere[beginning] if part in text)
    return found


@lru_cache(maxsize=1 << 14)
def _begun(word: str) -> frozenset[str]:
    """Return the subjects that a *word*, of which the beginning is given, is a word of by that."""
    starts = _vocabulary().starts.get(word[:_FIRST], ())
    return frozenset(subject for start, subject in starts if word.startswith(start))


def _words(text: str) -> set[str]:
    if text.isascii():  # many times faster than the pattern, for the same words
        return {*text.encode().translate(_ASCII_WORDS).decode().split()}
    return {*_WORD.findall(text, concurrent=len(text) > PIECE)}


class _Vocabulary(NamedTuple):
    """The parts of texts that stand for subjects."""

    #: The subject of each whole word.
    alone: dict[str, str]
    #: Beginnings of words with their subjects, by their first `_FIRST` characters.
    starts: dict[str, list[tuple[str, str]]]
    #: Parts that may stand anywhere, with their subjects, by first word, or first character if words run
    #: together.
    anywhere: dict[str, list[tuple[str, str]]]
    #: The words for cookies, each behind the letter of it that fewest texts have.
    cookies: tuple[tuple[str, str], ...]


@cache
def _vocabulary() -> _Vocabulary:
    alone: dict[str, str] = {}
    starts: dict[str, list[tuple[str, str]]] = {}
    anywhere: dict[str, list[tuple[str, str]]] = {}
    for subject, lines in SUBJECTS.items():
        for part in filter(None, map(normalise, lines.replace("\n", "|").split("|"))):
            first = _WORD.match(part)
            if part.endswith("$"):
                alone[part[:-1]] = subject
            elif first is None or _RUN_TOGETHER.search(part):
                anywhere.setdefault(part[:1], []).append((part, subject))
            elif first[0] != part:
                anywhere.setdefault(first[0], []).append((part, subject))
            else:
                assert _FIRST <= len(part) <= _BEGINNING
                starts.setdefault(part[:_FIRST], []).append((part, subject))
    parts = [normalise(part).strip("$") for part in SUBJECTS["cookies"].replace("\n", "|").split("|")]
    # A word that another one begins with counts that one, too.
    cookies = [part for part in parts if not any(part != other and part.startswith(other) for other in parts)]
    return _Vocabulary(alone, starts, anywhere, tuple((max(part), part) for part in cookies))

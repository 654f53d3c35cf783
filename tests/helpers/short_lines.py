"""Pages of one template: with one description, such as products and jobs, or reports of the weather."""

from __future__ import annotations

import random
from typing import NamedTuple

#: What words are made of: parts, or characters in scripts without spaces.
SCRIPTS = {
    "en": "bar den fel gor hil ker lom mas nor pel ric sto tan vel wes",
    "de": "bau dorf feld gart haus kirch lauf müh nord reich stein tal über wald zeit",
    "fr": "beau cha dour fleur gran jour lac mont neuf pré roux sain tour vil éta",
    "es": "alma cor del flor gue llan mar niñ oro pue rio sol tier val zar",
    "pl": "brze czar dąb gró jas kow łąk mił now pol ryb sta świ wod żół",
    "ru": "бел вод гор дом зим кра лес мор нов пол реч сол тих час ясн",
    "zh": "安北城大东福高海江金开林明南平青山石天文西新阳中",
    "ja": "あいうえかきくこさしすたちつてとなにのはひふまみもやらりるれわ",
    "ar": "باب دار زهر شمس طير عين قمر نهر وادي بحر جبل رمل ليل نور سهل",
}
KINDS = ("product", "job", "event", "timetable", "recipe")


class Page(NamedTuple):
    description: str
    title: str
    lines: list[str]

    @property
    def plain(self) -> str:
        """The text that an extractor without a sense of titles and short lines makes of it."""
        return "\n".join([self.description, *self.lines])


class Maker:
    """Makes the pages of one kind in one language; *dice* choose."""

    def __init__(self, kind: str, language: str, dice: random.Random) -> None:
        self._kind, self._dice = kind, dice
        self._space = " " if " " in SCRIPTS[language] else ""
        self._parts = SCRIPTS[language].split() if self._space else SCRIPTS[language]
        self._labels = [self.word() for _ in range(8)]
        self._description = "\n".join(self._paragraph() for _ in range(4))
        self._title = self.name()

    def word(self) -> str:
        """Return a word; of two parts or three, in Chinese or Japanese of so many characters."""
        return "".join(self._dice.choice(self._parts) for _ in range(self._dice.randint(2, 3))).capitalize()

    def name(self) -> str:
        """Return what something is called: two words."""
        return f"{self.word()} {self.word()}"

    def page(self, *, same_title: bool) -> Page:
        """Make another page."""
        return Page(self._description, self._title if same_title else self.name(), self._lines())

    def _paragraph(self) -> str:
        return self._space.join(self.word() for _ in range(40)) + "."

    def _lines(self) -> list[str]:
        number, word = self._dice.randint, self.word
        a, b, c, *_ = self._labels
        time = f"{number(6, 22)}:{number(0, 59):02}"
        date = f"20{number(20, 40)}-{number(1, 12):02}-{number(1, 28):02}"
        code = f"{self._dice.choice('KLMNP')}{number(10000, 99999)}"
        return {
            "product": [
                self.name(),
                f"{a} {number(5, 999)}.{number(0, 99):02} €",
                f"{b}: {code}",
                f"{c}: {number(100, 2000)} g",
            ],
            "job": [
                f"{a}: {word()}",
                f"{b}: {number(10**5, 10**6)}",
                f"{c}: {number(30, 90)}.{number(100, 999)} €",
            ],
            "event": [f"{a}: {date}", f"{b}: {time}", f"{c}: {word()}"],
            "timetable": [f"{stop} {number(5, 23):02}:{number(0, 59):02} {time}" for stop in self._labels],
            "recipe": [*(f"{number(10, 900)} g {word()}" for _ in range(3)), f"{a}: {number(10, 90)} min"],
        }[self._kind]


def weather(dice: random.Random) -> str:
    """Return a page of a template that has as many numbers as words between them."""
    return " ".join(
        f"{day} will be partly cloudy over the county and the coast with a high of {dice.randint(5, 35)} "
        f"degrees and a low of {dice.randint(-15, 4)} degrees, wind from the west at {dice.randint(1, 60)} "
        f"km per hour, and a chance of rain of {dice.randint(0, 100)} per cent."
        for day in ("Today", "Tomorrow", "Wednesday", "Thursday")
    )

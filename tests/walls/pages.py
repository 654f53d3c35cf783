"""Walls as crawls meet them: templates in many languages, filled in for each page, on many hosts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


class Template(NamedTuple):
    """What a page says, with what is different on each in braces: {site}, {url}, {date}, {ray}, {query}, {n}.

    What one host or another says may stand in brackets, as in [this|that].
    """

    name: str
    text: str


class Page(NamedTuple):
    """A wall that stands at *url*."""

    template: str
    url: str
    text: str


def templates(file: str) -> list[Template]:
    """Read the templates of ``unseen`` or ``varied``, by which no rules were chosen."""
    parts = Path(__file__).with_name(f"{file}.txt").read_text("utf-8").split("## ")[1:]
    return [
        Template(name.strip(), text.strip()) for name, _, text in (part.partition("\n") for part in parts)
    ]


def across_hosts(among: list[Template], *, hosts: int, pages: int, seed: int = 0) -> Iterator[Page]:
    """Yield *pages* walls of all templates, each on any of *hosts* hosts."""
    dice = random.Random(seed)
    names = [_name(dice) for _ in range(hosts)]
    for _ in range(pages):
        yield _page(dice, dice.choice(among), dice.choice(names))


def on_each_host(among: list[Template], *, hosts: int, pages: int, seed: int = 0) -> Iterator[Page]:
    """Yield *pages* walls: each of *hosts* hosts shows its own again and again, under other URLs."""
    dice = random.Random(seed)
    names = [_name(dice) for _ in range(hosts)]
    own = {name: among[number % len(among)] for number, name in enumerate(names)}
    for _ in range(pages):
        name = dice.choice(names)
        yield _page(dice, own[name], name)


def _page(dice: random.Random, template: Template, name: str) -> Page:
    host = f"www.{name}.example"
    slug = "-".join(_name(dice) for _ in range(4))
    path = dice.choice(
        [f"/news/{slug}", f"/{dice.randrange(10**6)}.html", f"/{_name(dice)}/{slug}/", f"/?id={slug}"]
    )
    fields = {
        "site": name.capitalize(),
        "url": host + path,
        "date": f"{dice.randint(1, 28)}.{dice.randint(1, 12)}.{dice.randint(2019, 2026)}",
        "ray": f"{dice.getrandbits(64):016x}",
        "query": " ".join(_name(dice) for _ in range(3)),
        "n": str(dice.randint(2, 900)),
    }
    # Nearly all pages of a host say the same: what they were asked for is seldom in the text.
    if dice.random() < 0.5:
        fields |= {"url": host, "ray": "0451", "date": "1.1.2026", "query": "news", "n": "12"}
    wording = random.Random(name)
    text = _CHOICE.sub(lambda found: wording.choice(found[1].split("|")), template.text)
    return Page(template.name, f"https://{host}{path}", text.format(**fields))


def _name(dice: random.Random) -> str:
    return "".join(dice.choices(_SYLLABLES, k=3))

"""A loopback site of many stories, each on two pages in different templates."""

import random

from tests.helpers.site import SYLLABLES
from tests.helpers.site import Site as AnySite

#: Of crawls in the process of the tests.
SETTINGS = {
    "ADDONS": {"scrapy_neardup.Addon": 700},
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
}


def story(number: int) -> str:
    """Return the text of one story: 12 paragraphs of words that no other story has."""
    dice = random.Random(number)
    words = ["".join(dice.choices(SYLLABLES, k=3)) for _ in range(150)]
    return "\n".join(" ".join(dice.choices(words, k=40)).capitalize() + "." for _ in range(12))


def page(number: int, template: str) -> bytes:
    """Return the HTML of one page."""
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in story(number).split("\n"))
    return (
        f"<!doctype html><html><head><title>{template} {number}</title></head><body>"
        f"<header><nav><a href=/>Home of {template}</a></nav></header>"
        f"<main><article><h1>Story {number}</h1>{paragraphs}</article></main></body></html>"
    ).encode()


class Site(AnySite):
    """Serves /a/N and /b/N for every story N."""

    def page(self, path: str) -> bytes:
        _, template, number = path.split("/")
        return page(int(number), template)

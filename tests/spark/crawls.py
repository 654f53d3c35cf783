"""Crawls for the tests of the audit on Spark: all that one audit's rules look at, in few pages."""

from __future__ import annotations

import random
from typing import Any

from tests.audit.corpora import edited, template, text


def crawl(seed: int, stories: int = 24) -> list[dict[str, Any]]:
    """Return pages in a random order, as the items of a feed."""
    rng = random.Random(seed)
    pages: list[dict[str, Any]] = []

    def add(url: str, content: str, **fields: Any) -> None:
        pages.append({"url": url, "text": content, **fields})

    for number in range(stories):
        story = text((seed, number), rng.randint(60, 400))
        site = f"https://s{rng.randrange(6)}.example"
        add(f"{site}/{number}", story, title=f"Story {number}", fetched=rng.choice([None, 1e9 + number]))
        for copy in range(rng.randrange(4)):
            other = f"http{rng.choice(['', 's'])}://s{rng.randrange(8)}.example/{rng.randrange(40)}/{number}-{copy}"
            changes = rng.choice([0, 0, 3, 8, 20, 40])
            add(other, edited(story, changes, (seed, copy)) if changes else story, title=f"Story {number}")
    # A site whose pages all have a note, and whose titles all have its name.
    note = text((seed, "note"), 60)
    for number in range(18):
        own = text((seed, "own", number // 2), 90)
        add(f"https://note.example/{number}", f"{own}\n{note}", title=f"{text(number, 2)} | The Notes")
    # Two releases of one documentation.
    for release in ("1.0", "2.0"):
        for number in range(16):
            words = text((seed, "doc", number), 150)
            url = f"https://docs.example/{release}/{number}.html"
            add(url, edited(words, 2, release), title=f"{text((seed, number), 2)} - Manual {release}")
    # Pages of a template, more than are all compared with each other; equal pages; a chain of small steps.
    for number in range(70):
        add(f"https://t.example/{number}", template(seed, number), title=f"Report {number}")
    for number in range(40):
        add(f"https://e{number % 4}.example/{number}", text((seed, "equal"), 200))
    words = text((seed, "chain"), 300).split()
    for step in range(30):
        add(f"https://c{step:02}.example/", " ".join(words))
        words[step * 4 : step * 4 + 4] = text((seed, "step", step), 4).split()
    for number in range(8):
        add(f"https://w{number}.example/", text((seed, "wall"), 60))
    add("https://s0.example/0#top", pages[0]["text"])
    for number in range(4):
        add(f"https://h{number}.example/", _html(seed, number))
    # Items with one text: some say the same, and each has a number of its own.
    for number in range(40):
        said = {"colour": f"shade {number % 7}", "code": 100 + 3 * number}
        add(f"https://i{number % 2}.example/item/{number}", text((seed, "item"), 150), **said)
    rng.shuffle(pages)
    return pages


def _html(seed: int, number: int) -> str:
    head = [
        '<meta name="robots" content="noindex">',
        '<link rel="canonical" href="https://h2.example/">',
        "",
        "",
    ]
    story = text((seed, "html"), 200)
    return f"<html><head><title>A page</title>{head[number]}</head><body><article><p>{story}.</p></article>"

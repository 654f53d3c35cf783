"""Crawls made up for the tests of the audit: texts of random words, and copies of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WORDS = 300
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text(seed: object, words: int = WORDS) -> str:
    """Return words that no text of another seed has."""
    rng = random.Random(repr(seed))
    return " ".join("".join(rng.choices(_LETTERS, k=7)) for _ in range(words))


def edited(source: str, changes: int, seed: object = 0) -> str:
    """Replace some words by new ones, side by side in the middle."""
    words = source.split()
    start = len(words) // 2
    words[start : start + changes] = text(("edit", seed, source[:20]), changes).split()
    return " ".join(words)


def template(seed: object, number: int) -> str:
    """Return the words of one page with other numbers."""
    rng = random.Random(number)
    words = text(("template", seed), 200).split()
    for place in (60, 61, 62):
        words[place] = str(rng.randrange(10**6, 10**7))
    return " ".join(words)


def feed(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def crawl(stories: int = 30) -> list[dict[str, Any]]:
    """Return pages of four hosts: stories, copies of them, exact or changed, a template, walls, notes."""
    pages: list[dict[str, Any]] = []
    for number in range(stories):
        story = text(number)
        pages.append({"url": f"https://a.example/{number}", "text": story})
        if number % 2 == 0:
            pages.append({"url": f"https://b.example/copy/{number}", "text": story.upper()})
        if number % 3 == 0:
            pages.append({"url": f"https://c.example/near?id={number}", "text": edited(story, 6, number)})
        if number % 5 == 0:
            pages.append({"url": f"https://d.example/cut/{number}", "text": edited(story, 20, number)})
    pages += [{"url": f"https://t.example/{n}", "text": template(0, n)} for n in range(8)]
    said = "Please log in to continue reading. Already a subscriber? Sign in to your account. "
    wall = said + text("wall", 40)
    pages += [{"url": f"https://a.example/login{n}", "text": wall} for n in range(2)]
    pages.append({"url": "https://a.example/short", "text": "too short to be judged"})
    pages.append({"url": "https://a.example/1#top", "text": text(1)})
    return pages

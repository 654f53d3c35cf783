"""Crawls made up for the tests of the report, audited; the same each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from scrapy_neardup.audit.model import Audit, Input
from scrapy_neardup.fingerprint.main_text import MainText
from tests.audit.corpora import edited, template, text

#: Audits rows of a feed; see the fixture of this name.
Audited: TypeAlias = Callable[..., Audit]
_WALL = "Please log in to continue reading. Already a subscriber? Sign in to your account. "


def small_crawl(audited: Audited) -> Audit:
    """Thirty pages: copies on another host, a parameter for tracking, parts of words changed, templates."""
    said = [
        ("news/road", 0, text(0)), ("news/road?utm_source=mail", 0, text(0)),
        ("news/road?utm_source=feed", 0, text(0)), ("news/road#again", 0, text(0)),
        ("wire/road-to-be-widened-soon", 0, edited(text(0), 4)), ("news/bridge", 4, text(4)),
        ("wire/bridge-to-be-built-soon", 4, edited(text(4), 4)), ("news/bridge/", 4, text(4)),
        ("news/chain/0", 7, text(7)), ("news/chain/1", 7, edited(text(7), 4)),
        ("news/offer/1", 10, template(0, 1)), ("news/offer/2", 10, template(0, 2)),
        ("news/login", 12, _WALL + text(12, 40)), ("news/login?to=road", 12, _WALL + text(12, 40)),
        ("news/short", 13, "too short"), *((f"blog/post/{n}", n, text(n)) for n in range(15, 30)),
    ]  # fmt: skip
    rows = [
        {"url": f"https://{host}.example/{path}", "title": f"Story {number}", "text": words,
         "crawled_at": 1_790_000_000 + 86_400 * day}
        for day, (name, number, words) in enumerate(said)
        for host, path in (name.split("/", 1),)
    ]  # fmt: skip
    return audited(rows)


def with_texts(data: Audit, texts: Sequence[str]) -> Audit:
    """Return an audit whose pages have other texts, whether or not these are alike."""
    store: Any = SimpleNamespace(main_text=lambda page: MainText(texts[page]))
    return replace(data, _store=store, _ids=np.arange(len(data.pages)))


def pairs_of(audited: Audited, texts: Sequence[str]) -> Audit:
    """Return an audit with a cluster of each two of *texts*."""
    urls = [f"https://a.example/{number:02}" for number in range(len(texts))]
    return with_texts(audited([{"url": url, "text": text(n // 2)} for n, url in enumerate(urls)]), texts)


RTL = "\u202e"  # turns the direction of what follows around
#: Titles and URLs that attack the report, its reader's terminal or a spreadsheet.
HOSTILE = [
    ("<script>window.hacked = 1</script>", "https://a/</script><script>window.hacked = 1</script>"),
    ("<img src=x onerror='window.hacked = 1'>", "javascript:window.hacked=1"),
    ("</title></style><svg onload='window.hacked=1'>", "JaVaScRiPt:window.hacked=1//https://a.example/"),
    ('=HYPERLINK("https://evil.example","click")', "=cmd|' /C calc'!A0"),
    ("+1+1", "@SUM(1+1)*cmd|' /C calc'!A0"),
    ("-2+3", "-2+3\t=1\n=2"),
    (f"invoice{RTL}fdp.exe", f"https://evil.example/{RTL}moc.elpmaxe"),
    ("\x1b[31mred\x1b]0;title\x07", "https://evil.example/\x1b[2J"),
    ("half \ud83d of a pair", "https://evil.example/\udc00"),
    ("--><!-- {{7*7}} ${7*7} $style", "data:text/html,<script>window.hacked=1</script>"),
    ("a" * 5000, "https://evil.example/" + "a" * 5000),
    ("__proto__", "https://evil.example/?__proto__=1&constructor=2"),
    ("", ""),
    ("\t=1+1", "file:///etc/passwd"),
    ("ordinary", "http://[::1"),
]


def hostile_crawl(audited: Audited) -> Audit:
    """Each hostile page is canonical in a cluster and a member of it."""
    rows = [
        {"url": url, "title": title, "text": f"{title}\n{url}\n{text(number)}"}
        for number, (title, url) in enumerate(HOSTILE)
        for _ in range(2)
    ]
    inputs = tuple((Input(title, url), 2) for title, url in HOSTILE)
    return replace(
        audited(rows), inputs=inputs, problems=tuple((title, url, title) for title, url in HOSTILE)
    )


def large_crawl(audited: Audited) -> Audit:
    """A cluster of 200 pages, then 300 of 2 to 5, on five hosts; and as many unique pages."""
    sizes = [200, *(2 + number % 4 for number in range(300))]
    places = [(label, place) for label, size in enumerate(sizes) for place in range(size)]
    urls = [
        f"https://{'abcde'[(label + place) % 5]}.example/story/{label}" + f"?ref={place}" * bool(place)
        for label, place in places
    ]
    rows = [{"url": url, "text": text(label, 60)} for url, (label, _) in zip(urls, places, strict=True)]
    rows += [{"url": f"https://f.example/{n}", "text": text(("own", n), 60)} for n in range(len(rows))]
    return audited(rows)

"""Crawls made up for the tests of the report: pages, clusters, pairs and texts, the same each time."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from scrapy_neardup.audit.model import CLUSTERS, NO_DISTANCE, PAGES, PAIRS, Audit, Input
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.fingerprint.main_text import MainText

_STORY = (
    "the council voted on Tuesday to widen a road along the river after residents asked for shade trees "
    "cycle lanes and a slower pace near schools while the mayor promised that no house would lose its garden "
    "and engineers measured traffic noise air and water before they drew new plans which cost less than "
    "earlier ones did"
)
WORDS = _STORY.split()


def text(seed: int, change: int = 0, length: int = 120) -> str:
    """Make a text of *length* words in paragraphs; another *change* substitutes a few of them."""
    words = [WORDS[i] for i in np.random.default_rng(seed).integers(0, len(WORDS), length)]
    for place in np.random.default_rng([seed, change]).integers(0, length, 4 if change else 0).tolist():
        words[place] = f"change{change}"
    sentences = [" ".join(words[i : i + 12]).capitalize() + "." for i in range(0, length, 12)]
    return "\n".join(" ".join(sentences[i : i + 3]) for i in range(0, len(sentences), 3))


def audit_of(
    urls: Sequence[str],
    clusters: Sequence[int],
    verdicts: Sequence[str],
    texts: Sequence[str | None],
    **changes: Any,
) -> Audit:
    """Put lists into columns; the first page of a cluster is its canonical one."""
    labels = np.array(clusters, np.int32).reshape(-1)
    table = np.zeros(len(urls), PAGES)
    table["url"], table["verdict"], table["cluster"] = urls, verdicts, labels
    table["title"] = changes.pop("titles", [f"Story {i}" for i in range(len(urls))])
    table["fetched"] = changes.pop("fetched", np.nan)
    table["rank"], table["tokens"] = np.arange(len(urls)), 120
    for verdict, distance, similarity in (("near", 2, 0.9), ("exact", 0, 1.0)):
        rows = (table["verdict"] == verdict) & (labels >= 0)
        table["distance"][rows], table["similarity"][rows] = distance, similarity
    rest = ~np.isin(table["verdict"], ("near", "exact"))
    table["distance"][rest], table["similarity"][rest] = NO_DISTANCE, np.nan
    groups = np.zeros(labels.max(initial=-1) + 1, CLUSTERS)
    groups["canonical"] = [labels.tolist().index(number) for number in range(len(groups))]
    groups["size"] = np.bincount(labels[labels >= 0], minlength=len(groups))
    for name in ("near", "exact"):
        counted = labels[(labels >= 0) & (table["verdict"] == name)]
        groups[name] = np.bincount(counted, minlength=len(groups))
    kept = np.append(groups["canonical"], 0)[labels]
    table["canonical"] = np.where(labels >= 0, kept, np.arange(len(urls)))
    further = {"inputs": ((Input("crawl.jl.gz", "feed"), len(urls)),), "problems": (), **changes}
    further |= {
        "skipped": {},
        "boilerplate": (),
        "_store": SimpleNamespace(main_text=lambda page: texts[page] and MainText(texts[page])),
        "_ids": np.arange(len(urls)),
    }
    return Audit(table, groups, np.zeros(0, PAIRS), AuditOptions(seed=0), **further)  # type: ignore[arg-type]


def small_crawl() -> Audit:
    """Thirty pages: a chain, copies on another host, a parameter for tracking, exact copies, templates."""
    names = (
        "news/road news/road?utm_source=mail news/road?utm_source=feed wire/2026/road-to-be-widened-soon "
        "news/bridge wire/2026/bridge-to-be-built-soon news/bridge/ news/chain/0 news/chain/1 news/chain/2 "
        "news/offer/1 news/offer/2 news/login news/short news/road#again"
    )
    parts = [name.split("/", 1) for name in [*names.split(), *(f"blog/post/{i}" for i in range(15))]]
    urls = [f"https://{host}.example/{path}" for host, path in parts]
    clusters = [0, 0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1, -1, -1, *[-1] * 15]
    verdicts = [
        *("unique", "exact", "exact", "near", "unique", "near", "exact", "unique", "near", "unique"),
        *("template", "template", "wall", "too_short", "revisit"),
        *["unique"] * 15,
    ]
    texts: list[str | None] = [text(i) for i in range(30)]
    copies = ((1, 0, 0), (2, 0, 0), (3, 0, 1), (5, 4, 1), (6, 4, 0), (8, 7, 1), (9, 7, 2))
    for copy, original, change in copies:
        texts[copy] = text(original, change)
    texts[16] = text(15, 3)
    times = 1_790_000_000.0 + 86_400 * np.arange(30)
    return audit_of(urls, clusters, verdicts, texts, fetched=times)


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


def hostile_crawl() -> Audit:
    """Each hostile page is canonical in a cluster and a member of it."""
    urls = [url for _, url in HOSTILE for _ in range(2)]
    titles = [title for title, _ in HOSTILE for _ in range(2)]
    count = len(HOSTILE)
    return audit_of(
        urls,
        [i // 2 for i in range(2 * count)],
        ["unique", "near"] * count,
        [f"{title}\n{url} {i}" for i, (title, url) in enumerate(zip(titles, urls, strict=True))],
        titles=titles,
        inputs=tuple((Input(title, url), 2) for title, url in HOSTILE),
        problems=tuple((title, url, title) for title, url in HOSTILE),
    )


def large_crawl(clusters: int) -> Audit:
    """A cluster of 200 pages, then so many *clusters* of 2 to 5, on five hosts; and as many unique pages."""
    sizes = [200, *(2 + number % 4 for number in range(clusters))]
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    places = [place for size in sizes for place in range(size)]
    verdicts = [("unique", "near", "exact")[min(place, 1 + place % 2)] for place in places]
    urls = [
        f"https://{'abcde'[(label + place) % 5]}.example/story/{label}" + (f"?ref={place}" if place else "")
        for label, place in zip(labels, places, strict=True)
    ]
    count = len(urls)
    urls += [f"https://f.example/page/{number}" for number in range(count)]
    texts = [text(label, place, 300) for label, place in zip(labels, places, strict=True)]
    return audit_of(
        urls, [*labels, *[-1] * count], [*verdicts, *["unique"] * count], [*texts, *[None] * count]
    )

"""Leaves the boilerplate of sites out of the texts and titles of a crawl, before its pages are compared."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.fingerprint.main_text import stand_in
from scrapy_neardup.matching.boilerplate import TITLES, paragraph_keys, widespread, without_paragraphs
from scrapy_neardup.matching.records import entries

from .arrays import ranges, text_places
from .names import name_pages
from .signing import spread
from .urls import split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint.main_text import MainText

    from .crawl import Crawl
    from .settings import AuditOptions
    from .store import Store

#: Characters that are kept of a paragraph, to show it.
_SHOWN = 300


def leave_out_boilerplate(
    crawl: Crawl, store: Store, settings: AuditOptions
) -> tuple[Crawl, list[dict[str, Any]]]:
    """Return the crawl with names, and signatures without the boilerplate of sites and names of releases.

    Also returned is what was left out by host: how many paragraphs of how many pages, and an example.
    """
    sites = crawl.documents.records["site"].astype(np.int64)
    enough = are_titled(sites.tolist(), crawl.titles)
    stored = store.paragraphs().often(TITLES)  # fewer pages have fewer titles
    pages = np.flatnonzero(enough & np.isin(crawl.ids, stored.id))
    places = np.searchsorted(stored.id, crawl.ids[pages])
    headlines = [""] * len(crawl)
    for row, place in zip(pages.tolist(), places.tolist(), strict=True):
        headlines[row] = stored.headline[place]
    names, titled = name_pages(sites.tolist(), crawl.urls, crawl.titles, headlines)
    counts = np.diff(stored.ends)[places]
    rows, keys = np.repeat(pages, counts), stored.keys[ranges(stored.ends[places], counts)]
    shared = widespread(sites[rows], keys, text_places(crawl.titles)[rows])
    rows, keys = rows[shared], keys[shared]
    left_out: dict[int, set[int]] = defaultdict(set)
    for row, key in zip(rows.tolist(), keys.tolist(), strict=True):
        left_out[row].add(key)

    def text_of(row: int) -> MainText:
        text = store.main_text(int(crawl.ids[row]))
        assert text is not None  # it has paragraphs or a title
        return text

    found: list[dict[str, Any]] = []
    for site in np.unique(sites[rows]):
        own = sites[rows] == site
        paragraphs, first, often = np.unique(keys[own], return_index=True, return_counts=True)
        most = int(np.argmax(often))
        lines = text_of(int(rows[own][first[most]])).text.split("\n")
        example = next(line for line in lines if int(paragraphs[most]) in paragraph_keys(line))[:_SHOWN]
        host, having = split_url(crawl.urls[int(rows[own].min())]).host, len(np.unique(rows[own]))
        found.append({"host": host, "paragraphs": len(paragraphs), "pages": having, "example": example})
    found.sort(key=lambda each: (-each["pages"], each["host"]))
    crawl, changed = replace(crawl, names=names), sorted({*left_out, *titled})
    texts = (
        rest_of(text, left_out.get(row, ()), titled.get(row, text.title))
        for row in changed
        for text in (text_of(row),)
    )
    return _signed_anew(crawl, changed, texts, settings) if changed else crawl, found


def are_titled(sites: Sequence[int], titles: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which of n pages are of *sites* with so many *titles* that boilerplate can be known; bool[n]."""
    different: dict[int, set[str]] = defaultdict(set)
    for site, title in zip(sites, titles, strict=True):
        different[site].add(title)
    return np.array([len(different[site]) >= TITLES for site in sites], bool)


def _signed_anew(crawl: Crawl, rows: list[int], texts: Iterator[MainText], settings: AuditOptions) -> Crawl:
    """Return the crawl with the signatures of other *texts* of the pages in *rows*."""
    with closing(spread(texts, settings.fingerprinter.signatures, settings.processes)) as signed:
        signatures = list(signed)
    documents = entries(signatures, [crawl.urls[row] for row in rows], settings.header)
    # The site may be known from the page, where its URL is that of a file.
    documents.records["site"] = crawl.documents.records["site"][rows]
    crawl.documents.keys[:, rows], crawl.documents.records[rows] = documents.keys, documents.records
    wall = crawl.wall.copy()
    wall[rows] = [signature.wall for signature in signatures]
    return replace(crawl, wall=wall, long=crawl.documents.records["tokens"] >= max(settings.min_tokens, 1))


def rest_of(text: MainText, left_out: Collection[int], title: str) -> MainText:
    """Return *text* without the paragraphs *left_out* (their keys), under another *title*."""
    if not left_out:
        return text._replace(title=title)
    # Two pages may differ in nothing but which of these paragraphs they have. So words without digits, three
    # of each, more than rules forgive, stand for them.
    names = map(stand_in, sorted(left_out))
    marks = " ".join(f"{name}{ending}" for name in names for ending in "xyz")
    rest = without_paragraphs(text.text, left_out)
    return text._replace(text=rest, title=title, details=f"{text.details}\n{marks}")

"""Leaves the boilerplate of sites out of the texts and titles of a crawl, before its pages are compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprint.main_text import MainText, stand_in
from scrapy_neardup.matching.records import entries
from scrapy_neardup.matching.sites import split_url

from .arrays import begins, text_places
from .crawl import Crawl
from .names import TITLES, Names, name_pages
from .options import AuditOptions
from .signing import paragraph_keys, spread
from .store import Store

#: Characters that are kept of a paragraph, to show it.
_SHOWN = 300


def leave_out_boilerplate(
    crawl: Crawl, store: Store, settings: AuditOptions
) -> tuple[Crawl, list[dict[str, Any]]]:
    """Return the crawl with names, and signatures without the boilerplate of sites and names of releases.

    Also returned is what was left out by host: how many paragraphs of how many pages, and an example.
    """
    sites, stored = crawl.documents.records["site"].tolist(), store.paragraphs()
    headlines, paragraphs = zip(*(stored.get(page, ("", b"")) for page in crawl.ids.tolist()), strict=True)
    names, titled, left_out = of_sites(sites, crawl.urls, crawl.titles, headlines, paragraphs)

    def text_of(row: int) -> MainText:
        text = store.main_text(int(crawl.ids[row]))
        assert text is not None  # it has paragraphs or a title
        return text

    of_site: dict[int, list[int]] = defaultdict(list)
    for row in sorted(left_out):
        of_site[sites[row]].append(row)
    found: list[dict[str, Any]] = []
    for rows in of_site.values():
        counts = Counter(key for row in rows for key in left_out[row])
        most = min(counts, key=lambda key: (-counts[key], key))
        lines = text_of(next(row for row in rows if most in left_out[row])).text.split("\n")
        example = next(line for line in lines if most in paragraph_keys(line))[:_SHOWN]
        host = split_url(crawl.urls[rows[0]]).netloc
        found.append({"host": host, "paragraphs": len(counts), "pages": len(rows), "example": example})
    found.sort(key=lambda each: (-each["pages"], each["host"]))
    crawl, changed = replace(crawl, names=names), sorted({*left_out, *titled})
    texts = (
        rest_of(text, left_out.get(row, ()), titled.get(row, text.title))
        for row in changed
        for text in (text_of(row),)
    )
    return _signed_anew(crawl, changed, texts, settings) if changed else crawl, found


def of_sites(
    sites: Sequence[int],
    urls: Sequence[str],
    heads: Sequence[str],
    headlines: Sequence[str],
    paragraphs: Sequence[bytes],
) -> tuple[Names, dict[int, str], dict[int, set[int]]]:
    """Return the names of n pages of whole sites; and by page a title to compare, and keys of boilerplate.

    *heads* are titles of heads, *headlines* of main texts, *paragraphs* the keys of the long ones (bytes of
    uint64[m]). Sites with few titles have no boilerplate that can be known.
    """
    different: dict[int, set[str]] = defaultdict(set)
    for site, title in zip(sites, heads, strict=True):
        different[site].add(title)
    enough = [len(different[site]) >= TITLES for site in sites]
    own = [each if known else b"" for each, known in zip(paragraphs, enough, strict=True)]
    shown = [each if known else "" for each, known in zip(headlines, enough, strict=True)]
    names, titled = name_pages(sites, urls, heads, shown)
    rows, keys = np.repeat(np.arange(len(own)), [len(each) // 8 for each in own]), b"".join(own)
    numbers = np.frombuffer(keys, np.uint64)
    shared = widespread(np.array(sites, np.int64)[rows], numbers, text_places(heads)[rows])
    left_out: dict[int, set[int]] = defaultdict(set)
    for row, key in zip(rows[shared].tolist(), numbers[shared].tolist(), strict=True):
        left_out[row].add(key)
    return names, titled, left_out


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


def without_paragraphs(text: str, keys: Collection[int]) -> str:
    """Return *text* without the long paragraphs that have *keys*."""
    lines = (line for line in text.split("\n") if not any(key in keys for key in paragraph_keys(line)))
    return "\n".join(lines)


def widespread(
    sites: NDArray[np.integer], keys: NDArray[np.uint64], titles: NDArray[np.integer], least: int = TITLES
) -> NDArray[np.bool_]:
    """Tell which of n paragraphs stand on pages of *least* different titles of their site; bool[n].

    *sites* and *titles* have numbers of its site and of its page's title. This takes 40 bytes a paragraph.
    """
    found = np.zeros(len(keys), bool)
    # Most paragraphs stand on few pages at all, and sorting by one column is quick.
    values, counts = np.unique(keys, return_counts=True)
    often = np.flatnonzero(np.isin(keys, values[counts >= least]))
    order = often[np.lexsort((titles[often], keys[often], sites[often]))]
    site, key, title = sites[order], keys[order], titles[order]
    new = begins(site) | begins(key)  # where the next paragraph or site begins
    other = new | begins(title)
    group = np.cumsum(new) - 1
    found[order] = (np.bincount(group, weights=other) >= least)[group]
    return found

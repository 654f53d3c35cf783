"""The pages of an audit as columns, in an order that no run changes; without what their sites repeat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprint.main_text import MainText, stand_in
from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import entries, filed_url
from scrapy_neardup.matching.sites import TOLD, UNKNOWN, site_key, split_url

from .arrays import begins, text_places
from .names import TITLES, Names, name_pages
from .options import AuditOptions
from .reading import paragraph_keys, spread
from .store import Store


@dataclass(frozen=True)
class Crawl:
    """n pages, sorted by URL, text and time: columns of n, lists or arrays."""

    #: The numbers of the pages in the store, where their texts are: int64[n].
    ids: NDArray[np.int64]
    #: The source that each is from, as the user named it.
    roots: list[str]
    urls: list[str]
    titles: list[str]
    #: The canonical URL that a page names, and a JSON object of ``hreflang`` to URL; "" for none.
    declared: list[str]
    alternates: list[str]
    #: Whether a page asks search engines not to index it: bool[n].
    noindex: NDArray[np.bool_]
    #: In seconds since 1970, NaN if not known: float64[n].
    fetched: NDArray[np.float64]
    #: Signatures, as an index would hold them; all zero for a page without main text.
    documents: Documents
    #: Whether the text reads like a wall, and whether it is long enough to be judged; bool[n] each.
    wall: NDArray[np.bool_]
    long: NDArray[np.bool_]
    #: How many revisits were left out, because the page that they refer to is not in the crawl.
    elsewhere: int = 0
    #: What tells the pages of a site apart; empty as long as that was not looked for.
    names: Names = field(default_factory=lambda: Names([], [], []))

    def __len__(self) -> int:
        return len(self.urls)


def load_crawl(store: Store, settings: AuditOptions) -> Crawl:
    """Read what is stored; a revisit becomes a copy of the page that it refers to, under its own URL."""
    columns = store.load(settings.header)
    contents = content_rows(columns)
    # A page has a row of the store, and a row with its content, which for a revisit is another one. What
    # could not be extracted is no page: it is listed as a problem.
    sound = np.array([reason in (None, "no_text") for reason in columns.reason], bool)
    rows = np.flatnonzero((contents >= 0) & sound[contents]).tolist()
    times, often = np.nan_to_num(columns.fetched, nan=np.inf).tolist(), Counter(columns.url)

    def key(row: int) -> tuple[object, ...]:
        own, url = int(contents[row]), columns.url[row]
        return (url,) if often[url] == 1 else (
            url, columns.keys[own].tobytes(), times[row], columns.title[own], columns.declared[own],
            columns.noindex[own], columns.alternates[own], columns.record[own].tobytes(), columns.note[own],
        )  # fmt: skip

    order = np.array(sorted(rows, key=key), np.int64)
    elsewhere, contents = int((contents < 0).sum()), contents[order]

    def taken(texts: list[Any], places: NDArray[np.int64] = contents) -> list[Any]:
        return [texts[place] for place in places.tolist()]

    urls = taken(columns.url, order)
    keys = np.take(columns.keys.T, contents, axis=1)
    documents = Documents(keys, columns.record[contents], urls, taken(columns.note))
    for place in np.flatnonzero(order != contents).tolist():  # a page under another URL has the site of that
        documents.records["site"][place] = site_key(urls[place])
    return Crawl(
        ids=columns.id[contents],
        roots=taken(columns.root, order),
        urls=urls,
        titles=taken(columns.title),
        declared=taken(columns.declared),
        alternates=taken(columns.alternates),
        noindex=columns.noindex[contents],
        fetched=columns.fetched[order],
        documents=documents,
        wall=columns.wall[contents],
        long=documents.records["tokens"] >= max(settings.min_tokens, 1),
        elsewhere=elsewhere,
    )


def content_rows(columns: SimpleNamespace) -> NDArray[np.int64]:
    """Return the row with the content of each row, for a revisit that of the page; int64[n], -1 for none."""
    targets = np.arange(len(columns.id))
    refers = {
        row: each
        for row, each in enumerate(zip(columns.refers_digest, columns.refers_url, strict=True))
        if each != (None, None)
    }
    if not refers:
        return targets
    by_digest: dict[str | None, int] = {}
    by_url: dict[str, list[int]] = {}
    times = np.nan_to_num(columns.fetched).tolist()
    # By time; the order of reading plays no part.
    order = sorted(
        {*range(len(targets))} - refers.keys(),
        key=lambda row: (times[row], columns.url[row], columns.keys[row].tobytes()),
    )
    for row in order:
        by_digest.setdefault(columns.body_digest[row], row)
        by_url.setdefault(filed_url(columns.url[row]), []).append(row)
    for row, (digest, url) in refers.items():
        found = by_url.get(filed_url(url or ""), [-1])
        known = not np.isnan(columns.fetched[row])
        before = [each for each in found if not known or times[each] <= times[row]]
        target = before[-1] if before else found[0]
        targets[row] = target if digest is None else by_digest.get(digest, target)
    return targets


#: Characters that are kept of a paragraph, to show it.
_SHOWN = 300


def leave_out_boilerplate(
    crawl: Crawl, store: Store, settings: AuditOptions
) -> tuple[Crawl, list[dict[str, Any]]]:
    """Return the crawl with names and without boilerplate, and what was left out, by host."""
    sites, stored = crawl.documents.records["site"].tolist(), store.paragraphs()
    headlines, paragraphs = zip(*(stored.get(page, ("", b"")) for page in crawl.ids.tolist()), strict=True)
    names, titled, left_out = of_sites(sites, crawl.urls, crawl.titles, headlines, paragraphs)

    def text_of(row: int) -> MainText:
        text = store.main_text(int(crawl.ids[row]))
        assert text is not None  # it has paragraphs or a title
        return text

    of_site: dict[int, list[int]] = defaultdict(list)
    for row in sorted(left_out):
        of_site[sites[row] if sites[row] >= TOLD else UNKNOWN].append(row)
    found: list[dict[str, Any]] = []
    for pages in of_site.values():
        counts = Counter(key for row in pages for key in left_out[row])
        most = min(counts, key=lambda key: (-counts[key], key))
        lines = text_of(next(row for row in pages if most in left_out[row])).text.split("\n")
        example = next(line for line in lines if most in paragraph_keys(line))[:_SHOWN]
        host = split_url(crawl.urls[pages[0]]).netloc or split_url(crawl.declared[pages[0]]).netloc
        found.append({"host": host, "paragraphs": len(counts), "pages": len(pages), "example": example})
    found.sort(key=lambda each: (-each["pages"], each["host"]))
    crawl, rows = replace(crawl, names=names), sorted({*left_out, *titled})
    texts = (
        rest_of(text, left_out.get(row, ()), titled.get(row, text.title))
        for row in rows
        for text in (text_of(row),)
    )
    with closing(spread(texts, settings.fingerprinter.signatures, settings.processes)) as signed:
        signatures = list(signed)
    documents = entries(signatures, [crawl.urls[row] for row in rows], settings.header)
    # The site may be known from the page, where its URL is that of a file.
    documents.records["site"] = crawl.documents.records["site"][rows]
    crawl.documents.keys[:, rows], crawl.documents.records[rows] = documents.keys, documents.records
    crawl.wall[rows] = [signature.wall for signature in signatures]
    long = crawl.documents.records["tokens"] >= max(settings.min_tokens, 1)
    return replace(crawl, long=long), found


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
    shared = widespread(np.array(sites, np.int64)[rows], numbers, text_places(heads)[0][rows])
    left_out: dict[int, set[int]] = defaultdict(set)
    for row, key in zip(rows[shared].tolist(), numbers[shared].tolist(), strict=True):
        left_out[row].add(key)
    return names, titled, left_out


def rest_of(text: MainText, left_out: Collection[int], title: str) -> MainText:
    """Return *text* without the paragraphs *left_out* (their keys), under another *title*."""
    if not left_out:
        return text._replace(title=title)
    # Two pages may differ in nothing but which of these paragraphs they have. So words without digits, three
    # of each, more than rules forgive, stand for them.
    names = map(stand_in, sorted(left_out))
    marks = " ".join(f"{name}{ending}" for name in names for ending in "xyz")
    rest = (line for line in text.text.split("\n") if not any(k in left_out for k in paragraph_keys(line)))
    return text._replace(text="\n".join(rest), title=title, details=f"{text.details}\n{marks}")


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

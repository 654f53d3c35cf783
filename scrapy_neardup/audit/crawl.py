"""The pages of an audit as columns, in an order that does not depend on where and when they were read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import DIGEST, filed_url
from scrapy_neardup.matching.sites import site_key

from .names import Names
from .options import AuditOptions
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
    #: What tells the pages of a site apart; None as long as that was not looked for.
    names: Names | None = None

    @property
    def tokens(self) -> NDArray[np.uint32]:
        """Length of the main text; uint32[n]."""
        tokens: NDArray[np.uint32] = self.documents.records["tokens"]
        return tokens

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
    return replace(_sorted_crawl(columns, rows, contents, settings), elsewhere=int((contents < 0).sum()))


def content_rows(columns: SimpleNamespace) -> NDArray[np.int64]:
    """Return for each row the row that its content is in; int64[n], -1 for none.

    For a revisit: the page with the digest, or the last one fetched before from the URL that it refers to.
    """
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


def _sorted_crawl(
    columns: SimpleNamespace, rows: list[int], contents: NDArray[np.int64], settings: AuditOptions
) -> Crawl:
    """Return the crawl of pages: *rows* of the store; *contents* says which rows their contents are in."""
    times = np.nan_to_num(columns.fetched, nan=np.inf).tolist()
    exact, digests = columns.keys[:, DIGEST].tolist(), columns.record["digest"].tolist()
    fingerprints, noindex = columns.record["fingerprint"].tolist(), columns.noindex.tolist()

    def key(row: int) -> tuple[object, ...]:
        own = int(contents[row])
        return (
            columns.url[row], exact[own], digests[own], fingerprints[own], times[row], columns.title[own],
            columns.declared[own], noindex[own], columns.alternates[own], columns.record[own].tobytes(),
            columns.note[own],
        )  # fmt: skip

    order = np.array(sorted(rows, key=key), np.int64)
    contents = contents[order]

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
    )

"""The pages of an audit as columns, in an order that does not depend on where and when they were read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import DIGEST, filed_url
from scrapy_neardup.matching.sites import site_key

from .arrays import text_places
from .notes import telling_notes

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .names import Names
    from .settings import AuditOptions
    from .store import Store, StoredColumns

    Rows = NDArray[np.int64]


def content_rows(columns: StoredColumns) -> NDArray[np.int64]:
    """Return for each row the row that its content is in; int64[n].

    That is the row itself for a page. For a revisit it is the page with the digest that it refers to, or else
    the last page that was fetched from the URL that it refers to before the revisit; -1 if there is no such
    page.
    """
    revisits = [
        row for row, (digest, url) in enumerate(zip(columns.refers_digest, columns.refers_url, strict=True))
        if digest is not None or url is not None
    ]  # fmt: skip
    targets = np.arange(len(columns.id))
    if not revisits:
        return targets
    among = set(revisits)
    by_digest: dict[str, int] = {}
    by_url: dict[str, list[int]] = {}
    times = np.where(np.isnan(columns.fetched), 0, columns.fetched).tolist()

    def age(row: int) -> tuple[float, str, bytes]:
        """Return the key by which pages are sorted by time; the order of reading plays no part."""
        return times[row], columns.url[row], columns.keys[row].tobytes()

    for row in sorted((row for row in range(len(targets)) if row not in among), key=age):
        digest = columns.body_digest[row]
        if digest is not None:
            by_digest.setdefault(digest, row)
        by_url.setdefault(filed_url(columns.url[row]), []).append(row)
    for row in revisits:
        target = by_digest.get(columns.refers_digest[row] or "", -1)
        candidates = by_url.get(filed_url(columns.refers_url[row] or ""), [])
        if target < 0 and candidates:
            time = columns.fetched[row]
            before = [each for each in candidates if np.isnan(time) or times[each] <= time]
            target = before[-1] if before else candidates[0]
        targets[row] = target
    return targets


_Value = TypeVar("_Value", str, bytes)


@dataclass(frozen=True)
class Crawl:
    """n pages, sorted by URL, text and time: columns of n."""

    #: The numbers of the pages in the store, where their texts are: int64[n].
    ids: NDArray[np.int64]
    #: The source that each is from, as the user named it.
    roots: list[str]
    urls: list[str]
    titles: list[str]
    #: The canonical URL that a page names, or "".
    declared: list[str]
    #: The versions of a page for other languages: a JSON object of ``hreflang`` to URL, or "".
    alternates: list[str]
    #: Whether a page asks search engines not to index it: bool[n].
    noindex: NDArray[np.bool_]
    #: In seconds since 1970, NaN if not known: float64[n].
    fetched: NDArray[np.float64]
    #: Signatures, as an index would hold them; all zero for a page without main text.
    documents: Documents
    #: Whether the text reads like a wall (captcha, log-in, error page), and whether it is long enough to be
    #: judged; bool[n] each.
    wall: NDArray[np.bool_]
    long: NDArray[np.bool_]
    #: How many revisits were left out, because the page that they refer to is not in the crawl.
    elsewhere: int = 0
    #: How many pages were left out, because search engines are not to index them.
    not_indexable: int = 0
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
    """Read what is stored; a revisit becomes a copy of the page that it refers to, under its own URL.

    With *indexable_only* among the settings, pages that ask search engines not to index them, or to index
    another URL, are left out.
    """
    columns = store.load(settings.header)
    contents = content_rows(columns)
    # A page has a row of the store, and a row with its content, which for a revisit is another one. What
    # could not be extracted is no page: it is listed as a problem.
    sound = np.array([reason in (None, "no_text") for reason in columns.reason], bool)
    rows = np.flatnonzero((contents >= 0) & sound[contents])
    wanted = rows
    if settings.indexable_only:
        pairs = zip(rows.tolist(), contents[rows].tolist(), strict=True)
        wanted = rows[np.array([_is_indexable(columns, *pair) for pair in pairs], bool)]
    return replace(
        _sorted_crawl(columns, wanted, contents[wanted], settings),
        elsewhere=int((contents < 0).sum()),
        not_indexable=len(rows) - len(wanted),
    )


def _sorted_crawl(columns: StoredColumns, rows: Rows, contents: Rows, settings: AuditOptions) -> Crawl:
    """Return the crawl of pages: *rows* of the store, and the rows that their *contents* are in."""
    records = columns.record
    # Pages with the same URL come in the order of their content. The last key of lexsort counts most.
    order = np.lexsort(
        (
            text_places(_taken(columns.note, contents)),
            _record_places(records[contents]),
            text_places(_taken(columns.alternates, contents)),
            columns.noindex[contents],
            text_places(_taken(columns.declared, contents)),
            text_places(_taken(columns.title, contents)),
            columns.fetched[rows],
            records["fingerprint"][contents],
            records["digest"][contents],
            columns.keys[contents, DIGEST],
            text_places(_taken(columns.url, rows)),
        )
    )
    rows, contents = rows[order], contents[order]
    urls = _taken(columns.url, rows)
    keys = np.take(columns.keys.T, contents, axis=1)
    documents = Documents(keys, records[contents], urls, _taken(columns.note, contents))
    moved = np.flatnonzero(rows != contents)  # a page under another URL gets the site of its URL
    documents.records["site"][moved] = [site_key(urls[place]) for place in moved.tolist()]
    sites = documents.records["site"].tolist()
    documents = documents._replace(notes=telling_notes(documents.notes, sites, urls))
    return Crawl(
        ids=columns.id[contents],
        roots=_taken(columns.root, rows),
        urls=urls,
        titles=_taken(columns.title, contents),
        declared=_taken(columns.declared, contents),
        alternates=_taken(columns.alternates, contents),
        noindex=columns.noindex[contents],
        fetched=columns.fetched[rows],
        documents=documents,
        wall=columns.wall[contents],
        long=documents.records["tokens"] >= max(settings.min_tokens, 1),
    )


def _record_places(records: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each of n records among all different ones, by their bytes; int64[n]."""
    whole = np.ascontiguousarray(records).view(np.dtype((np.void, records.dtype.itemsize)))
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _taken(texts: list[_Value], rows: Rows) -> list[_Value]:
    return [texts[row] for row in rows.tolist()]


def _is_indexable(columns: StoredColumns, row: int, content: int) -> bool:
    """Tell whether search engines are to index the page in *row*; its *content* may be in another row."""
    declared = columns.declared[content]
    return not columns.noindex[content] and declared in ("", columns.url[row].partition("#")[0])

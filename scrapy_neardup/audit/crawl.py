"""The pages of an audit as columns, in an order that does not depend on where and when they were read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import site_key

from .revisits import content_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header

    from .names import Names
    from .settings import AuditOptions
    from .store import Store
    from .stored import StoredColumns


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
    # Each page is a row of the store, and the row that its content is in: another one for a revisit.
    pages = [
        (row, content)
        for row, content in enumerate(contents)
        if content is not None and _is_page(columns, content)
    ]
    wanted = [pair for pair in pages if not settings.indexable_only or _is_indexable(columns, *pair)]
    return replace(
        _sorted_crawl(columns, wanted, settings),
        elsewhere=sum(content is None for content in contents),
        not_indexable=len(pages) - len(wanted),
    )


def _sorted_crawl(columns: StoredColumns, pages: list[tuple[int, int]], settings: AuditOptions) -> Crawl:
    """Return the crawl of *pages*: rows of the store, each with the row that its content is in."""
    rows, contents = [row for row, _ in pages], [content for _, content in pages]
    documents = _documents(columns, rows, contents, settings.header)
    times = np.array([columns.fetched[row] for row in rows], float)  # None becomes NaN
    titles = [columns.title[content] for content in contents]
    declared = [columns.declared[content] for content in contents]
    noindex = np.array([columns.noindex[content] for content in contents], bool)
    # Pages with the same URL come in the order of their content. The last key of lexsort counts most.
    order = np.lexsort(
        (
            noindex,
            _places(declared),
            _places(titles),
            times,
            documents.records["fingerprint"],
            documents.records["digest"],
            documents.keys[DIGEST],
            _places(documents.urls),
        )
    )
    ordered = order.tolist()
    documents = documents.take(order)
    return Crawl(
        ids=np.array([columns.id[content] for content in contents], np.int64)[order],
        roots=[columns.root[rows[place]] for place in ordered],
        urls=documents.urls,
        titles=[titles[place] for place in ordered],
        declared=[declared[place] for place in ordered],
        alternates=[columns.alternates[contents[place]] for place in ordered],
        noindex=noindex[order],
        fetched=times[order],
        documents=documents,
        wall=np.array([columns.wall[contents[place]] for place in ordered], bool),
        long=documents.records["tokens"] >= max(settings.min_tokens, 1),
    )


def _documents(columns: StoredColumns, rows: list[int], sources: list[int], header: Header) -> Documents:
    """Return the signatures in the rows *sources* of the store under the URLs in *rows*.

    *header* says how they are laid out. They are zero for a page without main text. A page under another URL
    than its source gets the site of its URL.
    """
    no_keys, no_record = bytes(8 * header.keys), bytes(header.dtype.itemsize)
    keys = b"".join(columns.keys[source] or no_keys for source in sources)
    records = b"".join(columns.record[source] or no_record for source in sources)
    documents = Documents(
        np.frombuffer(keys, np.uint64).reshape(-1, header.keys).T,
        np.frombuffer(records, header.dtype).copy(),
        [columns.url[row] for row in rows],
    )
    moved = [place for place, (row, source) in enumerate(zip(rows, sources, strict=True)) if row != source]
    documents.records["site"][moved] = [site_key(documents.urls[place]) for place in moved]
    return documents


def _is_page(columns: StoredColumns, row: int) -> bool:
    """Tell whether the row is a page. A page whose extraction failed is none: it is listed as a problem."""
    return columns.reason[row] in (None, "no_text")


def _is_indexable(columns: StoredColumns, row: int, content: int) -> bool:
    """Tell whether search engines are to index the page in *row*; its *content* may be in another row."""
    declared = columns.declared[content]
    return not columns.noindex[content] and declared in ("", columns.url[row].partition("#")[0])


def _places(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each text among all, sorted; int64[n]."""
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.fromiter((places[text] for text in texts), np.int64, len(texts))

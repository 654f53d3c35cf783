"""The pages of an audit as columns, in an order that does not depend on where and when they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import DIGEST, filed_url
from scrapy_neardup.matching.sites import site_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header

    from .settings import AuditOptions
    from .store import Store, StoredColumns


@dataclass(frozen=True)
class Crawl:
    """n pages, sorted by URL, text and time: columns of n."""

    #: The numbers of the pages in the store, where their texts are: int64[n].
    ids: NDArray[np.int64]
    urls: list[str]
    titles: list[str]
    #: The canonical URL that a page names, or "".
    declared: list[str]
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
    elsewhere: int

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
    targets = _resolve(columns)
    # Each page is a row of the store, and the row that its content is in: another one for a revisit.
    found = [(row, target) for row, target in enumerate(targets) if target is not None]
    rows = [row for row, target in found if _is_page(columns, target)]
    sources = [target for _, target in found if _is_page(columns, target)]
    documents = _documents(columns, rows, sources, settings.header)
    times = np.array(
        [np.nan if time is None else time for time in (columns.fetched[row] for row in rows)], float
    )
    titles = [columns.title[source] for source in sources]
    declared = [columns.declared[source] for source in sources]
    noindex = np.array([columns.noindex[source] for source in sources], bool)
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
        ids=np.array([columns.id[source] for source in sources], np.int64)[order],
        urls=documents.urls,
        titles=[titles[row] for row in ordered],
        declared=[declared[row] for row in ordered],
        noindex=noindex[order],
        fetched=times[order],
        documents=documents,
        wall=np.array([columns.wall[sources[row]] for row in ordered], bool),
        long=documents.records["tokens"] >= max(settings.min_tokens, 1),
        elsewhere=sum(target is None for target in targets),
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


def _resolve(columns: StoredColumns) -> list[int | None]:
    """Return for each row the row that its content is in, as a list of n.

    That is the row itself for a page. For a revisit it is the page with the digest that it refers to, or else
    the last page that was fetched from the URL that it refers to before the revisit; None if there is no such
    page.
    """
    revisits = [
        row for row, (digest, url) in enumerate(zip(columns.refers_digest, columns.refers_url, strict=True))
        if digest is not None or url is not None
    ]  # fmt: skip
    targets: list[int | None] = list(range(len(columns.id)))
    if not revisits:
        return targets
    among = set(revisits)
    by_digest: dict[str, int] = {}
    by_url: dict[str, list[int]] = {}
    pages = [row for row in range(len(targets)) if row not in among]
    for row in sorted(pages, key=lambda row: _age(columns, row)):
        digest = columns.body_digest[row]
        if digest is not None:
            by_digest.setdefault(digest, row)
        by_url.setdefault(filed_url(columns.url[row]), []).append(row)
    for row in revisits:
        target = by_digest.get(columns.refers_digest[row] or "")
        candidates = by_url.get(filed_url(columns.refers_url[row] or ""), [])
        if target is None and candidates:
            time = columns.fetched[row]
            before = [each for each in candidates if time is None or (columns.fetched[each] or 0) <= time]
            target = before[-1] if before else candidates[0]
        targets[row] = target
    return targets


def _age(columns: StoredColumns, row: int) -> tuple[float, str, bytes]:
    """Return the key by which pages are sorted by time; the order in which they were read plays no part."""
    return columns.fetched[row] or 0, columns.url[row], columns.keys[row] or b""


def _places(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each text among all, sorted; int64[n]."""
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.fromiter((places[text] for text in texts), np.int64, len(texts))

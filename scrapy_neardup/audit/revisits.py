"""Which page a revisit of a web archive is a copy of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.matching.records import filed_url

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .stored import StoredColumns


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

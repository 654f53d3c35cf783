"""Which page a revisit of a web archive is a copy of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.matching.records import filed_url

if TYPE_CHECKING:
    from .stored import StoredColumns


def content_rows(columns: StoredColumns) -> list[int | None]:
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

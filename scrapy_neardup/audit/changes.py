"""What has changed between two audits: pages that are new, gone, or other than before, and in what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import changes, paragraphs_of
from scrapy_neardup.matching.records import filed_url

from .crawl import load_crawl
from .run import opened_audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .settings import AuditOptions
    from .store import Store


def changed_pages(old: Path, new: Path) -> Iterator[dict[str, Any]]:
    """Yield ``url`` and ``change`` of all pages: "new", "gone", "unchanged"; or "changed", and as `changes`.

    Of several pages with one URL the last is taken. Raises `ConfigurationError`.
    """
    if old.resolve() == new.resolve():
        raise ConfigurationError(f"{old} is named twice: name the directories of two audits.")
    with opened_audit(old) as (before, options), opened_audit(new) as (after, others):
        one, other = (store.meta("identity")["extractor"] for store in (before, after))
        if one != other:
            raise ConfigurationError(
                f"{new} has texts of another extractor ({other}, not {one}): audit one crawl anew."
            )
        known, found = _last(before, options), _last(after, others)
        for url in sorted(known | found):
            if url not in known or url not in found:
                yield {"url": url, "change": "gone" if url in known else "new"}
                continue
            was, now = before.main_text(known[url]), after.main_text(found[url])
            if was == now:
                yield {"url": url, "change": "unchanged"}
            else:
                texts = [main.text if main else "" for main in (was, now)]
                what = changes(b"".join(paragraphs_of(texts[0])), paragraphs_of(texts[1]))
                yield {"url": url, "change": "changed", **what}


def _last(store: Store, options: AuditOptions) -> dict[str, int]:
    """Return where the text of each URL is in *store*: of the page that was fetched last."""
    crawl = load_crawl(store, options)
    order = np.argsort(np.nan_to_num(crawl.fetched), kind="stable").tolist()
    return {filed_url(crawl.urls[row]): int(crawl.ids[row]) for row in order}

"""HTML files: pages saved from a browser, mirrors of sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.extraction.guards import is_binary
from scrapy_neardup.matching.sites import site_key

from .mirror import mirror_url, saved_from
from .records import CrawledPage, Origin, Skipped
from .streams import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .records import Options, Record


def read_html(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the page in a file: under the URL that it was saved or mirrored from, else that of the file."""
    body = read_whole(path)
    origin = Origin(label)
    if not body.strip():
        yield Skipped(origin, "empty")
    elif is_binary(body):
        yield Skipped(origin, "not_html")
    else:
        mirrored = mirror_url(path, options.folder or path.parent, options.base_url)
        own = saved_from(body)
        if own and mirrored and site_key(own) != site_key(mirrored):
            own = None  # by its word a page would take the place of another site's
        url = own or mirrored or path.absolute().as_uri()
        yield CrawledPage(url, None, body, None, None, origin)

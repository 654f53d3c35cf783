"""HTML files: pages saved from a browser, mirrors of sites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_neardup.extraction.guards import is_binary

from .records import CrawledPage, Origin, Skipped
from .streams import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .records import Options, Record

#: What browsers write into the pages that they save, with the length of the URL.
_SAVED_FROM = re.compile(rb"<!--\s*saved from url=\(\d{4,}\)(https?://[^\s>]+)\s*-->")


def read_html(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the page in a file: under the URL that it was saved from, or else that of the file."""
    body = read_whole(path)
    origin = Origin(label)
    if not body.strip():
        yield Skipped(origin, "empty")
    elif is_binary(body):
        yield Skipped(origin, "not_html")
    else:
        saved = _SAVED_FROM.search(body[:4096])
        url = saved[1].decode("utf-8", "replace") if saved else path.absolute().as_uri()
        yield CrawledPage(url, None, body, None, None, origin)

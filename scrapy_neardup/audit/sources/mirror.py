"""The URL of a page in a mirror of a site, as wget and HTTrack lay them out: the host is a folder.

What a page says of itself comes first, see `saved_from`, if it names no other site than the rest does; then
the base URL that the user names; then a folder that is called like a host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from scrapy_neardup.matching.sites import is_domain

if TYPE_CHECKING:
    from pathlib import Path

#: What browsers write into the pages that they save, with the length of the URL; and what HTTrack writes.
_SAVED = re.compile(rb"<!--\s*saved from url=\(\d{4,}\)(https?://[^\s>]+)\s*-->")
_MIRRORED = re.compile(rb"<!--\s*Mirrored from ([^\s>]+) by HTTrack")
#: Bytes of a page in which that is looked for.
_START = 4096
_INDEX = ("index.html", "index.htm")
#: What stays as it is in a part of a path: a name with a ? is one with a query.
_SAFE = "%?=&;:@!$'()*+,~[]"


def saved_from(body: bytes) -> str | None:
    """Return the URL that a page says that it was saved from; None if it says nothing."""
    start = body[:_START]
    if saved := _SAVED.search(start):
        return saved[1].decode("utf-8", "replace")
    if mirrored := _MIRRORED.search(start):
        url = mirrored[1].decode("utf-8", "replace")
        return url if "://" in url else f"https://{url}"
    return None


def mirror_url(path: Path, folder: Path, base_url: str | None) -> str | None:
    """Return the URL of the page in the file *path*, which is somewhere in *folder*; None if it is not known.

    *base_url* is that of *folder*. Without it, the host is the first folder below *folder* that is called
    like one, or else the last such folder above. An index file has the URL of its folder.
    """
    below = list(path.relative_to(folder).parts)
    if base_url is not None:
        return f"{base_url.rstrip('/')}/{_path(below)}"
    above = list(folder.absolute().parts)
    for place, name in enumerate(below[:-1]):
        if is_domain(name):
            return f"https://{name.lower()}/{_path(below[place + 1 :])}"
    for place in range(len(above) - 1, -1, -1):
        if is_domain(above[place]):
            return f"https://{above[place].lower()}/{_path(above[place + 1 :] + below)}"
    return None


def _path(parts: list[str]) -> str:
    """Return the path of a file in a folder, as URLs have it."""
    last = "" if parts[-1].lower() in _INDEX else parts[-1]
    return "/".join(
        quote(part.encode("utf-8", "surrogateescape"), safe=_SAFE) for part in [*parts[:-1], last]
    )

"""URLs as an audit sees them: where a page is, and the release that its path names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_URL = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?")
#: More than this is no query of a site that works.
MAX_PARAMETERS = 30


class Url(NamedTuple):
    """The parts of a URL, of any string; a fragment is left out. Never raises."""

    scheme: str
    host: str
    path: str
    #: Parts of the query, as they stand.
    query: tuple[str, ...]


def split_url(url: str) -> Url:
    """Split *url* into lower-case scheme and host (with a port that is not the default), path and query."""
    match = _URL.match(url.strip())
    assert match is not None  # every part is optional
    scheme, authority, path, query = match.groups(default="")
    scheme, host = _site(scheme, authority)
    parts = tuple(part for part in query.split("&", MAX_PARAMETERS)[:MAX_PARAMETERS] if part) if query else ()
    return Url(scheme, host, path if path or not host else "/", parts)


@lru_cache(maxsize=10_000)
def _site(scheme: str, authority: str) -> tuple[str, str]:
    """Return scheme and host as `Url` has them; the same objects for the many pages of a site."""
    scheme = scheme.lower()
    host = authority.rpartition("@")[2].lower()
    default_port = {"http": ":80", "https": ":443"}.get(scheme, "")
    return scheme, host.removesuffix(default_port)


#: Parts of a path that name a release: numbers, perhaps after a v; words that stand for the newest one, or
#: for one that is not out yet.
_RELEASE = re.compile(r"v?\d{1,9}(?:[._]\d{1,9}){0,5}(?:[._]x)?")
_STANDING = frozenset(("stable", "latest", "current", "dev", "main", "master", "nightly"))
#: It may be that of a date.
_YEAR = re.compile(r"(?:19|20)\d\d")


def place_of(url: str) -> tuple[str, str]:
    """Return the folder of the first release that the path of *url* names, and *url* without its name.

    "" each if it names none; the latter too if it is the page of the release itself.
    """
    parts = split_url(url).path.lower().split("/")
    for number, part in enumerate(parts, 1):
        if _YEAR.fullmatch(part):
            break
        if part in _STANDING or _RELEASE.fullmatch(part):
            folder = "/".join(parts[:number])
            start, _, end = url.lower().partition(folder + "/")
            return folder, f"{start}{folder.rpartition('/')[0]}//{end}" if end else ""
    return "", ""

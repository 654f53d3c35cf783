"""URLs as an audit sees them: where a page is, and the release that its path names."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": ":80", "https": ":443"}


def split_url(url: str) -> SplitResult:
    """Split any string: what is no URL is a path. The host has its port, unless that is the default."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # such as an address in brackets that is none
        return SplitResult("", "", url, "", "")
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_PORTS.get(parts.scheme, ""))
    return SplitResult(parts.scheme, host, parts.path or "/" * bool(host), parts.query, parts.fragment)


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

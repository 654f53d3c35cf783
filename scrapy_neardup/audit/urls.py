"""URLs as an audit sees them: where a page is, the release and the pattern that its path names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_plus

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


def parameter_name(part: str) -> str:
    """Return the decoded name in one part of a query: ``a`` for ``a=1``."""
    return unquote_plus(part.partition("=")[0], errors="replace")


_DATE = re.compile(r"(?:19|20)\d\d(?:-?[01]\d(?:-?[0-3]\d)?)?")
_NUMBER = re.compile(r"\d+")
_ID = re.compile(r"[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|(?=\w*\d)(?=\w*[a-zA-Z])\w{10,}", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[a-zA-Z][a-zA-Z0-9]{1,4}$")


@lru_cache(maxsize=10_000)
def generalise(segment: str) -> str:
    """Return what a path segment is one of: ``{date}``, ``{number}``, ``{id}``, ``{slug}``, or itself.

    >>> [generalise(s) for s in ("2024", "17", "9f86d081884c", "how-to-cook-rice.html", "news")]
    ['{date}', '{number}', '{id}', '{slug}.html', 'news']
    """
    extension = _EXTENSION.search(segment) if "." in segment else None
    end = extension.group() if extension else ""
    stem = segment.removesuffix(end)
    if _DATE.fullmatch(stem):
        return "{date}" + end
    if _NUMBER.fullmatch(stem):
        return "{number}" + end
    if _ID.fullmatch(stem):
        return "{id}" + end
    if len(stem) > 24 or stem.count("-") + stem.count("_") >= 2:
        return "{slug}" + end
    return segment


#: Parts of a path that name a release: numbers, perhaps after a v; and words that stand for the newest one,
#: or for one that is not out yet.
_RELEASE = re.compile(r"v?(\d{1,9}(?:[._]\d{1,9}){0,5})(?:[._]x)?")
#: A name before a release, of two numbers or more.
_OF_PRODUCT = re.compile(r"([a-z][a-z0-9_+-]{0,99}?)[-_]v?(\d{1,9}(?:\.\d{1,9}){1,5})")
_STANDING = {"stable": 2, "latest": 2, "current": 2, "dev": -1, "main": -1, "master": -1, "nightly": -1}
_YEAR = re.compile(r"(?:19|20)\d\d")


class Release(NamedTuple):
    """The release that a path names."""

    #: Numbers that compare, the newest release the greatest; () if the path names none.
    order: tuple[int, ...]
    #: The path up to its name; "" if it names none, or a year, which may be that of a date.
    folder: str
    #: The name of what it is a release of, where the path has it in the same part; else "".
    product: str = ""


def release_of(url: str) -> Release:
    """Return the first release that the path of *url* names."""
    parts = split_url(url).path.lower().split("/")
    for number, part in enumerate(parts, 1):
        if number < len(parts) and (found := _OF_PRODUCT.fullmatch(part)):
            order = (0, *map(int, found[2].split(".")))
            return Release(order, "/".join(parts[:number]), found[1])
        folder = "/".join(parts[:number])
        if part in _STANDING:
            return Release((_STANDING[part],), folder)
        if found := _RELEASE.fullmatch(part):
            numbers = found[1]
            # 0110 is 0.11.0, 082 is 0.8.2.
            if numbers.startswith("0") and "." not in numbers and len(numbers) > 1:
                numbers = f"0.{numbers[1:-1]}.{numbers[-1]}" if len(numbers) > 2 else f"0.{numbers[1]}"
            order = (0, *map(int, re.split(r"[._]", numbers)))
            return Release(order, "" if _YEAR.fullmatch(part) else folder)
    return Release((), "")


def place_of(url: str) -> tuple[str, str]:
    """Return the folder of the release that *url* names, and *url* without it; "" each if it names none."""
    _, folder, product = release_of(url)
    start, _, end = url.lower().partition(folder + "/")
    page = f"{start}{folder.rpartition('/')[0]}/{product}/{end}" if folder and end else ""
    return folder, page

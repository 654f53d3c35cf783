"""What the items of a feed say beside their texts: two items of one site that differ are no copies.

A note has two of the descriptions of `matching.items`: of what people see, and of codes, such as numbers of
articles. A code that is another one on every page of a site says nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy_neardup.matching.items import Described, ItemNotes, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

#: A code says nothing if it is another one on each of so many pages of a site, or of more.
UNIQUE = 20
#: Last words of the names of fields that say where an item stands or stood, not what it says.
_PLACES = re.compile(
    r"(?:^|[\W_]|(?<=[a-z])(?=[A-Z]))(?:u?u?id|guid|pk|key|url|uri|link|href|hash|digest|md5|sha1|sha256"
    r"|checksum|fingerprint|etag|position|pos|index|row|line|offset|ordinal|seq|sequence|depth|timestamp)$",
    re.IGNORECASE,
)
_FETCHED = re.compile(r"crawl|fetch|scrap|download|retriev|extracted", re.IGNORECASE)
#: Numbers that people see, whatever they are.
_SEEN = re.compile(
    r"price|cost|amount|total|size|weight|year|date|time|stock|quantity|count|area|rating|score|title|name"
    r"|model|headline",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?!\d{4}-\d\d-\d\d$)[\w-]*\d[\w-]*", re.ASCII)
_NOTES = ItemNotes()
_NOTHING = Described({}, {})


def note_of(item: Mapping[str, Any], without: Collection[str] = ()) -> bytes:
    """Return the note of an item. *without* are the names of fields that hold its text, URL and time.

    URLs, fields that are called like identifiers, digests, positions and times of crawling say nothing.
    """
    seen, codes = dict[str, Any](), dict[str, Any]()
    for name, value in item.items():
        if name in without or _PLACES.search(name) or _FETCHED.search(name):
            continue
        (codes if _is_code(value) and not _SEEN.search(name) else seen)[name] = value
    return pack([_NOTES.describe(seen), _NOTES.describe(codes)])


def telling_notes(notes: Sequence[bytes], sites: Sequence[int], urls: Sequence[str]) -> list[bytes]:
    """Return the *notes* of n pages without the codes that say nothing on their site."""
    values: dict[tuple[int, int], set[tuple[str, bytes]]] = defaultdict(set)
    for note, site, url in zip(notes, sites, urls, strict=True):
        for key, value in codes_of(note):
            values[site, key].add((url, value))
    idle: dict[int, set[int]] = defaultdict(set)
    for (site, key), each in values.items():
        if len(each) >= UNIQUE and len({value for _, value in each}) == len(each):
            idle[site].add(key)
    return [without_codes(note, idle.get(site, ())) for note, site in zip(notes, sites, strict=True)]


def codes_of(note: bytes) -> Iterable[tuple[int, bytes]]:
    """Return the codes of a note: the hash of a name, and what it says."""
    return _items(note)[1].said.items() if note else ()


def without_codes(note: bytes, keys: Collection[int]) -> bytes:
    """Return *note* without the codes that have *keys*, and the same bytes for notes that say the same."""
    if not note or not keys:
        return note
    seen, codes = _items(note)
    return pack([seen, Described({key: each for key, each in codes.said.items() if key not in keys}, {})])


@lru_cache(maxsize=1 << 12)
def differ(one: bytes, other: bytes) -> bool:
    """Tell whether two notes say different things; an empty one says nothing."""
    if not one or not other or one == other:
        return False
    return any(_NOTES.difference(*pair) for pair in zip(_items(one), _items(other), strict=True))


def clashing(notes: Iterable[bytes]) -> Iterator[int]:
    """Yield the places of the *notes* that differ from one before that is not among these itself."""
    kept: dict[bytes, None] = {}
    for place, note in enumerate(notes):
        if note in kept:
            continue
        if any(differ(note, each) for each in kept):
            yield place
        else:
            kept[note] = None


@lru_cache(maxsize=1 << 12)
def _items(note: bytes) -> tuple[Described, Described]:
    seen, codes, *_ = [*unpack(note), _NOTHING, _NOTHING]
    return seen, codes


def _is_code(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    return isinstance(value, str) and bool(_CODE.fullmatch(value.strip()))

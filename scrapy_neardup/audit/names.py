"""What tells pages of one site apart whatever their texts: words of their titles, and what their items say.

Of titles, what the site or a release adds does not count. What the item of a page says is its *note*: two of
the descriptions of `matching.items`, of what people see and of codes, such as numbers of articles.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from scrapy_neardup.matching.boilerplate import TITLES
from scrapy_neardup.matching.items import Described, ItemNotes, pack, unpack

from .urls import place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

#: A headline on pages with so many different titles in their heads names a kind of page. One article may be
#: shown in some sections, too, under their names.
HEADS = 5
#: A word, or several that dots or colons make one name of: ``package.module.Class``, ``3.7.1``.
_WORD = re.compile(r"\w+(?:[.:]+\w+)*")
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
_NOTHING: Described = {}

Words = frozenset[str]
_Group = TypeVar("_Group", bound=Hashable)
_NONE: Words = frozenset()


class Names(NamedTuple):
    """The names of n pages: lists of n. Words are found when they are asked for, as few are."""

    #: The title that each page is compared by, its headline where it has one; "" if not known.
    own: list[str]
    #: The title in its head.
    head: list[str]
    #: The words that its site and its release put into titles, which are no part of its name.
    common: list[Words]
    #: The URL without the release that it names, the same for a page in all releases; "" if it names none.
    page: list[str]
    #: Whether few pages of its site have the title in its head.
    rare: list[bool]
    #: Whether pages with several other titles in their heads have its own title, too: that names a kind of
    #: page.
    general: list[bool]

    def differ(self, a: int, b: int) -> bool:
        """Tell whether each of two pages has a word in its name that the other lacks.

        Words differ in case, too, if as many others have the same capitals.
        """
        one, other = self._words(self.own, a), self._words(self.own, b)
        if one - other and other - one:
            return True
        if self._has_two(a) or self._has_two(b):
            heads = self._words(self.head, a), self._words(self.head, b)
            if heads[0] - heads[1] and heads[1] - heads[0]:
                return True
        return one == other and _differ_in_case(self.own[a], self.own[b], one)

    def are_releases(self, a: int, b: int) -> bool:
        """Tell whether two pages are the same page of two releases, by URL and name."""
        return bool(self.page[a]) and self.page[a] == self.page[b] and self._are_equal(self.own, a, b)

    def are_equal(self, a: int, b: int) -> bool:
        """Tell whether two pages have the same words in both titles."""
        return self._are_equal(self.own, a, b) and self._are_equal(self.head, a, b)

    def _are_equal(self, titles: list[str], a: int, b: int) -> bool:
        return self._words(titles, a) == self._words(titles, b)

    def _has_two(self, page: int) -> bool:
        """Tell whether the title in the head is a second name of the page, see `name_pages`."""
        own, head = self._words(self.own, page), self._words(self.head, page)
        alike = 2 * len(own & head) >= max(len(own), len(head))
        return self.rare[page] and (self.general[page] or not alike)

    def _words(self, titles: list[str], page: int) -> Words:
        return _words(titles[page]) - self.common[page]


def name_pages(
    sites: Sequence[int], urls: Sequence[str], heads: Sequence[str], titles: Sequence[str]
) -> tuple[Names, dict[int, str]]:
    """Return the names of n pages, and by number of page the titles to compare in place of its own.

    *heads* are the titles in the heads of pages, *titles* those that extractors took, such as headlines; ""
    where not known.

    A word in most titles of a site, or in those of a release but not of all, belongs to it, if these are
    `TITLES` different titles at least. A headline of the site's words alone is replaced by the title in the
    head. That title is a second name if it has little in common with the headline, or if the headline stands
    on pages with `HEADS` different titles, as "Project Team" does; but not if `TITLES` pages have it.
    """
    placed = [place_of(url) for url in urls]
    common = _common(sites, heads)
    rows = [row for row, (folder, _) in enumerate(placed) if folder]
    of_folders = _common([(sites[row], placed[row][0]) for row in rows], [heads[row] for row in rows])
    releases: dict[int, list[Words]] = defaultdict(list)
    for (site, _), words in of_folders.items():
        releases[site].append(words)
    # The words that all releases of a site have are no release's.
    everywhere = {site: frozenset.intersection(*each) for site, each in releases.items()}
    headed = _numbered(sites, heads)
    rare = (np.bincount(headed) < TITLES)[headed].tolist()
    own: list[str] = []
    rest: list[Words] = []
    together: dict[tuple[int, str], Words] = {}
    instead: dict[int, str] = {}
    for row, (site, (folder, _), in_head, title) in enumerate(zip(sites, placed, heads, titles, strict=True)):
        of_site = common.get(site, _NONE)
        of_release = of_folders.get((site, folder), _NONE) - everywhere.get(site, _NONE) if folder else _NONE
        chosen, shown = choose_title(in_head, title, of_site, of_release)
        if shown != title:
            instead[row] = shown
        own.append(chosen)
        rest.append(together.setdefault((site, folder), of_site | of_release))
    pairs = np.unique(np.stack((_numbered(sites, own), headed), axis=1), axis=0)
    general = (np.bincount(pairs[:, 0]) >= HEADS)[_numbered(sites, own)].tolist()
    return Names(own, [*heads], rest, [page for _, page in placed], rare, general), instead


def _numbered(sites: Sequence[int], titles: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each title, the same for the same one of one site; int64[n]."""
    numbers: dict[tuple[int, str], int] = {}
    each = zip(sites, titles, strict=True)
    return np.array([numbers.setdefault(title, len(numbers)) for title in each], np.int64)


def choose_title(in_head: str, title: str, of_site: Words, of_release: Words) -> tuple[str, str]:
    """Return the title that a page is compared by, and the same without the words of its release.

    It is the *title* that an extractor took, or the one *in_head* where the former has only words *of_site*.
    """
    if title and all_words(title) <= of_site and not all_words(in_head) <= of_site:
        title = in_head
    every = _WORD.findall(title) if of_release else []
    kept = [word for word in every if word.casefold() not in of_release]
    return title, " ".join(kept) if kept and len(kept) < len(every) else title


def _differ_in_case(one: str, other: str, name: Words) -> bool:
    """Tell whether words of a *name* differ in case in two titles, and as many with capitals do not.

    So ``LINK /Fr`` is not ``LINK /FR``, but a headline in capitals is the same headline, and ``and`` may be
    ``And``: a capital at the beginning of a word alone says nothing, as any word may begin a sentence.
    """
    mine, others = ({*_WORD.findall(title)} for title in (one, other))
    small, others_small = (
        {word.lower() if word[1:] == word[1:].lower() else word for word in each if word.casefold() in name}
        for each in (mine, others)
    )
    return 0 < len(small - others_small) <= len({word for word in mine & others if word != word.lower()})


def _common(groups: Sequence[_Group], titles: Iterable[str]) -> dict[_Group, Words]:
    """Return the words that stand in more than half of the different titles of each group."""
    different: dict[_Group, set[str]] = defaultdict(set)
    for group, title in zip(groups, titles, strict=True):
        if title:
            different[group].add(title)
    found = {}
    for group, each in different.items():
        if len(each) >= TITLES:
            counts = Counter(word for title in each for word in all_words(title))
            found[group] = frozenset(word for word, count in counts.items() if 2 * count > len(each))
    return found


def all_words(title: str) -> Words:
    """Return the words of *title*, without regard to case."""
    return frozenset(_WORD.findall(title.casefold()))


#: The same, where one title is compared with several.
_words = lru_cache(maxsize=1024)(all_words)


def note_of(item: Mapping[str, Any], without: Collection[str] = ()) -> bytes:
    """Return the note of an item. *without* are the names of fields that hold its text, URL and time.

    URLs, fields that are called like identifiers, digests, positions and times of crawling say nothing.
    """
    seen, codes = dict[str, Any](), dict[str, Any]()
    for name, value in item.items():
        if name in without or _PLACES.search(name) or _FETCHED.search(name):
            continue
        number = isinstance(value, int) and not isinstance(value, bool)
        code = number or (isinstance(value, str) and bool(_CODE.fullmatch(value.strip())))
        (codes if code and not _SEEN.search(name) else seen)[name] = value
    return pack([_NOTES.describe(seen), _NOTES.describe(codes)])


def telling_notes(notes: Sequence[bytes], sites: Sequence[int], urls: Sequence[str]) -> list[bytes]:
    """Return the *notes* of n pages without the codes that are other ones on every page of a site."""
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
    return _items(note)[1].items() if note else ()


def without_codes(note: bytes, keys: Collection[int]) -> bytes:
    """Return *note* without the codes that have *keys*, and the same bytes for notes that say the same."""
    if not note or not keys:
        return note
    seen, codes = _items(note)
    return pack([seen, {key: each for key, each in codes.items() if key not in keys}])


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

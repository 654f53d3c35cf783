"""What tells pages of one site apart: the words of their titles, less what the site or a release adds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from scrapy_neardup.matching.boilerplate import TITLES

from .urls import split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

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


#: A headline on pages with so many different titles in their heads names a kind of page. One article may be
#: shown in some sections, too, under their names.
HEADS = 5
#: A word, or several that dots or colons make one name of: ``package.module.Class``, ``3.7.1``.
_WORD = re.compile(r"\w+(?:[.:]+\w+)*")

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
        if _differ(one, other):
            return True
        if (self._has_two(a) or self._has_two(b)) and _differ(
            self._words(self.head, a), self._words(self.head, b)
        ):
            return True
        return one == other and _differ_in_case(_written(self.own[a]), _written(self.own[b]), one)

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
        if not self.rare[page]:
            return False
        return self.general[page] or not _much_alike(
            self._words(self.own, page), self._words(self.head, page)
        )

    def _words(self, titles: list[str], page: int) -> Words:
        return _words(titles[page]) - self.common[page]


def name_pages(
    sites: Sequence[int], urls: Sequence[str], heads: Sequence[str], titles: Sequence[str]
) -> tuple[Names, dict[int, str]]:
    """Return the names of n pages, and by number of page the titles to compare in place of its own.

    *heads* are the titles in the heads of pages, *titles* those that extractors took, such as headlines; ""
    where not known.

    A word in most titles of a site belongs to the site. A word in most titles of a release, but not in those
    of all releases of the site, belongs to that release. Both need at least `TITLES` different titles. Pages
    are compared without the words of releases. A headline with no words but the site's, such as the name of
    the site over the menu, is replaced by the title in the head.

    The title in the head is a second name if it has little in common with the headline, or if the headline
    stands on pages with `HEADS` different titles, as "Project Team" does. It is none if `TITLES` pages have
    it, as that of a section.
    """
    folders: list[str] = []
    pages: list[str] = []
    for url in urls:
        folder, page = place_of(url)
        folders.append(folder)
        pages.append(page)
    common = _common(sites, heads)
    in_folders = [row for row, folder in enumerate(folders) if folder]
    places = [(sites[row], folders[row]) for row in in_folders]
    of_folders = _common(places, [heads[row] for row in in_folders])
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
    for row, (site, folder, in_head, title) in enumerate(zip(sites, folders, heads, titles, strict=True)):
        of_site = common.get(site, _NONE)
        of_release = of_folders.get((site, folder), _NONE) - everywhere.get(site, _NONE) if folder else _NONE
        chosen, shown = choose_title(in_head, title, of_site, of_release)
        if shown != title:
            instead[row] = shown
        own.append(chosen)
        rest.append(together.setdefault((site, folder), of_site | of_release))
    general = _are_general(_numbered(sites, own), headed)
    return Names(own, [*heads], rest, pages, rare, general.tolist()), instead


def _numbered(sites: Sequence[int], titles: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each title, the same for the same one of one site; int64[n]."""
    numbers: dict[str, int] = {}
    codes = [
        numbers.setdefault(title, len(numbers)) << 32 | site
        for site, title in zip(sites, titles, strict=True)
    ]
    return np.unique(np.array(codes, np.uint64), return_inverse=True)[1].astype(np.int64)


def _are_general(titles: NDArray[np.int64], heads: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which of *titles* stand on pages with `HEADS` different *heads*: numbers of n; bool[n]."""
    pairs = np.unique(np.stack((titles, heads), axis=1), axis=0)
    return np.asarray((np.bincount(pairs[:, 0]) >= HEADS)[titles])


def choose_title(in_head: str, title: str, of_site: Words, of_release: Words) -> tuple[str, str]:
    """Return the title that a page is compared by, and the same without the words of its release.

    It is the *title* that an extractor took, or the one *in_head* where the former has only words *of_site*.
    """
    chosen = title
    if title and _has_only(title, of_site) and not _has_only(in_head, of_site):
        chosen = in_head
    return chosen, _without(chosen, of_release)


def _differ(one: Words, other: Words) -> bool:
    """Tell whether each has a word that the other lacks."""
    return bool(one - other) and bool(other - one)


def _much_alike(one: Words, other: Words) -> bool:
    """Tell whether half of the words of each are in the other."""
    return 2 * len(one & other) >= max(len(one), len(other))


def _written(title: str) -> Words:
    """Return the words of *title* as they are written."""
    return frozenset(_WORD.findall(title))


def _differ_in_case(one: Words, other: Words, name: Words) -> bool:
    """Tell whether words of a *name* differ in case in two titles, and as many with capitals do not.

    So ``LINK /Fr`` is not ``LINK /FR``, but a headline in capitals is the same headline, and ``and`` may be
    ``And``.
    """
    mine, others = ({_small(word) for word in words if word.casefold() in name} for words in (one, other))
    return 0 < len(mine - others) <= sum(word != word.lower() for word in one & other)


def _small(word: str) -> str:
    """Return *word* in small letters if no capital but the first is in it: any word may begin a sentence."""
    return word.lower() if word[1:] == word[1:].lower() else word


def place_of(url: str) -> tuple[str, str]:
    """Return the folder of the release that *url* names, and *url* without it; "" each if it names none."""
    release = release_of(url)
    return release.folder, _without_release(url, release)


def _without_release(url: str, release: Release) -> str:
    """Return *url* without the name of *release*, which its path begins with; "" if it names none."""
    folder = release.folder
    start, _, end = url.lower().partition(folder + "/")
    return f"{start}{folder.rpartition('/')[0]}/{release.product}/{end}" if folder and end else ""


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


def _has_only(title: str, words: Words) -> bool:
    """Tell whether *title* has no words but *words*."""
    return all(found[0] in words for found in _WORD.finditer(title.casefold()))


def _without(title: str, words: Collection[str]) -> str:
    """Return *title* without *words*; unchanged if it has none of them, or no other word."""
    every = _WORD.findall(title) if words else []
    kept = [word for word in every if word.casefold() not in words]
    return " ".join(kept) if kept and len(kept) < len(every) else title

"""What tells pages of one site apart: the words of their titles, less what the site or a release adds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from scrapy_neardup.matching.boilerplate import TITLES

from .releases import Release, release_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

#: A word, or several that dots or colons make one name of: ``package.module.Class``, ``3.7.1``.
_WORD = re.compile(r"\w+(?:[.:]+\w+)*")

Words = frozenset[str]
_Group = TypeVar("_Group", bound=Hashable)
_NONE: Words = frozenset()


class Names(NamedTuple):
    """The names of n pages: lists of n."""

    #: Words of the title that each page is compared by, its headline where it has one; empty if not known.
    own: list[Words]
    #: Words of the title in its head.
    head: list[Words]
    #: The URL without the release that it names, the same for a page in all releases; "" if it names none.
    page: list[str]
    #: Whether the title in its head says more of what it is, or something else: it is a name, too.
    two: list[bool]
    #: The words of the compared title as they are written, with those of the site.
    written: list[Words]

    def differ(self, a: int, b: int) -> bool:
        """Tell whether each of two pages has a word in its name that the other lacks.

        Words differ in case, too, if as many others have the same capitals.
        """
        if _differ(self.own[a], self.own[b]):
            return True
        if (self.two[a] or self.two[b]) and _differ(self.head[a], self.head[b]):
            return True
        return self.own[a] == self.own[b] and _differ_in_case(self.written[a], self.written[b], self.own[a])

    def are_releases(self, a: int, b: int) -> bool:
        """Tell whether two pages are the same page of two releases, by URL and name."""
        return bool(self.page[a]) and self.page[a] == self.page[b] and self.own[a] == self.own[b]

    def are_equal(self, a: int, b: int) -> bool:
        """Tell whether two pages have the same words in both titles."""
        return self.own[a] == self.own[b] and self.head[a] == self.head[b]


def name_pages(
    sites: Sequence[int], urls: Sequence[str], heads: Sequence[str], titles: Sequence[str]
) -> tuple[Names, dict[int, str]]:
    """Return the names of n pages, and by number of page the titles to compare in place of its own.

    *heads* are the titles in the heads of pages, *titles* those that extractors took, such as headlines; ""
    where not known. A word that stands in most titles of a site is the site's; one that stands in most
    of those of a release, but not of all releases of the site, is that release's. Both of `TITLES` titles at
    least. Pages are compared without the words of releases, and a headline that has only words of the site,
    such as its name over the menu, is replaced by the title in the head. That is a second name if it has
    little in common with the headline, unless `TITLES` pages have it, as that of a section.
    """
    releases_of = [release_of(url) for url in urls]
    folders = [each.folder for each in releases_of]
    places = list(zip(sites, folders, strict=True))
    common = _common(sites, heads)
    of_folders = _common(places, heads)
    releases: dict[int, list[Words]] = defaultdict(list)
    for site, folder in dict.fromkeys(places):
        if folder and (site, folder) in of_folders:
            releases[site].append(of_folders[site, folder])
    # The words that all releases of a site have are no release's.
    everywhere = {site: frozenset.intersection(*each) for site, each in releases.items()}
    pages_with = Counter(zip(sites, heads, strict=True))
    own: list[Words] = []
    head: list[Words] = []
    two: list[bool] = []
    written: list[Words] = []
    instead: dict[int, str] = {}
    for row, (site, folder, in_head, title) in enumerate(zip(sites, folders, heads, titles, strict=True)):
        of_site = common.get(site, _NONE)
        of_release = of_folders.get((site, folder), _NONE) - everywhere.get(site, _NONE) if folder else _NONE
        chosen = title
        if title and _words(title) <= of_site and not _words(in_head) <= of_site:
            chosen = in_head
        shown = _without(chosen, of_release)
        if shown != title:
            instead[row] = shown
        rest = of_site | of_release
        own.append(_words(chosen) - rest)
        head.append(_words(in_head) - rest)
        two.append(pages_with[site, in_head] < TITLES and not _much_alike(own[-1], head[-1]))
        written.append(frozenset(_WORD.findall(chosen)))
    pages = [_without_release(url, release) for url, release in zip(urls, releases_of, strict=True)]
    return Names(own, head, pages, two, written), instead


def _differ(one: Words, other: Words) -> bool:
    """Tell whether each has a word that the other lacks."""
    return bool(one - other) and bool(other - one)


def _much_alike(one: Words, other: Words) -> bool:
    """Tell whether half of the words of each are in the other."""
    return 2 * len(one & other) >= max(len(one), len(other))


def _differ_in_case(one: Words, other: Words, name: Words) -> bool:
    """Tell whether words of a *name* differ in case in two titles, and as many with capitals do not.

    So ``LINK /Fr`` is not ``LINK /FR``, but a headline in capitals is the same headline, and ``and`` may be
    ``And``.
    """
    mine, others = ({_small(word) for word in words if word.casefold() in name} for words in (one, other))
    return 0 < len(mine - others) <= sum(word != word.lower() for word in one & other)


def _small(word: str) -> str:
    """Return *word* as it is written where no sentence begins."""
    return word.lower() if word[1:] == word[1:].lower() else word


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
            counts = Counter(word for title in each for word in _words(title))
            found[group] = frozenset(word for word, count in counts.items() if 2 * count > len(each))
    return found


def _words(title: str) -> Words:
    return frozenset(_WORD.findall(title.casefold()))


def _without(title: str, words: Collection[str]) -> str:
    """Return *title* without *words*, as it is if it has none of them, or nothing else."""
    every = _WORD.findall(title)
    kept = [word for word in every if word.casefold() not in words]
    return " ".join(kept) if kept and len(kept) < len(every) else title

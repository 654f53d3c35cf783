"""What tells pages of one site apart: the words of their titles, but for those that the site or a release adds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.matching.boilerplate import TITLES

from .releases import release_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

#: A word, or several that dots or colons make one name of: ``package.module.Class``, ``3.7.1``.
_WORD = re.compile(r"\w+(?:[.:]+\w+)*")

Words = frozenset[str]
_NONE: Words = frozenset()


class Names(NamedTuple):
    """The names of n pages: lists of n."""

    #: Words of the title that each page is compared by, its headline where it has one; empty if not known.
    own: list[Words]
    #: Words of the title in its head.
    head: list[Words]

    def differ(self, a: int, b: int) -> bool:
        """Tell whether each of two pages has a word in its name that the other lacks."""
        one, other = self.own[a], self.own[b]
        return bool(one - other) and bool(other - one)

    def are_equal(self, a: int, b: int) -> bool:
        """Tell whether two pages have the same words in both titles."""
        return self.own[a] == self.own[b] and self.head[a] == self.head[b]


def name_pages(
    sites: Sequence[int], urls: Sequence[str], heads: Sequence[str], titles: Sequence[str]
) -> tuple[Names, dict[int, str]]:
    """Return the names of n pages, and by number of page the titles that should be compared in place of its own.

    *heads* are the titles in the heads of pages, *titles* those that extractors took, such as headlines; ""
    where not known. A word that stands in most titles of a site is the site's; one that stands in most
    of those of a release, but not of all releases of the site, is that release's. Both of `TITLES` titles at
    least. Pages are compared without the words of releases, and a headline that has only words of the site,
    such as its name over the menu, is replaced by the title in the head.
    """
    folders = [release_of(url).folder for url in urls]
    common = _common(sites, heads)
    of_folders = _common(list(zip(sites, folders, strict=True)), heads)
    releases: dict[int, list[Words]] = defaultdict(list)
    for (site, folder), words in of_folders.items():
        if folder:
            releases[site].append(words)
    # The words that all releases of a site have are no release's.
    everywhere = {site: frozenset.intersection(*each) for site, each in releases.items()}
    own, head, instead = [], [], {}
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
    return Names(own, head), instead


def _common(groups: Sequence[object], titles: Iterable[str]) -> dict[object, Words]:
    """Return the words that stand in more than half of the different titles of each group."""
    different: dict[object, set[str]] = defaultdict(set)
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

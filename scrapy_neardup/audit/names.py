"""The names of pages: the words of their titles that tell them from others of their site and release."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from scrapy_neardup.matching.sites import split_url

#: Sites and releases with so many different titles show which words of titles, or paragraphs, are theirs.
TITLES = 15
#: A word, or several that dots or colons make one name of: ``package.module.Class``, ``3.7.1``.
_WORD = re.compile(r"\w+(?:[.:]+\w+)*")
#: Parts of a path that name a release: numbers, perhaps after a v; and words for the newest or the next one.
_RELEASE = re.compile(
    r"(?<![^/])(v?\d{1,9}(?:[._]\d{1,9}){0,5}(?:[._]x)?|stable|latest|current|dev|main|master|nightly)(?![^/])"
)
#: It may be that of a date.
_YEAR = re.compile(r"(?:19|20)\d\d")

Words = frozenset[str]
_Group = TypeVar("_Group", bound=Hashable)
_NONE: Words = frozenset()


class Names(NamedTuple):
    """The names of n pages, lists of n: words, sorted, without those of its site and its release."""

    #: Of the title that a page is compared by, its headline where it has one; "" if not known.
    own: list[str]
    #: Of the title in its head.
    head: list[str]
    #: The URL without the release that it names, the same for a page in all releases; "" if it names none.
    page: list[str]

    def differ(self, a: int, b: int) -> bool:
        """Tell whether each of two pages has a word in its name that the other lacks."""
        one, other = {*self.own[a].split()}, {*self.own[b].split()}
        return bool(one - other and other - one)

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

    *heads* are titles of heads, *titles* those of extractors. A word in most of `TITLES` titles or more of a
    site, or of a release but not of all, belongs to it. A headline of such words alone gives way to the head.
    """
    placed = [place_of(url) for url in urls]
    words = [_sorted(head) for head in heads]
    common = _common(sites, heads, words)
    of_folders = _common(
        [(site, folder) for site, (folder, _) in zip(sites, placed, strict=True)],
        [head if folder else "" for head, (folder, _) in zip(heads, placed, strict=True)],
        words,
    )
    releases: dict[int, list[Words]] = defaultdict(list)
    for (site, _), of_folder in of_folders.items():
        releases[site].append(of_folder)
    # The words that all releases of a site have are no release's.
    everywhere = {site: frozenset.intersection(*each) for site, each in releases.items()}
    names = Names([], [], [page for _, page in placed])
    instead: dict[int, str] = {}
    rows = zip(sites, placed, heads, words, titles, strict=True)
    for row, (site, (folder, _), head, its, title) in enumerate(rows):
        of_site = common.get(site, _NONE)
        of_release = of_folders.get((site, folder), _NONE) - everywhere.get(site, _NONE) if folder else _NONE
        chosen, own = title, its if title == head else _sorted(title)
        if title and of_site.issuperset(own.split()) and not of_site.issuperset(its.split()):
            chosen, own = head, its
        both = of_site | of_release
        for column, name in ((names.own, own), (names.head, its)):
            column.append(" ".join([word for word in name.split() if word not in both]) if both else name)
        every = _WORD.findall(chosen) if of_release else []
        kept = [word for word in every if word.casefold() not in of_release]
        shown = " ".join(kept) if kept and len(kept) < len(every) else chosen
        if shown != title:
            instead[row] = shown
    return names, instead


def _common(groups: Sequence[_Group], titles: Iterable[str], words: Iterable[str]) -> dict[_Group, Words]:
    """Return which *words*, those of each title, stand in over half of the different titles of each group."""
    different: dict[_Group, dict[str, str]] = defaultdict(dict)
    for group, title, of_title in zip(groups, titles, words, strict=True):
        if title:
            different[group][title] = of_title
    found = {}
    for group, each in different.items():
        if len(each) >= TITLES:
            counts = Counter(chain.from_iterable(map(str.split, each.values())))
            found[group] = frozenset(word for word, count in counts.items() if 2 * count > len(each))
    return found


def _sorted(title: str) -> str:
    """Return the words of *title*, each once, without regard to case."""
    return " ".join(sorted({*_WORD.findall(title.casefold())})) if title else ""


def place_of(url: str) -> tuple[str, str]:
    """Return the folder of the first release that the path of *url* names, and *url* without its name.

    Both are "" if it names none. The URL is "" also for the page of the release itself.
    """
    path = split_url(url).path.lower()
    release = _RELEASE.search(path)
    if not release or _YEAR.fullmatch(release[1]):
        return "", ""
    folder = path[: release.end()]
    start, _, end = url.lower().partition(folder + "/")
    return folder, f"{start}{folder.rpartition('/')[0]}//{end}" if end else ""

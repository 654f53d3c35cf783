"""Which page of a cluster to keep: preferences over the whole crawl, in an order that can be changed.

One order of all pages serves two ends: pages are clustered in it, so the canonical page of a cluster is its
leader, and the result does not depend on the order in which pages were read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .preferences import COLUMNS, alphabetical, earliest, longest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .preferences import Pages

#: All rules by which a canonical page can be chosen; and those that are used by default, in their order.
ALL_RULES = tuple(COLUMNS)
RULES = tuple(name for name in ALL_RULES if name != "latest")


def parse_rules(text: str) -> tuple[str, ...]:
    """Return the rules of a list such as ``https,longest``.

    Raises `ConfigurationError` for unknown and repeated ones.
    """
    return check_rules([name.strip() for name in text.split(",") if name.strip()])


def check_rules(rules: Sequence[str]) -> tuple[str, ...]:
    """Return *rules*. Raises `ConfigurationError` for unknown and repeated ones."""
    if unknown := [rule for rule in rules if rule not in COLUMNS]:
        raise ConfigurationError(f"There is no rule {unknown[0]!r}: use some of {', '.join(ALL_RULES)}.")
    if len(set(rules)) < len(rules):
        raise ConfigurationError(f"A rule is given twice in {','.join(rules)!r}: name each once.")
    return tuple(rules)


def canonical_ranks(
    pages: Pages,
    rules: Sequence[str] | None = None,
    hosts: Sequence[str] = (),
    urls: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    Pages that ask not to be indexed come last, whatever the rules: their copies are all that can be found.
    *rules* are names of `ALL_RULES`, the most important first. None means those of `RULES`, in their order.
    Rules that are left out do not count. The rules prefer:

    - ``urls``: a page whose URL one of the patterns *urls* matches, in which * stands for anything and ? for
      one character; the first of *urls* before the second.
    - ``hosts``: a page on one of *hosts*, or on a host below it; the first of *hosts* before the second.
    - ``site``: the better of the sites that have the story. A copier cannot choose what this rule looks at,
      such as the length of a text. A site that is known comes before one that is not. A site of which no
      page names a page of another site as its canonical URL comes before others. Then the site comes first
      that the story was fetched from first; then the one with the largest share of stories that no other
      site has; then the one with the shortest URL.
    - ``https``: a page under https.
    - ``declared``: a page that names itself as the canonical URL, or that others name and that names no
      other. A page that names another one comes last.
    - ``latest``: the newest release that a part of the path names, such as ``/2.10/`` or ``/stable/``, then
      the page fetched last. It is not among `RULES`.
    - ``longest``: the longest main text.
    - ``earliest``: the page fetched first. Pages without a time come last.
    - ``shortest``: the URL with the fewest characters once percent-decoded.
    - ``alphabetical``: the first of the decoded URLs.

    Pages that the rules leave equal are ordered by URL, time, length and digest, so the order does not
    depend on how pages are numbered. Only pages that are equal in all of these are ordered by number. Raises
    `ConfigurationError` for unknown and repeated rules.
    """
    columns: list[NDArray[Any]] = [pages.noindex]
    rules = RULES if rules is None else check_rules(rules)
    preferences = {"hosts": hosts, "urls": urls}
    for rule in rules:
        columns += COLUMNS[rule](pages, preferences.get(rule, ()))
    if "alphabetical" not in rules:
        columns += alphabetical(pages, ())
    columns += (*earliest(pages, ()), *longest(pages, ()), pages.digests)
    order = np.lexsort(columns[::-1])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks

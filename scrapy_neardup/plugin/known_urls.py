"""Holds back requests for pages that the crawl has under another URL, by NEARDUP_RULES that rewrite URLs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from w3lib.url import canonicalize_url

from .budget import BEHIND, DEFERRED_KEY, FIRST, LINKS, may_be_held
from .settings import plain_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from scrapy import Request

    from .settings import Rule


class KnownUrls:
    """Knows which pages the crawl has, by their URLs after the rules.

    A request whose URL a rule changes is skipped once the page has come with items, or twice without (in a
    print version the spider may find none). It is put behind all others while the page is on its way. A URL
    that no rule changes is always sent. *state* returns what the crawl keeps in its JOBDIR.
    """

    def __init__(self, rules: Sequence[Rule], state: Callable[[], dict[str, Any]]) -> None:
        self._rules = rules
        self._state = state
        #: Digests of URLs that were sent for.
        self._asked: set[bytes] = set()

    @property
    def _come(self) -> dict[bytes, int]:
        """How often the page with that digest of its URL has come; with items it counts twice."""
        return self._state().setdefault("neardup_urls", {})  # type: ignore[no-any-return]

    def _named(self, url: str) -> tuple[bytes, str]:
        """Return the digest of *url* after the rules, a secure one, as others write URLs; and that URL."""
        plain = plain_url(url.partition("#")[0], self._rules)
        return hashlib.blake2b(canonicalize_url(plain).encode(), digest_size=16).digest(), plain

    def held(self, request: Request) -> str | None:
        """Return why *request* is held back; None if it is to be sent."""
        name, plain = self._named(request.url)
        changed = plain != request.url.partition("#")[0] and "redirect_urls" not in request.meta
        if changed and may_be_held(request):
            if self._come.get(name, 0) > 1:
                return f"the page of {plain} has come"
            if name in self._asked and DEFERRED_KEY not in request.meta:
                return f"the page of {plain} is on its way"
        if len(self._asked) >= LINKS:
            self._asked.clear()
        self._asked.add(name)
        return None

    def later(self, request: Request) -> Request | None:
        """Return what to send when all others are done in place of a held request; None: nothing."""
        if self._come.get(self._named(request.url)[0], 0) > 1:
            return None
        meta = {**request.meta, DEFERRED_KEY: FIRST}
        return request.replace(priority=request.priority - BEHIND, dont_filter=True, meta=meta)

    def has_come(self, url: str, *, items: bool) -> None:
        """Note that the page at *url* is stored, with *items* or without, or a copy of a stored one."""
        if "#" in url:  # what was sent, by POST, is part of this page: it is not the one that GET brings
            return
        if len(self._come) >= LINKS:
            self._come.clear()
        name, _ = self._named(url)
        self._come[name] = self._come.get(name, 0) + 1 + items

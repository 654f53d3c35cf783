"""Requests that would bring copies are put behind all others, or skipped: NEARDUP_BUDGET, NEARDUP_RULES."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.linkextractors import IGNORED_EXTENSIONS
from w3lib.url import canonicalize_url

from scrapy_neardup.matching.items import MOST_PARTS, leaves
from scrapy_neardup.matching.sites import host_of

from .responses import carries_item, is_for_spider
from .settings import How, Rule, plain_url

#: Key of meta of the requests that a callback has yielded, and of those that were put behind the others. The
#: former says whether a page had the link before.
LINK_KEY, DEFERRED_KEY = "neardup_link", "neardup_deferred"
#: Closed is what brings fewer new pages than this share, of late: ten copies do if there was nothing before.
RARE = 0.05
#: What may be lost of a host's new pages, on average, if as many requests wait as it has had new pages.
LOSS = 0.005
#: What a deferred request's priority loses.
BEHIND = 1_000_000
#: What the former of them begins with: looks at it, the name of what is closed, and the sample that it is of.
#: After two looks it waits for those that were drawn. These have a number of their own, and their key.
FIRST, WAITS, DRAWN = (0, "", 0), 2, 4
#: How many shapes and URLs are remembered. If there are more, all are open, or new, again.
SHAPES, LINKS = 10_000, 1_000_000
#: A segment of a path that names something, rather than one of many things.
_WORD = re.compile(r"[^\W\d_]{0,20}")
#: The URL of a file, such as a picture, up to its parameters.
_FILE = re.compile(
    rf"(?:https?:/)?/[^?#\s]{{,2000}}\.(?:{'|'.join(map(re.escape, IGNORED_EXTENSIONS))}|avif)(?![^?#])",
    re.IGNORECASE,
)


class SkippedRequest(IgnoreRequest):
    """The request is not sent, as those of its shape bring nothing new. Its errback gets this."""


@lru_cache(maxsize=1024)
def _typed(segment: str) -> str:
    """Return a segment of a path if it is a short word, else `*`; of a date `*-*-*`, of a month `*-*`."""
    return segment if _WORD.fullmatch(segment) else re.sub(r".*[^\W\d_].*|\d+", "*", segment)


@lru_cache(maxsize=256)
def _parsed(url: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Return host, path, and sorted parameters of *url*, be they separated by & or by ; as in some forums."""
    parts = urlsplit(url)
    query = re.sub(r";(?=[^;&=]+=)", "&", parts.query)
    return host_of(url), parts.path, sorted(parse_qsl(query, keep_blank_values=True))


def shape_of(url: str, link: str = "new") -> str:
    """Return host and path of *url*, `*` in place of what is no short word, and the names of parameters.

    What was linked before is a shape of its own.

    >>> shape_of("https://a.example/shop/red-kettle-19?sort=price&color=red")
    'a.example/shop/*?color&sort'
    """
    host, path, query = _parsed(url)
    typed = "/".join(map(_typed, path.split("/")))
    return f"{host}{typed}?{'&'.join(dict(query))}"[:300] + " again" * (link == "again")


@lru_cache(maxsize=256)
def twins_of(url: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return a key of *url*, and for each parameter and segment of its path the keys of its twins.

    Those are the URLs that have another value there, and the one without it.

    >>> sorted(twins_of("https://a.example/shop/red?sort=price")[1])
    ['=a.example/shop/{}', '=a.example/{}/*', '=a.example?sort']
    """
    host, quoted, query = _parsed(url)
    path = unquote(quoted).split("/")

    def key(path: list[str], query: list[tuple[str, str]], *value: object) -> int:
        return hash((host, *path, 0, *query, *value))

    twins = {}
    for name in {name for name, _ in query[:10]}:
        rest = [pair for pair in query if pair[0] != name]
        twins[f"={host}?{name}"[:300]] = key(path, rest, name), key(path, rest)
    for number, segment in enumerate(path[:10]):
        if segment:
            other = path[:number] + path[number + 1 :]
            name = "/".join([*map(_typed, path[:number]), "{}"]) + "/*" * (len(other) - number)
            twins[f"={host}{name}"[:300]] = key(other, query, number), key(other, query)
    return key(path, query), twins


def files_of(item: object) -> list[str]:
    """Return the URLs of files that *item* names: two pictures of a gallery may differ in nothing else."""
    found = (_FILE.match(leaf) for _, leaf in islice(leaves(item), MOST_PARTS) if isinstance(leaf, str))
    return sorted({file[0] for file in found if file is not None})


def may_be_held(request: Request) -> bool:
    """Whether nothing but its page would be lost without *request*, and Scrapy's filter may drop it."""
    return (
        request.meta.get("neardup") is not False
        and not (request.dont_filter and DEFERRED_KEY not in request.meta)
        and request.method == "GET"
        and not request.body
        and is_for_spider(request)
        and not carries_item(request)
    )


@dataclass(slots=True)
class _Count:
    """What is known of a shape, of what tells twins apart, or, in *new* and *held*, of a host."""

    pages: int = 0
    new: int = 0
    #: The share of new ones among the last pages.
    rate: float = 0.5
    #: Requests held back since the last new page, how many were drawn, how many are still to be looked at.
    held: int = 0
    drawn: int = 0
    waiting: int = 0
    #: Which sample of those that wait this is: another one after each new page, and if counts were forgotten.
    sample: float = field(default_factory=random.random)


class Budget:
    """Learns which URLs bring nothing new, and holds their requests back if a callback has yielded them.

    Of those that wait a share is drawn and sent, another one for each that fails; if one is new, all are. So
    on average at most `LOSS` of the host's new pages are lost: docs/scrapy.md has the sum.

    *how* says what becomes of them; *state* returns what the crawl keeps in its JOBDIR; *on_its_way* tells
    whether the page of a request may still be judged.
    """

    def __init__(
        self, how: How, state: Callable[[], dict[str, Any]], on_its_way: Callable[[Request], bool]
    ) -> None:
        self.how = how
        self._state, self._on_its_way = state, on_its_way
        #: Links that were given, and the names of parameters that have had two values on one page.
        self._links: set[int] = set()
        self._varying: set[str] = set()
        #: The stories of pages by the keys of their URLs and their twins; b"" of those that are on their way.
        self._stories: dict[int, bytes] = {}
        #: All stories that have come: of a page with items that is too short, its text and its items.
        self._told: set[bytes] = set()
        #: The requests that were drawn and are on their way, by the keys of their URLs.
        self._drawn: dict[int, tuple[Request, str]] = {}

    def has_items(self) -> bool:
        """Whether a page of the crawl has stored an item, be it before the crawl was resumed."""
        return bool(self._state().get("neardup_items"))

    def note_items(self, stored: int) -> None:
        """Note that a page of the crawl has *stored* so many items."""
        self._state()["neardup_items"] = stored > 0 or self.has_items()

    def _count_of(self, name: str) -> _Count:
        counts = self._state().setdefault("neardup_budget", {})
        if len(counts) >= SHAPES and name not in counts:
            counts.clear()
        return counts.setdefault(name, _Count())  # type: ignore[no-any-return]

    def _closed(self, name: str) -> bool:
        return getattr(self._state().get("neardup_budget", {}).get(name), "rate", 1) < RARE

    def follows(self, url: str, request: Request, seen: dict[str, str]) -> bool:
        """Note that the page at *url* has yielded *request*; return whether that may lead to a new page.

        It may not if it has the path of the page's own shape, as facets have, was given before, or is closed.
        *seen* has the parameters of the page's links so far: one that has never had two values on one page,
        such as the identifier of a session, does not make a link another one.
        """
        if request.url.partition("#")[0] == url.partition("#")[0]:  # its session is an earlier one
            request.meta[LINK_KEY] = "again"
            return False
        _, _, pairs = _parsed(request.url)
        self._varying |= {name for name, value in pairs if seen.setdefault(name, value) != value}
        telling = frozenset((name, value) for name, value in pairs if name in self._varying)
        link = hash((request.url.partition("?")[0], telling))
        again = link in self._links
        for known in (self._links, self._varying):
            if len(known) >= LINKS:
                known.clear()
        self._links.add(link)
        request.meta[LINK_KEY] = "again" if again else "new"
        name, own = shape_of(request.url), shape_of(url)
        return not (again or name.partition("?")[0] == own.partition("?")[0] or self._closed(name))

    def judged(
        self, url: str, link: str, *, new: bool, leads: bool = False, story: bytes = b""
    ) -> str | None:
        """Count the page at *url*, to which such a link has led, a value of `LINK_KEY`.

        It counts for its shape, and for what tells it from each twin that has come: that makes no other page
        if this one has the *story* of the twin, and one if it is *new*, with a story that has not come, or
        *leads* on. Returns ``closed`` or ``opened``.
        """
        if "#" in url:  # what was sent, by POST, is part of this page: it is not the one that GET brings
            return None
        key, twins = twins_of(url)
        known = {name: [*filter(None, map(self._stories.get, keys))] for name, keys in twins.items()}
        told = self.has_items() and story in self._told
        new = leads or (new and not told and all(story not in each for each in known.values()))
        counted = [name for name, stories in known.items() if stories and (new or story in stories)]
        # A copy of the page without a parameter says nothing of others of its shape.
        if new or link == "again" or all(self._stories.get(keys[1]) != story for keys in twins.values()):
            counted.append(shape_of(url, link))
        closed = [*map(self._closed, counted)]
        host = self._count_of(host_of(url))
        host.new += new
        for count in map(self._count_of, counted):
            count.pages += 1
            count.rate += (new - count.rate) / min(count.pages + 1, 1 / RARE)
            if new:  # all that wait are sent
                count.sample = random.random()
                host.held -= count.held
                count.held = count.drawn = count.waiting = 0
        self._note(key, twins, story)
        self._drawn.pop(key, None)
        changed = "opened" if new else "closed"
        return None if closed == [*map(self._closed, counted)] else changed

    def _note(self, key: int, twins: dict[str, tuple[int, int]], story: bytes) -> None:
        if len(self._stories) >= LINKS:
            self._stories.clear()
            self._told.clear()
        self._told |= {story} - {b""}
        for each in (key, *(keys[0] for keys in twins.values())):
            self._stories[each] = self._stories.get(each) or story

    def waits(self, request: Request) -> bool:
        """Whether pages that were drawn are on their way, which say whether *request* is skipped."""
        looks, name, _ = request.meta.get(DEFERRED_KEY, FIRST)
        return looks == WAITS and name in self._drawn_for()

    def _drawn_for(self) -> set[str]:
        """Return the names for which requests on their way were drawn. Those that have failed were not."""
        for key, (request, name) in [*self._drawn.items()]:
            if not self._on_its_way(request):
                del self._drawn[key]
                self._count_of(name).drawn -= 1
        return {name for _, name in self._drawn.values()}

    def _draw(self, request: Request, name: str, key: int) -> None:
        self._count_of(name).drawn += 1
        self._drawn[key] = request, name
        request.meta[DEFERRED_KEY] = DRAWN, name, key

    def held(self, request: Request) -> str | None:
        """Return why *request* is held back; None if it is to be sent."""
        meta = request.meta
        done = self.how == "defer" and DEFERRED_KEY in meta
        if done or not meta.get(LINK_KEY) or not may_be_held(request):
            return None
        looks, name, sample = meta.pop(DEFERRED_KEY, FIRST)  # what is sent is not held if it is sent again
        key, twins = twins_of(request.url)
        if looks == DRAWN:  # it is sent again, or to another URL
            self._count_of(name).drawn -= self._drawn.pop(sample, None) is not None
            self._draw(request, name, key)
            return None
        if not looks:
            come = (twin for twin in filter(self._closed, twins) if self._stories.keys() & twins[twin])
            name = next(come, shape_of(request.url, meta[LINK_KEY]))
        known = [*filter(None, map(self._stories.get, twins.get(name, ())))]
        count, host = self._count_of(name), self._count_of(host_of(request.url))
        lone = looks == WAITS and name in twins and not known  # no twin has come
        if lone or not self._closed(name) or (looks and count.sample != sample):
            self._note(key, twins, b"")
            return None
        if not looks:  # of links that were given before there are no more than links
            more = meta[LINK_KEY] == "new" or count.held < len(self._links)
            count.held, host.held, count.waiting = count.held + more, host.held + more, count.waiting + 1
        else:
            self._drawn_for()
            share = 1 / (math.e * LOSS * math.sqrt(max(1, host.new) * max(1, host.held)))
            most = random.random() * count.waiting if looks < WAITS else 1
            count.waiting -= looks < WAITS
            if min(1, share) * count.held - count.drawn >= most:
                self._note(key, twins, b"")
                self._draw(request, name, key)
                return None
        self._note(key, twins, max(known, default=b"") if looks else b"")
        meta[DEFERRED_KEY] = looks + 1, name, count.sample
        return f"less than one in {1 / RARE:.0f} of the last pages of {name} brought something new"

    def later(self, request: Request) -> Request | None:
        """Return what to send when all others are done in place of a held request; None: it is skipped."""
        if request.meta[DEFERRED_KEY][0] > WAITS:
            return None
        return request.replace(priority=request.priority - BEHIND, dont_filter=True)


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

"""Requests that will bring copies are put behind all others, or skipped: NEARDUP_BUDGET."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.matching.sites import host_of

from .responses import carries_item, is_for_spider

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy import Request

    from .settings import How

#: Key of meta of the requests that a callback has yielded, and of those that were put behind the others. The
#: former says whether a page had the link before.
LINK_KEY, DEFERRED_KEY = "neardup_link", "neardup_deferred"
#: What tells twins apart is closed after so many pages in a row that were copies of theirs, a shape after so
#: many copies: then at least 95 % of its pages are copies, by the lower bound of Wilson's interval, at 95 %.
TWINS, COPIES = 10, 52
#: What tells twins apart and has made another page is closed once it has made none for so many times as long
#: as on average, a gap that no share leaves by chance; or for so many: then it makes one of 200, at 95 %.
GAPS, MOST = 8, 600
#: Of closed requests one in so many is sent, by chance; ever fewer after thousands; of known links after 80.
SAMPLE = 20
#: What a deferred request's priority loses.
BEHIND = 1_000_000
#: How many shapes and URLs are remembered. If there are more, all are open, or new, again.
SHAPES, LINKS = 10_000, 1_000_000
#: A segment of a path that names something, rather than one of many things.
_WORD = re.compile(r"[^\W\d_]{0,20}")


class SkippedRequest(IgnoreRequest):
    """The request is not sent, as those of its shape bring nothing new. Its errback gets this."""


def shape_of(url: str) -> str:
    """Return host and path of *url*, `*` in place of what is no short word, and the names of parameters.

    >>> shape_of("https://a.example/shop/red-kettle-19?sort=price&color=red")
    'a.example/shop/*?color&sort'
    """
    parts = urlsplit(url)
    path = "/".join(each if _WORD.fullmatch(each) else "*" for each in parts.path.split("/"))
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return f"{host_of(url)}{path}?{'&'.join(names)}"[:300]


def twins_of(url: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return a key of *url*, and for each parameter and segment of its path the keys of its twins.

    Those are the URLs that have another value there, and the one without it.

    >>> sorted(twins_of("https://a.example/shop/red?sort=price")[1])
    ['=a.example/shop/{}', '=a.example/{}/*', '=a.example?sort']
    """
    parts = urlsplit(url)
    host, path = host_of(url), unquote(parts.path).split("/")
    query = sorted(parse_qsl(parts.query, keep_blank_values=True))

    def key(path: list[str], query: list[tuple[str, str]], *value: object) -> int:
        return hash((host, *path, 0, *query, *value))

    twins = {}
    for name in {name for name, _ in query}:
        rest = [pair for pair in query if pair[0] != name]
        twins[f"={host}?{name}"[:300]] = key(path, rest, name), key(path, rest)
    for number, segment in enumerate(path[:10]):
        if segment:
            before, behind = path[:number], path[number + 1 :]
            words = [each if _WORD.fullmatch(each) else "*" for each in before]
            name = "/".join([*words, "{}", *("*" for _ in behind)])
            twins[f"={host}{name}"[:300]] = key(before + behind, query, number), key(before + behind, query)
    return key(path, query), twins


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


def _named(url: str, link: str) -> str:
    """Return the shape of a URL; those that were linked before are one of their own."""
    return shape_of(url) + (" again" if link == "again" else "")


class Budget:
    """Learns which URLs bring nothing new, and holds their requests back if a callback has yielded them.

    *how* says what becomes of them; *state* returns what the crawl keeps in its JOBDIR.
    """

    def __init__(self, how: How, state: Callable[[], dict[str, Any]]) -> None:
        self.how = how
        self._state = state
        #: Whether a page has stored an item.
        self.items = False
        self._deferred = 0
        #: How many closed requests there were, and which is sent next; apart those that are looked at again.
        self._asked: dict[tuple[str, bool], tuple[int, int]] = {}
        #: Links that were given, and the names of parameters that have had two values on one page.
        self._links: set[int] = set()
        self._varying: set[str] = set()
        #: The stories of pages by the keys of their URLs and their twins; b"" of those that are on their way.
        self._stories: dict[int, bytes] = {}

    @property
    def _shapes(self) -> dict[str, tuple[int, int, int]]:
        """How many copies there were of each shape since its last new page, and before; how many new ones."""
        return self._state().setdefault("neardup_counts", {})  # type: ignore[no-any-return]

    def _closed(self, name: str) -> bool:
        run, before, new = self._shapes.get(name, (0, 0, 0))
        if name[0] != "=":
            return run >= COPIES
        return run >= (min(MOST, max(COPIES, GAPS * (before + new) // new)) if new else TWINS)

    def follows(self, url: str, request: Request, seen: dict[str, str]) -> bool:
        """Note that the page at *url* has yielded *request*; return whether that may lead to a new page.

        It may not if it has the path of the page's own shape, as facets have, was given before, or is closed.
        *seen* has the parameters of the page's links so far: one that has never had two values on one page,
        such as the identifier of a session, does not make a link another one.
        """
        request.meta.pop(DEFERRED_KEY, None)
        if request.url.partition("#")[0] == url.partition("#")[0]:  # its session is an earlier one
            request.meta[LINK_KEY] = "again"
            return False
        pairs = parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
        self._varying |= {name for name, value in pairs if seen.setdefault(name, value) != value}
        telling = frozenset((name, value) for name, value in pairs if name in self._varying)
        link = hash((request.url.partition("?")[0], telling))
        again = link in self._links
        for known in (self._links, self._varying):
            if len(known) >= LINKS:
                known.clear()
        self._links.add(link)
        request.meta[LINK_KEY] = "again" if again else "new"
        name = shape_of(request.url)
        return (
            not again and name.partition("?")[0] != shape_of(url).partition("?")[0] and not self._closed(name)
        )

    def judged(
        self, url: str, link: str, *, new: bool, leads: bool = False, story: bytes = b""
    ) -> str | None:
        """Count the page at *url*, to which such a link has led, a value of `LINK_KEY`.

        It counts for its shape, and for what tells it from each twin that has come: that makes no other page
        if this one has the *story* of the twin, and one if it is *new*, or *leads* on. Returns ``closed`` or
        ``opened``.
        """
        if "#" in url:  # what was sent, by POST, is part of this page: it is not the one that GET brings
            return None
        key, twins = twins_of(url)
        known = {name: [*filter(None, map(self._stories.get, keys))] for name, keys in twins.items()}
        new = leads or (new and all(story not in each for each in known.values()))
        counted = [name for name, stories in known.items() if stories and (new or story in stories)]
        # A copy of the page without a parameter says nothing of others of its shape.
        if new or link == "again" or all(self._stories.get(keys[1]) != story for keys in twins.values()):
            counted.append(_named(url, link))
        changes = [self._count(name, new=new) for name in counted]
        self._note(key, twins, story)
        return next(filter(None, changes), None)

    def _count(self, name: str, *, new: bool) -> str | None:
        was_closed = self._closed(name)
        if len(self._shapes) >= SHAPES and name not in self._shapes:
            self._shapes.clear()
        run, before, made = self._shapes.get(name, (0, 0, 0))
        if new:  # a shape is closed again soon if fewer than one in twenty are new
            left = 0 if name[0] == "=" else 3 * min(run, COPIES) // 5
            self._shapes[name] = left, before + run, made + 1
            self._asked = {key: asked for key, asked in self._asked.items() if key[0] != name}
        else:
            self._shapes[name] = run + 1, before, made
        return None if self._closed(name) == was_closed else "opened" if was_closed else "closed"

    def _note(self, key: int, twins: dict[str, tuple[int, int]], story: bytes) -> None:
        if len(self._stories) >= LINKS:
            self._stories.clear()
        for each in (key, *(keys[0] for keys in twins.values())):
            self._stories[each] = self._stories.get(each) or story

    def held(self, request: Request) -> str | None:
        """Return why *request* is held back; None if it is to be sent."""
        meta = request.meta
        deferred = DEFERRED_KEY in meta
        if not meta.get(LINK_KEY) or (deferred and self.how == "defer") or not may_be_held(request):
            return None
        key, twins = twins_of(request.url)
        name, story = _named(request.url, meta[LINK_KEY]), b""
        for twin, keys in twins.items():
            known = [self._stories[each] for each in keys if each in self._stories]
            if self._closed(twin) and known and (max(known) or not deferred):
                name, story = twin, max(known)
        if not self._closed(name):
            self._note(key, twins, b"")
            return None
        asked, due = self._asked.get((name, deferred), (1, 1))
        sent = asked >= due and not (deferred and story)
        rarer = 4 if meta[LINK_KEY] == "again" else 5 * SAMPLE
        if sent:  # the next one is due after 20 on average, in no site's step
            due += random.randrange(1, 2 * max(SAMPLE, asked // rarer))
        self._asked[name, deferred] = (asked + 1, due)
        self._note(key, twins, story if deferred and not sent else b"")
        return None if sent else f"the last {self._shapes[name][0]} pages of {name} brought nothing new"

    def later(self, request: Request) -> Request | None:
        """Return what to send when all others are done in place of a request that is held back.

        None: nothing, since that was done before, and meanwhile no page has opened its shape.
        """
        if DEFERRED_KEY in request.meta:
            return None
        self._deferred += 1
        # The first ones come first, in few steps: a scheduler has a queue, or a file, for each priority.
        priority = request.priority - BEHIND - self._deferred.bit_length()
        return request.replace(priority=priority, dont_filter=True, meta={**request.meta, DEFERRED_KEY: True})

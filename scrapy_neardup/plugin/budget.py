"""Requests that will bring copies are put behind all others, or skipped: NEARDUP_BUDGET."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.matching.sites import host_of

from .responses import carries_item, is_for_spider

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from .settings import How

#: Key of meta of the requests that a callback has yielded, and of those that were put behind the others.
LINK_KEY, DEFERRED_KEY = "neardup_link", "neardup_deferred"
#: A shape is closed if so many of its pages bring nothing new, by the lower bound of their share.
SHARE = 0.95
#: Standard errors below the share that was counted: one-sided, at 95 %.
_ERRORS = 1.645
#: Of the requests of a closed shape one in so many is sent.
SAMPLE = 20
#: What a deferred request's priority loses.
BEHIND = 1_000_000
#: How many shapes and URLs of links are remembered. If there are more, all are open, or new, again.
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


def lower_bound(successes: int, trials: int) -> float:
    """Return the lower bound of a share by Wilson's score interval, one-sided, at 95 %; 0 without trials."""
    if trials == 0:
        return 0.0
    share, square = successes / trials, _ERRORS**2 / trials
    spread = _ERRORS * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max((share + square / 2 - spread) / (1 + square), 0.0)


@dataclass
class Shape:
    """The pages of one shape since the last one that brought something new, which opens it again."""

    copies: int = 0
    #: Whether its requests are held back, and how many were asked for since.
    closed: bool = False
    asked: int = 0

    def judged(self, *, new: bool, least: int) -> None:
        """Count a page; the shape is closed after *least* copies, or as many more as the bound asks for."""
        self.copies = 0 if new else self.copies + 1
        self.closed = self.copies >= least and lower_bound(self.copies, self.copies) >= SHARE
        if new:
            self.asked = 0

    def holds(self) -> bool:
        """Whether the next request is held back."""
        self.asked += self.closed
        return self.closed and self.asked % SAMPLE != 0


class Budget:
    """Learns which shapes of URLs bring nothing new, and holds their requests back.

    A page brings something new unless it is a copy of which no item was kept; revisits do not count. A
    link that nobody has given is new, too, unless it has the path of the page's own shape, as facets
    have, or is of a closed shape. Only GET requests that a callback has yielded, that Scrapy's filter
    may drop and that carry no item are held back.
    """

    def __init__(self, how: How, least: int, state: Callable[[], dict[str, object]]) -> None:
        self.how = how
        self.least = least
        #: Returns what the crawl keeps in its JOBDIR.
        self._state = state
        self._links: set[int] = set()

    @property
    def shapes(self) -> dict[str, tuple[int, bool, int]]:
        """What is known of each shape: the fields of `Shape`."""
        found = self._state().setdefault("neardup_budget", {})
        assert isinstance(found, dict)
        return found

    def _shape(self, name: str) -> Shape:
        return Shape(*self.shapes.get(name, ()))

    def _keep(self, name: str, shape: Shape) -> None:
        if len(self.shapes) >= SHAPES and name not in self.shapes:
            self.shapes.clear()
        self.shapes[name] = (shape.copies, shape.closed, shape.asked)

    def follows(self, url: str, request: Request) -> bool:
        """Note that the page at *url* has yielded *request*; return whether that is a new link."""
        request.meta[LINK_KEY] = True
        request.meta.pop(DEFERRED_KEY, None)
        link = hash(request.url)
        if link in self._links:
            return False
        if len(self._links) >= LINKS:
            self._links.clear()
        self._links.add(link)
        name = shape_of(request.url)
        return name.partition("?")[0] != shape_of(url).partition("?")[0] and not self._shape(name).closed

    def judged(self, url: str, *, new: bool) -> str | None:
        """Count the page at *url*; return whether its shape was ``closed`` or ``opened`` by that."""
        name = shape_of(url)
        shape = self._shape(name)
        before = shape.closed
        shape.judged(new=new, least=self.least)
        self._keep(name, shape)
        return None if shape.closed == before else "closed" if shape.closed else "opened"

    def held(self, request: Request) -> str | None:
        """Return why *request* is held back; None if it is to be sent."""
        meta = request.meta
        if (
            not meta.get(LINK_KEY)
            or DEFERRED_KEY in meta
            or request.dont_filter
            or not is_for_spider(request)
        ):
            return None
        if request.method != "GET" or request.body or meta.get("neardup") is False or carries_item(request):
            return None
        name = shape_of(request.url)
        shape = self._shape(name)
        if not shape.closed:
            return None
        holds = shape.holds()
        self._keep(name, shape)
        return f"the last {shape.copies} pages of {name} brought nothing new" if holds else None

    def later(self, request: Request) -> Request:
        """Return what to send in place of a request that is held back. Raises `SkippedRequest`."""
        if self.how == "skip":
            raise SkippedRequest(f"{request.url} is skipped: pages like it bring nothing new")
        meta = {**request.meta, DEFERRED_KEY: True}
        return request.replace(priority=request.priority - BEHIND, dont_filter=True, meta=meta)

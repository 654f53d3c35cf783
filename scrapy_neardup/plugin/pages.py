"""The pages in progress: each is confirmed in the index when it is stored, and released when it is lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.http import Response

if TYPE_CHECKING:
    from scrapy_neardup.verdict import Verdict

    from .extension import NearDupExtension
    from .page_state import PageState


class PageTracker:
    """Knows the state of each page in progress, and settles its reservation when Scrapy is done with it.

    *Export first, fingerprint second*: the index keeps a page only if the page's output is stored. So no page
    is ever dropped as the copy of a page that was lost.
    """

    def __init__(self, extension: NearDupExtension) -> None:
        self.extension = extension
        self._pages: WeakKeyDictionary[Response, PageState] = WeakKeyDictionary()

    def add(self, response: Response, page: PageState) -> None:
        """Begin to track *page*."""
        self._pages[response] = page

    def find(self, response: object) -> PageState | None:
        """Return the state of the page; None for what is no page that is tracked.

        Scrapy's signals give None for items of ``start()``, and a Failure for items of an errback.
        """
        return self._pages.get(response) if isinstance(response, Response) else None

    def take_reservation(self, page: PageState, response: Response, verdict: Verdict) -> None:
        """Give the page the reservation that came with *verdict*, if any, to be settled in the end."""
        page.reservation = verdict.reservation
        if page.reservation is not None:
            self._settle_in_the_end(page, response)

    def pass_item(self, page: PageState, response: Response, item: Any) -> None:
        """Note that the page's *item* is passed on to the pipelines."""
        page.passed_items += 1
        if self.extension.config.item_fields:
            page.items.append(item)
            self.extension.item_origins[id(item)] = (page.url, page.scope)
            self._settle_in_the_end(page, response)

    def fail(self, page: PageState) -> None:
        """Note that the page has failed, and release its reservation at once: copies may wait for it."""
        page.failed = True
        if page.reservation is not None:
            self.extension.reservations.release(page.reservation)

    def settle(self, page: PageState) -> None:
        """Confirm or release the page's reservation. Does not raise."""
        with self.extension.reporter.fails_open("settle", "a page"):
            for item in page.items:
                self.extension.item_origins.pop(id(item), None)
            if page.reservation is None:
                return
            if page.is_stored:
                self.extension.reservations.confirm(page.reservation, weak=page.stored_items == 0)
            else:
                self.extension.reservations.release(page.reservation)

    def _settle_in_the_end(self, page: PageState, response: Response) -> None:
        if not page.will_be_settled and response.request is not None:
            page.will_be_settled = True
            self.extension.reservations.when_done(response.request, partial(self.settle, page))

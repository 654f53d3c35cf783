"""Spares items that a dropped page only completes: its request has brought them from earlier pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .carried import Carried, carries_item

if TYPE_CHECKING:
    from scrapy.http import Response

    from .events import EventReporter
    from .page_state import PageState

#: Warning about items that are kept, shown once in a crawl.
KEPT_CARRIED = (
    "Items that come with the request of a page are kept although the page is a copy or an unchanged "
    "revisit, as <%(url)s> is. If they repeat others, too, name the policy for such pages, by a rule "
    "{'url': …, 'policy': 'drop_items'} in NEARDUP_RULES or by meta, or compare items by NEARDUP_ITEM_FIELDS."
)
#: Warning about items that are dropped, or never made, shown once in a crawl.
DROPPED_CARRIED = (
    "<%(url)s> is dropped, or its items are, because it is a copy or an unchanged revisit; but its request "
    "carries values in cb_kwargs or meta. "
    "If such pages complete items of earlier ones, switch them off: meta={'neardup': False}, or a rule "
    "{'url': …, 'policy': False} in NEARDUP_RULES; or pass the item itself on."
)


class CarriedItemKeeper:
    """Decides whether an item is kept although the items of its page are dropped."""

    def __init__(self, reporter: EventReporter) -> None:
        self.reporter = reporter

    def prepare(self, response: Response, page: PageState) -> None:
        """Have the callback of a page called if the page's request carries an item: only the callback has it.

        To this end the policy ``drop_page`` becomes ``drop_items``.
        """
        if page.policy != "drop_page" or not page.spares_carried or response.request is None:
            return
        if carries_item(response.request, page.arguments):
            page.policy = "drop_items"
            self.reporter.count("carried/page")
        elif Carried(response.request, page.arguments).names:
            self.reporter.log.warn_once(DROPPED_CARRIED, page.url)

    def keeps(self, page: PageState, response: Response, item: Any) -> bool:
        """Whether *item*, which the page's callback has yielded, is kept because the request carries it."""
        if not page.spares_carried:
            return False
        if page.carried is None:
            assert response.request is not None
            page.carried = Carried(response.request, page.arguments)
        if page.carried.holds(item):
            self.reporter.count("carried/item")
            self.reporter.log.warn_once(KEPT_CARRIED, page.url)
            return True
        if page.carried.touches(item):
            self.reporter.log.warn_once(DROPPED_CARRIED, page.url)
        return False

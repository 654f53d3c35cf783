"""What is known of one page between the verdict on it and the fate of its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.verdict import Verdict

    from .carried import Carried
    from .pending import Document
    from .policies import Policy


@dataclass(eq=False)
class PageState:
    """The state of one page. Its counts tell, at the end, whether the page is stored.

    The state must not refer to the response: the states of all pages are kept in a dict with weak references
    to the responses, see `PageTracker`.
    """

    #: The URL that the page is filed under, see `identity.page_url`.
    url: str
    #: The policy for this page, if it is a duplicate.
    policy: Policy
    #: The part of the index that the page is compared with.
    scope: str
    #: Whether items that the request carries are kept, even if the page is dropped.
    spares_carried: bool = True
    #: What the index is asked about; None if the page was not examined and only its items are compared.
    document: Document | None = None
    #: The page's place in the index until it is confirmed or released; None if it has none.
    reservation: Reservation | None = None
    #: The verdict by which the page is treated by its policy: it is a duplicate, or an unchanged revisit that
    #: is not to be kept. None if it is neither.
    match: Verdict | None = None
    #: The URL that the page declares as canonical, if the settings ask for it.
    canonical: str | None = None
    #: Names of the callback's arguments that the request had before its response came. None if nobody has
    #: noted them: then all count as carried, since an item more is better than one less.
    arguments: frozenset[str] | None = None
    #: What the page's request carries; None until it is asked for.
    carried: Carried | None = None
    #: Handlers of the page's signals that have not ended.
    signal_handlers: list[Awaitable[object]] = field(default_factory=list)
    #: Whether the page is to be settled when Scrapy is done with it.
    will_be_settled: bool = False
    #: Whether the callback or an item has failed.
    failed: bool = False

    #: Items that the callback has yielded, whatever other spider middlewares make of them.
    callback_items: int = 0
    #: Whether the page was asked for again, by the callback or before, as it is in place of one that was
    #: blocked.
    asked_again: bool = False
    #: Whether the output of the callback came to its end.
    callback_ended: bool = False
    #: How often the spider middleware has begun to iterate output of this page, and how many such iterations
    #: run now. More than one means that another middleware has handled an exception.
    outputs_begun: int = 0
    outputs_running: int = 0
    #: Items that the spider middleware has passed on, and how many of them Scrapy has stored or dropped.
    passed_items: int = 0
    stored_items: int = 0
    dropped_items: int = 0
    #: Items that were dropped because the page is a duplicate, or an unchanged revisit.
    refused_items: int = 0
    #: The items passed on, while the item pipeline may ask which page they come from.
    items: list[Any] = field(default_factory=list)

    @property
    def is_stored(self) -> bool:
        """Whether the page counts as stored, once Scrapy is done with it.

        It does if its callback was called and has ended without failure, if no item has vanished on its way,
        and if at least one item is stored, or the page never had any and was not asked for again.
        """
        ended = self.callback_ended and not self.failed and self.outputs_running == 0
        arrived = self.stored_items + self.dropped_items >= self.passed_items
        had_none = self.callback_items == self.passed_items == 0 and not self.asked_again
        return ended and arrived and (self.stored_items > 0 or had_none)

    @property
    def spares_items(self) -> bool:
        """Whether the page's items may pass although the policy is to drop them.

        They may if the page that is repeated has stored no item itself.
        """
        return self.policy == "drop_items" and self.match is not None and self.match.weak

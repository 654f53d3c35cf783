"""Items that a page completes: what its request carries from earlier pages, in its ``cb_kwargs`` and meta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from itemloaders import ItemLoader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from scrapy import Request

#: How the keys of meta begin that Scrapy and plugins for it use: their values are no items of the user's.
_OF_COMPONENTS = (
    "_", "allow_offsite", "autothrottle_", "bindaddress", "cookiejar", "crawlera", "depth", "dont_",
    "download_", "ftp_", "give_up", "handle_httpstatus_", "http_", "impersonate", "inject",
    "is_start_request", "link_text", "max_retry", "neardup", "playwright", "proxy", "redirect_",
    "referrer_policy", "retry_", "rule", "selenium", "splash", "verbatim_url", "zyte_api",
)  # fmt: skip
#: How many elements of a list are looked at.
_MOST = 100


def carries_item(request: Request, arguments: Collection[str] | None = None) -> bool:
    """Whether *request* carries an object that can be an item: a dict, an item loader, or a list of these.

    *arguments* names the values of ``cb_kwargs`` that count; all do if it is None.
    """
    return any(_is_item(value) for value in _of_user(request, arguments))


def carries_value(request: Request, arguments: Collection[str] | None = None) -> bool:
    """Whether *request* carries a value that may be meant for an item, such as its name."""
    return any(value not in (None, "", True, False) for value in _of_user(request, arguments))


def _of_user(request: Request, arguments: Collection[str] | None) -> Iterator[Any]:
    for name, value in request.cb_kwargs.items():
        if arguments is None or name in arguments:
            yield value
    for key, value in request.meta.items():
        if not str(key).startswith(_OF_COMPONENTS):
            yield value


def _is_item(value: Any) -> bool:
    elements = value[:_MOST] if isinstance(value, (list, tuple)) else [value]
    return any(ItemAdapter.is_item(each) or isinstance(each, ItemLoader) for each in elements)

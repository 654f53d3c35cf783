"""Items that a page completes: what its request carries from earlier pages, in its ``cb_kwargs`` and meta."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from itemloaders import ItemLoader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from scrapy import Request

#: How the keys of meta begin that Scrapy and plugins for it use: their values are no items of the user's.
_OF_COMPONENTS = (
    "_", "allow_offsite", "autothrottle_", "bindaddress", "cookiejar", "crawlera", "depth", "dont_",
    "download_", "ftp_", "give_up", "handle_httpstatus_", "http_", "impersonate", "inject",
    "is_start_request", "link_text", "max_retry", "neardup", "playwright", "proxy", "redirect_",
    "referrer_policy", "retry_", "rule", "selenium", "splash", "verbatim_url", "zyte_api",
)  # fmt: skip
#: How many elements of a list, and how many values that cannot be hashed, are looked at.
_MOST = 100


class Carried:
    """What a request carries.

    An item that a page yields is *carried* if it is one of the objects that the request carries, or if at
    least half of its values are. The page is only a small part of such an item: it may have the delivery
    terms of all products of a shop.

    *arguments* names the values of ``cb_kwargs`` that count; all do if it is None.
    """

    def __init__(self, request: Request, arguments: Collection[str] | None = None) -> None:
        values = _of_user(request, arguments)
        #: Objects that can be items: dicts, objects of an item class, what an item loader fills, and all of
        #: these in a list.
        self.items: list[Any] = []
        #: Names of the other values.
        self.names: list[str] = []
        others: list[Any] = []
        for name, value in values:
            found = [*_items(value)]
            self.items += found
            if not found and _is_telling(value):
                self.names.append(name)
                others.append(value)
        for item in self.items:
            others += [item, *ItemAdapter(item).values()]
        telling = [*filter(_is_telling, others)]
        self._hashed = {value for value in telling if _is_hashable(value)}
        self._unhashed = [value for value in telling if not _is_hashable(value)][:_MOST]

    def holds(self, item: Any) -> bool:
        """Whether *item* is carried."""
        if any(item is each for each in self.items):
            return True
        if not ItemAdapter.is_item(item):  # an object whose values nobody knows: Scrapy takes any
            return self._has(item)
        carried, all_ = self._counts(item)
        return 0 < all_ <= 2 * carried

    def touches(self, item: Any) -> bool:
        """Whether *item* has any carried value."""
        return ItemAdapter.is_item(item) and self._counts(item)[0] > 0

    def _counts(self, item: Any) -> tuple[int, int]:
        """Return how many values of *item* were carried, and how many it has."""
        values = [value for value in ItemAdapter(item).values() if _is_telling(value)]
        return sum(map(self._has, values)), len(values)

    def _has(self, value: Any) -> bool:
        if _is_hashable(value):
            return value in self._hashed
        return any(value is each or value == each for each in self._unhashed)


def carries_item(request: Request, arguments: Collection[str] | None = None) -> bool:
    """Whether *request* carries an object that can be an item. *arguments* is that of `Carried`."""
    return any(True for _, value in _of_user(request, arguments) for _ in _items(value))


def _of_user(request: Request, arguments: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    for name, value in request.cb_kwargs.items():
        if arguments is None or name in arguments:
            yield name, value
    for key, value in request.meta.items():
        if not str(key).startswith(_OF_COMPONENTS):
            yield key, value


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, ItemLoader):
        value = value.item
    elements = value[:_MOST] if isinstance(value, (list, tuple)) else [value]
    return (each for each in elements if ItemAdapter.is_item(each))


def _is_telling(value: Any) -> bool:
    """Whether *value* says something: it is not missing, empty, true or false, which many items share."""
    if value is None or isinstance(value, bool):
        return False
    try:
        return isinstance(value, Number) or bool(value.strip() if isinstance(value, str) else value)
    except ValueError:  # an array of NumPy is neither true nor false
        return True


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # such as a tuple with a list in it
        return False
    return True

"""Which fields of an item hold its text, its title, its URL and the time of its download."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.audit.notes import note_of

from .contents import looks_like_html
from .records import MAX_URL, BrokenRecord, CrawledPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .records import Options, Origin

#: In the order of preference; case, hyphens and underscores do not matter.
_TEXT = (
    "text", "body", "content", "articlebody", "maintext", "fulltext", "articletext", "extractedtext",
    "plaintext", "bodytext", "textcontent", "contenttext", "cleantext", "story", "article",
)  # fmt: skip
_HTML = (
    "html", "rawhtml", "bodyhtml", "htmlbody", "contenthtml", "htmlcontent", "pagehtml", "htmlpage",
    "browserhtml", "fullhtml", "htmlsource", "pagesource", "sourcecode",
)  # fmt: skip
_URL = (
    "url", "pageurl", "responseurl", "finalurl", "articleurl", "link", "href", "uri", "permalink",
    "sourceurl", "requesturl", "canonicalurl", "id",
)  # fmt: skip
_FETCHED = (
    "fetched", "fetchedat", "fetchtime", "crawledat", "crawltime", "crawled", "scrapedat", "scraped",
    "downloadedat", "datedownload", "datedownloaded", "retrievedat", "timestamp",
)  # fmt: skip

_TITLE = ("title", "headline", "name")

_DOCUMENT = re.compile(
    r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE | re.DOTALL
)
_FRAGMENT = re.compile(r"\s*<(?:p|div|span|section|article|main|h[1-6]|table|ul|ol)\b", re.IGNORECASE)
_END_TAG = re.compile(
    r"</(?:html|body|head|title|div|p|span|a|ul|ol|li|h[1-6]|table|tr|td|section|article|main|em|strong|b|i)\s*>",
    re.IGNORECASE,
)
_SAMPLE = 20_000  # characters
#: A text with markup in it has more than two end tags, and one in as many characters.
_FEW, _PER_TAG = 2, 500
_LAST_SECOND = 32503680000  # year 3000; larger numbers are milliseconds
_PLANS = 1000


class _Plan(NamedTuple):
    """Names to try for each purpose."""

    content: Sequence[tuple[str, bool]]  # with whether it is HTML for sure
    url: Sequence[str]
    fetched: Sequence[str]
    title: Sequence[str]


class Fields:
    """Turns items into pages. The guesses are made for each set of field names anew."""

    def __init__(self, options: Options) -> None:
        self._text_field = options.text_field
        self._url_field = options.url_field
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def page(self, item: Mapping[str, Any], origin: Origin) -> CrawledPage | BrokenRecord:
        """Make a page of *item*; an item without a URL has its origin for one.

        If the user has named the field of the URL, an item without that field is a `BrokenRecord`.
        """
        plan = self._plan(item)
        if self._url_field is not None and _get(item, self._url_field) is None:
            return BrokenRecord(origin, self.no_url(item))
        found = [
            (value, html) for name, html in plan.content if (value := _content(_get(item, name))) is not None
        ]
        if not found:
            return BrokenRecord(origin, self.no_text(item))
        content, html = next((pair for pair in found if pair[0].strip()), found[0])
        url = next((url for name in plan.url if (url := _url(_get(item, name)))), None) or str(origin)
        if len(url) > MAX_URL:
            return BrokenRecord(origin, f"the URL has {len(url)} characters")
        fetched = next(
            (time for name in plan.fetched if (time := seconds(_get(item, name))) is not None), None
        )
        without = {*(name for name, _ in plan.content), *plan.url, *plan.fetched}
        if isinstance(content, bytes):
            note = note_of(item, without)
            return CrawledPage(url, None, content, None, fetched, origin, note=note)
        if html or is_html(content):
            content_type, note = "text/html; charset=utf-8", note_of(item, without)
            return CrawledPage(url, None, content.encode(), content_type, fetched, origin, note=note)
        titles = (value for name in plan.title if isinstance(value := _content(_get(item, name)), str))
        note = note_of(item, {*without, *plan.title})  # titles are compared by the rules of names
        return CrawledPage(url, content, None, None, fetched, origin, title=next(titles, ""), note=note)

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns among *names* that `page` looks at: all, or none if none can hold text."""
        plan = self._plan(dict.fromkeys(names))
        return [*names] if _columns(names, [name for name, _ in plan.content]) else []

    def no_text(self, names: Iterable[str]) -> str:
        """Say that fields called *names* hold no text, and what to do."""
        listed = _listed(names)
        if self._text_field is not None:
            return f"no text in the field {self._text_field} (--text-field); the fields are {listed}"
        return (
            "no field that is known to hold text or HTML: name one with --text-field; the fields are "
            f"{listed}"
        )

    def has_url(self, names: Sequence[str]) -> bool:
        """Whether a table with the columns *names* may have the field of the URL, if one was named."""
        return self._url_field is None or bool(_columns(names, [self._url_field]))

    def no_url(self, names: Iterable[str]) -> str:
        """Say that the field of the URL is not among *names*."""
        return f"no field {self._url_field} (--url-field); the fields are {_listed(names)}"

    def _plan(self, item: Mapping[str, Any]) -> _Plan:
        names = tuple(item)
        if (plan := self._plans.get(names)) is None:
            by_key: dict[str, str] = {}
            for name in names:
                by_key.setdefault(name.lower().replace("_", "").replace("-", ""), name)
            content = [(by_key[key], False) for key in _TEXT if key in by_key]
            content += [(by_key[key], True) for key in _HTML if key in by_key]
            url = _known(by_key, _URL) if self._url_field is None else [self._url_field]
            fetched = _known(by_key, _FETCHED)
            if self._text_field is not None:
                content = [(self._text_field, False)]
            plan = _Plan(content, url, fetched, _known(by_key, _TITLE))
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[names] = plan
        return plan


def is_html(content: str) -> bool:
    """Whether *content* is HTML, a document or a part of one, and no text that mentions a tag or two."""
    sample = content[:_SAMPLE]
    if _DOCUMENT.match(sample):
        return True
    if "</" not in sample:
        return False
    if _FRAGMENT.match(sample) and content[-_PER_TAG:].rstrip().endswith(">"):
        return True
    return len(_END_TAG.findall(sample)) > max(_FEW, len(sample) / _PER_TAG)


def clean(text: str) -> str:
    """Replace surrogates, which JSON can spell and no encoding can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _listed(names: Iterable[str]) -> str:
    return ", ".join([name[:40] for name in names][:12]) or "none"


def _columns(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the *names* that one of *wanted* is, or is a field of."""
    tops = {*wanted, *(name.partition(".")[0] for name in wanted)}
    return [name for name in names if name in tops]


def _known(by_key: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    return [by_key[key] for key in keys if key in by_key]


def _get(item: Mapping[str, Any], name: str) -> Any:
    if name in item:
        value = item[name]
        return "" if value is None else value
    head, dot, rest = name.partition(".")
    inner = item.get(head) if dot else None
    return _get(inner, rest) if isinstance(inner, Mapping) else None


def _content(value: Any) -> str | bytes | None:
    """Return the text of a field, which item loaders may have put into a list, or bytes that are HTML."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bytes):
        return value if looks_like_html(value) else value.decode("utf-8", "replace")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return clean("\n".join(value))
    return None


def _url(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return clean(value).strip() if isinstance(value, str) else None


def seconds(value: Any) -> float | None:
    """Return seconds since 1970, of a number of seconds or milliseconds, an ISO 8601 string or a datetime."""
    if isinstance(value, list):
        value = value[0] if value else None
    try:
        if isinstance(value, str):
            value = _parsed(value.strip()[:40])
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return aware.timestamp()
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return None
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    if seconds > _LAST_SECOND:
        seconds /= 1000
    return seconds if 0 < seconds <= _LAST_SECOND else None


def _parsed(value: str) -> datetime | float:
    try:
        return float(value)
    except ValueError:
        return datetime.fromisoformat(value.replace("Z", "+00:00").replace(" +", "+"))

"""Parts of a page that are not its main text, by what their markup calls them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import regex

if TYPE_CHECKING:
    from lxml.etree import _Element

#: What an element holds: comments of readers; the foot of the page, or a notice of consent; navigation,
#: teasers, advertising; or none of these. An article may stand in what is called "around" by mistake, hardly
#: ever in a "foot". Lines may be "quoted" from another text.
Region = Literal["", "comments", "foot", "around", "quoted"]


def names(text: str) -> frozenset[str]:
    """Return the words of *text*."""
    return frozenset(text.split())


#: Of several regions that the names of an element speak of, the first of these counts.
_FIRST: tuple[Region, ...] = ("comments", "foot", "around")
#: Elements whose names say that they stand around the main text.
_AROUND = frozenset(("nav", "footer", "aside", "menu", "dialog"))
#: Those that hold the main text, whatever they are called.
_MAIN = frozenset(("body", "html", "main", "article", "h1", "p"))

# Names in class, id and role are looked at part by part: "post-comments" is "post" and "comments".
_PART = regex.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", regex.V1)
_COMMENTS = regex.compile(
    r"comment(?!ar(?:y|ies)|ator|ing|ed)|disqus|kommentar|komentar|comentario|respond$|reply$|replies$|guestbook$"
    r"|opinie$|otzyvy?$|reactie"
)
_FOOT = names("foot footer copyright cookie cookies cookiebanner consent gdpr onetrust")
_NOTICES = names(
    "sidebar sidebar1 sidebar2 related relatedposts recommend"
    " recommended recommendation recommendations popular trending mostread newsletter subscribe subscription"
    " sharedaddy breadcrumb breadcrumbs nav navbar navigation menu promo advert"
    " advertisement ad ads sponsor sponsors sponsored login popup modal overlay teaser teasers calendar"
    " disclaimer pagination pager rail outbrain taboola banner dialog rightcol leftcol bottom paywall author"
    " bio"
    " byline feedback"
)
#: What has an article's name, too, is no bar of buttons but an article that can be shared.
_BARS = names("share shares sharing social")
_ARTICLE = names("article entry hentry post story")
#: Names of the element that holds the paragraphs of an article, without what divides their parts.
_BODY = names("articlebody entrycontent postbody storybody")
#: Names that begin so say how a page is laid out ("no-sidebar") or filed ("tag-cookies").
_QUALIFIERS = names(
    "no has with without is tag category type status js wp theme single margin padding hide show open closed"
    " page"
)
#: A name with such a part is that of a frame, which may hold anything.
_FRAME = regex.compile(
    r"wrap|container|layout|column|grid|row|template|content|(?:article|post)(?!s)|entry|story|main|body$"
    r"|^(?:layout|page|mb|mt)$"
)
_FRAME_OF_COMMENTS = names("wrap wrapper container content body text list area section")
#: Of one attribute, as many names and characters are read.
_NAMES, _CHARACTERS = 12, 600
_PARTS = 4
#: Names, and values of attributes, that are remembered with what they say: the pages of a site have the same
#: few. Crafted ones, long and beyond ASCII, take 6 MB in each of three memories.
_REMEMBERED = 1 << 11


def region_of(element: _Element, has_headline: bool) -> Region:
    """Return what *element* holds by its name, class, id and role.

    What holds the headline stands around nothing, and so does what is called the body of an article.
    """
    tag = element.tag
    if tag in _MAIN or (has_headline and tag != "nav"):
        return ""
    if tag in _AROUND:
        return "foot" if tag == "footer" else "around"
    found: set[Region] = set()
    for attribute in ("class", "id", "role"):
        if value := element.get(attribute):
            found |= _regions(value[:_CHARACTERS])
    if not found:
        return ""
    region = next(each for each in _FIRST if each in found)
    return "" if region in ("foot", "around") and _is_body(element) else region


@lru_cache(maxsize=_REMEMBERED)
def _regions(value: str) -> frozenset[Region]:
    """Return what the names in the *value* of an attribute speak of."""
    named = value.split()[:_NAMES]
    kinds = {*map(_kind, named)}
    if "bar" in kinds and _ARTICLE.isdisjoint(named):
        kinds.add("around")
    return frozenset(each for each in _FIRST if each in kinds)


@lru_cache(maxsize=_REMEMBERED)
def _kind(name: str) -> Region | Literal["bar"]:
    """Return what an element holds by one of its names.

    A "bar" of buttons is one if no other name says that it is an article, which can be shared.
    """
    parts = [part.lower() for part in _PART.split(name) if part]
    if not parts or len(parts) > _PARTS or parts[0] in _QUALIFIERS:
        return ""
    others = [part for part in parts if not _COMMENTS.match(part)]
    if len(others) < len(parts):
        last = parts[-1] in _FRAME_OF_COMMENTS or _COMMENTS.match(parts[-1])
        if last or not any(map(_FRAME.search, others)):
            return "comments"
    if any(map(_FRAME.search, parts)):
        return ""
    if not _FOOT.isdisjoint(parts):
        return "foot"
    # Page builders call every part of a page some sort of widget; those of a sidebar are just widgets.
    if parts[0] == "widget" or not _NOTICES.isdisjoint(parts):
        return "around"
    return "" if _BARS.isdisjoint(parts) else "bar"


def _is_body(element: _Element) -> bool:
    """Tell whether *element* has a name that says that it holds the paragraphs of an article."""
    named = element.get("class", "")[:_CHARACTERS].split()[:_NAMES]
    return element.get("itemprop") == "articleBody" or any(map(_names_body, named))


@lru_cache(maxsize=_REMEMBERED)
def _names_body(name: str) -> bool:
    return "".join(_PART.split(name)).lower() in _BODY

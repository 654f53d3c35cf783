"""Takes out of a page the elements that its markup hides: what is not shown is not its text.

Without a parse tree, and in linear time whatever a page nests: an element is followed to its end only once it
is known to be hidden. What the markup does not tell, such as the rules of a style sheet, is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Elements hidden by their name, and what only looks like markup inside.
_NEVER_SHOWN = frozenset((b"template", b"noscript"))
_NOT_MARKUP = frozenset((b"script", b"style", b"textarea"))
#: Elements without content, and those that hold all of a page, which its scripts show later.
_KEPT = frozenset(
    b"area base br col embed hr img input link meta param source track wbr html head body main".split()
)
#: After so many hidden elements that have no end no more are looked for: each takes a look at the rest of the
#: page.
_UNCLOSED = 4
#: How such tags and comments begin, and their first two characters, bool[65536].
_OPENING = (b"<!--", *(b"<" + name for name in (*_NEVER_SHOWN, *_NOT_MARKUP)))
_STARTS = np.zeros(1 << 16, np.bool_)
_STARTS[[start[1] << 8 | start[2] for start in _OPENING]] = True
_TAG_START = ord("<")
_NEAR = 24  # characters within which "display" and "none" belong together

# Atomic throughout: linear time. An end tag, a start tag or the start of a comment.
_TAG = regex.compile(
    rb"""<(?:!--|(?P<end>/?+)(?P<name>[a-z][^\s/<>]*+)
    (?P<attributes>(?>[^<>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+)>?+)""",
    regex.VERBOSE | regex.V1,
)
_ATTRIBUTE = regex.compile(
    rb"""([^\s/<>="']++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s<>"']++)))?+""", regex.V1
)
_HIDING = regex.compile(
    rb"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse))\s*+(?:!|;|$)", regex.V1
)
#: React sends late parts of a page in a hidden element with such an id, and moves them to where they belong.
_AWAITED = regex.compile(rb"s:[0-9a-f]++$", regex.V1)


def without_hidden(html: str) -> str:
    """Return *html* without the elements that it hides; itself if there are none.

    Hidden is what has the attribute ``hidden``, ``aria-hidden="true"``, a ``style`` with ``display: none`` or
    ``visibility: hidden``, and every ``template`` and ``noscript``.
    """
    page = html.encode("utf-8", "surrogatepass")
    kept, start = [], 0
    for begin, end in _hidden(page.lower()):
        kept.append(page[start:begin])
        start = end
    if not kept:
        return html
    return b"".join((*kept, page[start:])).decode("utf-8", "surrogatepass")


def _hidden(page: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the outermost hidden elements of *page*, in lower case, begin and end."""
    done = looked = begin = 0
    tag: regex.Match[bytes] | None = None
    unclosed = 0
    for place in sorted(_places(page)):
        if place < done:
            continue
        # The tag that the word is in, if it is in one; what lies before was looked at.
        found = place if page[place] == _TAG_START else page.rfind(b"<", max(looked, done), place)
        looked = place
        if found >= 0:
            begin, tag = found, _TAG.match(page, found)
        if tag is None or begin < done or tag.end() <= place:
            continue
        done = _content(page, tag)
        if not _hides(tag):
            continue
        end = _end(page, tag)
        if end is not None:
            done = end
            yield begin, end
        elif (unclosed := unclosed + 1) == _UNCLOSED:
            return


def _places(page: bytes) -> Iterator[int]:
    """Yield where something is that may hide an element, and where it begins what only looks like markup."""
    for word in (b"hidden", b"display"):
        place = page.find(word)
        while place >= 0:
            if word == b"hidden" or b"none" in page[place : place + _NEAR]:
                yield place
            place = page.find(word, place + len(word))
    data = np.frombuffer(page + b"  ", np.uint8)
    tags = np.flatnonzero(data == _TAG_START)
    starts = data[tags + 1].astype(np.uint16) << 8 | data[tags + 2]
    for place in tags[_STARTS[starts]].tolist():
        if page.startswith(_OPENING, place):
            yield place


def _content(page: bytes, tag: regex.Match[bytes]) -> int:
    """Return where the markup goes on after *tag*: behind the tag, or behind what only looks like markup."""
    name = tag["name"]
    if name is None:
        end = page.find(b"-->", tag.end())
    elif name in _NOT_MARKUP and not tag["end"]:
        end = page.find(b"</" + name, tag.end())
    else:
        return int(tag.end())
    return int(end) if end >= 0 else len(page)


def _hides(tag: regex.Match[bytes]) -> bool:
    name, attributes = tag["name"], tag["attributes"]
    # Closed by itself it has no content, or is taken for visible.
    if name is None or tag["end"] or name in _KEPT or name in _NOT_MARKUP or attributes.endswith(b"/"):
        return False
    if name in _NEVER_SHOWN:
        return True
    found = {attribute: b"".join(values).strip() for attribute, *values in _ATTRIBUTE.findall(attributes)}
    return (
        (
            found.get(b"hidden", b"until-found") != b"until-found"
            and not _AWAITED.search(found.get(b"id", b""))
        )
        or found.get(b"aria-hidden") == b"true"
        or _HIDING.search(found.get(b"style", b"")) is not None
    )


def _end(page: bytes, tag: regex.Match[bytes]) -> int | None:
    """Return where the element that *tag* begins ends; None if it does not."""
    name, place, depth = tag["name"], tag.end(), 1
    if name != b"p":
        # Most hold no other of the same name, and nothing that only looks like markup.
        closing = page.find(b"</" + name, place)
        if closing < 0:
            return None
        inside = page[place:closing]
        if not any(start in inside for start in (b"<" + name, b"<sc", b"<st", b"<te", b"<!")):
            place = closing
    while (inner := _TAG.search(page, place)) is not None:
        place = _content(page, inner)
        if inner["name"] != name:
            continue
        if inner["end"]:
            depth -= 1
            if not depth:
                return place
        elif name == b"p":  # which needs no end tag
            return int(inner.start())
        else:
            depth += 1
    return None

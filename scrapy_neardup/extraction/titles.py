"""What a page calls itself in its head, for browsers and for those who link to it."""

from __future__ import annotations

import html as htmllib

import regex

#: Characters of a page in which its titles stand, and of the longest title that is read.
_HEAD, _LONGEST = 1 << 18, 1000
_TITLE = regex.compile(r"<title\b[^<>]*+>([^<]*+)", regex.IGNORECASE | regex.V1)
_META = regex.compile(r"<meta\b[^<>]*+>", regex.IGNORECASE | regex.V1)
_SHARED = regex.compile(
    r"""\b(?:property|name)\s*+=\s*+["']?+og:title(?![\w:\-])""", regex.IGNORECASE | regex.V1
)
_CONTENT = regex.compile(r"""\bcontent\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", regex.IGNORECASE | regex.V1)


def titles(html: str) -> list[str]:
    """Return the title of a page, and the one under which it is shared; those that it has."""
    head = html[:_HEAD]
    found = []
    if (title := _TITLE.search(head)) is not None:
        found.append(title[1])
    for meta in _META.finditer(head):
        if _SHARED.search(meta[0]) is not None:
            found += ["".join(values) for values in _CONTENT.findall(meta[0])][:1]
            break
    shown = (" ".join(htmllib.unescape(title[:_LONGEST]).split()) for title in found)
    return [title for title in dict.fromkeys(shown) if title]

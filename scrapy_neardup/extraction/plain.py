"""All visible text of a page, without a parse tree: nothing to overflow, whatever the page nests."""

from __future__ import annotations

import html as htmllib

import regex

from scrapy_neardup.fingerprint.main_text import MainText

from .headline import titles

_INVISIBLE = "script|style|noscript|template|title|iframe|object|svg|math|textarea|select"
_BLOCK = (
    "address|article|aside|blockquote|body|br|button|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|h[1-6]|head|header|hr|html|legend|li|main|menu|nav|ol|option|p|pre|section|"
    "summary|table|tbody|td|tfoot|th|thead|tr|ul|video"
)
# Atomic throughout, and what an unclosed construct has swallowed is never scanned again: linear time. All
# begin with the same character, which the search can so skip to.
_ATTRIBUTES = r"""(?>[^<>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+>?"""
_MARKUP = regex.compile(
    rf"""<(?:
      !--(?:[^\-]++|-(?!->))*+(?:-->)?+
    | (?P<hidden>{_INVISIBLE})(?=[\s/>]){_ATTRIBUTES}
      (?:[^<]++|<(?!/(?P=hidden)[\s/>]))*+(?:</(?P=hidden)[^<>]*+>?)?+
    | /?+(?P<block>{_BLOCK})(?=[\s/>]){_ATTRIBUTES}
    | /?+(?P<inline>[a-z])[^\s/<>]*+{_ATTRIBUTES}
    | [!?/][^<>]*+>?
    )""",
    regex.VERBOSE | regex.IGNORECASE | regex.V1,
)
_REPLACEMENTS = {"block": "\n", "inline": ""}


class Plain:
    """Every visible text of the page, navigation and all; block elements begin a new line."""

    identity = "plain 2"

    def __call__(self, html: str, url: str | None) -> MainText:
        return MainText(self.text(html), " ".join(titles(html)))

    def text(self, html: str) -> str:
        """Return all visible text of a page."""
        # A newline in the source is a space to the reader, so only tags may break lines.
        flat = " ".join(html.split())
        text = htmllib.unescape(_MARKUP.sub(_replacement, flat))
        lines = (" ".join(line.split()) for line in text.split("\n"))
        return "\n".join(line for line in lines if line)


def _replacement(match: regex.Match[str]) -> str:
    return _REPLACEMENTS.get(match.lastgroup, " ")

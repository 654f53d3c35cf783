"""Extractors by name; and main text by other libraries: the sentences of what they find, or all of it.

Copies of an article differ most in what is left in or out around it; paragraphs are what both have.
"""

from __future__ import annotations

import html as htmllib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from scrapy_neardup.arguments import require_type, takes
from scrapy_neardup.errors import ExtractorUnavailable
from scrapy_neardup.fingerprint.main_text import MainText, is_paragraph, length

from .base import Extractor
from .parsing import titles

_IDENTITY = "sentences 6"
#: The identity of the default, which the process of a crawl need not import.
SEGMENT = "segment 27"

# All in letters, see `length`. Of all visible text, with its boilerplate, only such paragraphs count.
_VISIBLE_PARAGRAPH = 100
# With fewer in all the extractor may have missed the article.
_MISSED = 300
# With fewer in sentences everything extracted is taken, and so if they are a smaller share of it.
_LEAST = 600
_SHARE = 0.5

# For `Plain`.
_INVISIBLE = "script|style|noscript|template|title|iframe|object|svg|math|textarea|select"
_BLOCK = (
    "address|article|aside|blockquote|body|br|button|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|h[1-6]|head|header|hr|html|legend|li|main|menu|nav|ol|option|p|pre|section|"
    "summary|table|tbody|td|tfoot|th|thead|tr|ul|video"
)
# Atomic throughout, and what an unclosed construct has swallowed is never scanned again: linear time. All
# begin with the same character, which the search can so skip to.
_ATTRIBUTES = r"""(?>[^<>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+>?"""
_MARKUP = rf"""<(?:
      !--(?:[^\-]++|-(?!->))*+(?:-->)?+
    | (?P<hidden>{_INVISIBLE})(?=[\s/>]){_ATTRIBUTES}
      (?:[^<]++|<(?!/(?P=hidden)[\s/>]))*+(?:</(?P=hidden)[^<>]*+>?)?+
    | /?+(?P<block>{_BLOCK})(?=[\s/>]){_ATTRIBUTES}
    | /?+(?P<inline>[a-z])[^\s/<>]*+{_ATTRIBUTES}
    | [!?/][^<>]*+>?
    )"""
_REPLACEMENTS = {"block": "\n", "inline": ""}


class Plain:
    """Every visible text of the page, navigation and all; block elements begin a new line."""

    identity = "plain 2"

    def __call__(self, html: str, url: str | None) -> MainText:
        return MainText(visible_text(html), " ".join(titles(html)))


def visible_text(html: str) -> str:
    """Return all visible text of a page."""
    # A newline in the source is a space to the reader, so only tags may break lines.
    flat = " ".join(html.split())
    # Compiled when it is first used: the process of the crawl imports this, too.
    flags = regex.VERBOSE | regex.IGNORECASE | regex.V1
    unmarked = regex.sub(_MARKUP, lambda match: _REPLACEMENTS.get(match.lastgroup, " "), flat, flags=flags)
    text = htmllib.unescape(unmarked)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def main_text(extracted: str, html: str) -> MainText | None:
    """Return the main text of the page *html* of which an extractor found *extracted*, or None."""
    text, details = divided(extracted.split("\n"))
    if length(extracted) < _MISSED:
        lines = visible_text(html).split("\n")
        visible = [line for line in lines if is_paragraph(line, length(line), _VISIBLE_PARAGRAPH)]
        if sum(map(length, visible)) >= _LEAST:
            # Sentences that all pages of a site have never stand in for what was found on this one. That is
            # joined, because the fingerprint leaves out short lines beside longer ones.
            own = " ".join(line for line in text if line not in visible)
            text = [own, *visible] if own else visible
    return MainText("\n".join(text), " ".join(titles(html)), "\n".join(details)) if any(text) else None


def divided(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the *lines* that are sentences, and those that are none; all, and none, if the first are few."""
    sizes = [length(line) for line in lines]
    own, others = list[str](), list[str]()
    for line, size in zip(lines, sizes, strict=True):
        (own if is_paragraph(line, size) else others).append(line)
    enough = sum(map(length, own)) >= max(_LEAST, _SHARE * sum(sizes))
    return (own, others) if enough else (lines, ())


class Trafilatura:
    """The sentences of the article, without the comments, as Trafilatura's own rules find it.

    Its fallbacks (``fast=False``) let copies differ more often; ``deduplicate`` depends on the pages before.
    """

    def __init__(self) -> None:
        from importlib.metadata import version

        self.identity = f"trafilatura {version('trafilatura')} fast, {_IDENTITY}"

    def __call__(self, html: str, url: str | None) -> MainText | None:
        from trafilatura import extract  # .1 s, for the processes that extract alone

        found = extract(html, fast=True, include_comments=False, deduplicate=False, with_metadata=False)
        return main_text(found or "", html)


class Resiliparse:
    """The sentences of the main content; its rules are in C++, ten times faster, and less thorough."""

    def __init__(self) -> None:
        from importlib.metadata import version

        from resiliparse.extract.html2text import extract_plain_text  # an extra

        self._extract = extract_plain_text
        self.identity = f"resiliparse {version('resiliparse')} main_content, {_IDENTITY}"

    def __call__(self, html: str, url: str | None) -> MainText | None:
        extracted = self._extract(
            html, main_content=True, list_bullets=False, alt_texts=False, comments=False, post_meta=False
        )
        return main_text(extracted, html)


#: Built-in extractors: module in this package, class, and what to install if it cannot be imported.
_BUILT_IN = {
    "segment": ("segment", "Segment", "lxml regex"),
    "trafilatura": ("libraries", "Trafilatura", "trafilatura lxml_html_clean"),
    "resiliparse": ("libraries", "Resiliparse", "'scrapy-neardup[resiliparse]'"),
    "plain": ("libraries", "Plain", "lxml regex"),
}
EXTRACTORS = tuple(_BUILT_IN)


@dataclass(frozen=True, slots=True)
class _Imported:
    """A callable of the user's as an extractor."""

    function: Callable[[str, str | None], str | MainText | None]
    identity: str

    def __call__(self, html: str, url: str | None) -> str | MainText | None:
        text = self.function(html, url)
        require_type(
            "What an extractor returns", text, (str, MainText, type(None)), "a str, a MainText or None"
        )
        return text


def load_extractor(name: str) -> Extractor:
    """Return the extractor *name*: one of ``EXTRACTORS``, ``package.module.name`` or ``package.module:name``.

    A class is called without arguments, for an extractor. What has no attribute ``identity`` has its import
    path for one. Raises `ExtractorUnavailable`.
    """
    require_type("An extractor", name, str, "a name or an import path, a str")

    def refused(fault: str) -> ExtractorUnavailable:
        return ExtractorUnavailable(f"The extractor {name!r} of NEARDUP_EXTRACTOR {fault}.")

    if name in _BUILT_IN:
        module, attribute, requirement = _BUILT_IN[name]
        try:
            built_in: Extractor = getattr(importlib.import_module(f".{module}", __package__), attribute)()
        except (ImportError, AttributeError) as error:
            remedy = f"run `pip install --upgrade {requirement}`"
            raise refused(f"cannot be imported ({error}): {remedy}") from error
        return built_in
    module, _, attribute = name.rpartition(":" if ":" in name else ".")
    if not module or not attribute:
        known = ", ".join(map(repr, EXTRACTORS))
        raise refused(f"is none: set it to {known} or the import path of a function (html, url) -> text")
    if module == "__main__":
        raise refused("cannot be imported by worker processes: move the function to a module of its own")
    try:
        function = getattr(importlib.import_module(module), attribute)
        if isinstance(function, type):
            function = function()
    except Exception as error:  # it is the user's code
        remedy = "check the path, and that its package is installed"
        raise refused(f"cannot be imported ({error!r}): {remedy}") from error
    if not callable(function) or not takes(function, "", None):
        fault = "takes other arguments" if callable(function) else "is not callable"
        raise refused(f"{fault}: name a function (html, url) -> text")
    return _Imported(function, str(getattr(function, "identity", f"{module}:{attribute}")))

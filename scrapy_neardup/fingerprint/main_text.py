"""What an extractor says of a page: the text that is compared, and what tells the page from others with that text."""

from __future__ import annotations

from typing import NamedTuple

from .wrapping import unwrapped


class MainText(NamedTuple):
    """The main text of a page, what it is called, and its short lines."""

    #: Paragraphs, one a line: what is fingerprinted.
    text: str
    #: The words of title and headings that name this page among those of its site; empty if they are not known.
    title: str = ""
    #: Lines of the main content that are too short to be fingerprinted, such as rows of tables, prices and dates.
    details: str = ""

    @property
    def shown(self) -> str:
        """All of it, for people to read."""
        return "\n".join(filter(None, self))


def main_text(text: str | MainText) -> MainText:
    """Return *text* as a main text: a plain one unwrapped, its short lines known by their length, its title not known."""
    return text if isinstance(text, MainText) else MainText(unwrapped(text))

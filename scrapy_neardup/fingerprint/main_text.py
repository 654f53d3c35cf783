"""What an extractor finds in a page: its main text, its title and its short lines."""

from __future__ import annotations

from typing import NamedTuple

from .quotations import without_quotations
from .wrapping import unwrapped


class MainText(NamedTuple):
    """The main text of a page, what it is called, and its short lines."""

    #: What is fingerprinted: paragraphs, one a line.
    text: str
    #: The words of title and headings that name this page among those of its site; empty if they are not
    #: known.
    title: str = ""
    #: Lines of the main content that are too short to be fingerprinted, such as rows of tables, prices and
    #: dates.
    details: str = ""

    @property
    def shown(self) -> str:
        """All parts in one text, for people to read."""
        return "\n".join(filter(None, self))


def main_text(text: str | MainText) -> MainText:
    """Return *text* as a `MainText`.

    A plain text is unwrapped, without what it quotes if it is a letter. Its title is not known, and its short
    lines are found by their length later.
    """
    return text if isinstance(text, MainText) else MainText(unwrapped(without_quotations(text)))

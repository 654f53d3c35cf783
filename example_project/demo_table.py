"""The table that the demo prints."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from demo_outcome import DUPLICATE
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from demo_outcome import Outcome, Outcomes
    from site_pages import Page
    from site_server import NewsNetwork

STYLES = {
    "exact": "red",
    "near": "yellow",
    "revisit": "cyan",
    "unique": "green",
    "items_differ": "green",
    "fuller": "green",
    "too_short": "magenta",
    "wall": "magenta",
    "template": "magenta",
    "skipped": "dim",
}
TEXTS = {
    "unique": "kept",
    "items_differ": "kept",
    "fuller": "kept",
    "too_short": "tagged: short",
    "wall": "tagged: wall",
    "template": "tagged: template",
}
SECTIONS = {
    "revisit": "Met in an earlier run",
    "unique": "Kept: nothing like it was met before",
    "items_differ": "Kept: much like a stored page, but its item says something else",
    "fuller": "Kept: has most of a stored page, and more",
    "template": "Tagged, never dropped: a page of a template, filled with other numbers",
    "wall": "Tagged, never dropped: stands in the way of the page",
    "too_short": "Tagged, never dropped: too short to judge",
    "skipped": "Not judged",
}


class OutcomeTable:
    """Stories with their copies below them, then all other pages, those of one kind in one row."""

    def __init__(
        self,
        outcomes: Outcomes,
        network: NewsNetwork,
        expected: Mapping[str, Page],
        surprises: Mapping[str, str],
    ) -> None:
        self.outcomes = outcomes
        self.network = network
        self.expected = expected
        self.surprises = surprises
        #: Heading and rows of each section; the columns are equally wide in all.
        self.sections: list[tuple[str, Table]] = []
        self._add_stories()
        self._add_others()

    def print(self, console: Console) -> None:
        for heading, table in self.sections:
            console.print(f"\n[bold]{heading}[/]")
            console.print(table)
        console.print(
            "\n[dim]└ copy of the page above it · bits: distance of the fingerprints · alike: overlap of the "
            "texts · "
            "missed: a copy kept[/]",
            highlight=False,
        )

    def draw(self, path: Path) -> None:
        """Draw the first section as an SVG, in a font of the reader's."""
        console = Console(record=True, width=112, file=io.StringIO())
        heading, table = self.sections[0]
        console.print(f"[bold]{heading}[/]")
        console.print(table)
        drawn = console.export_svg(title="make demo")
        path.write_text(re.sub(r"@font-face {.*?}", "", drawn, flags=re.DOTALL), encoding="utf-8")

    def _add_stories(self) -> None:
        copies: dict[str, list[Outcome]] = defaultdict(list)
        for page in self.outcomes.pages.values():
            if page.match is not None and page.verdict in DUPLICATE:
                copies[page.match].append(page)
        self.heads = set(copies)
        if copies:
            self._add_heading("Stories that were met more than once")
        for url, pages in sorted(copies.items(), key=lambda story: (-len(story[1]), story[0])):
            head = self.outcomes.pages.get(url)
            self._add(head.title if head else path_of(url), url, [head] if head else [])
            for page in sorted(pages, key=lambda page: page.url):
                same, _, query = page.url.partition("?")
                self._add(f"└ …?{query}" if same == url else f"└ {path_of(page.url)}", page.url, [page])

    def _add_others(self) -> None:
        groups: dict[str, dict[tuple[str, str], list[Outcome]]] = defaultdict(lambda: defaultdict(list))
        for page in self.outcomes.pages.values():
            if page.url not in self.heads and page.verdict not in DUPLICATE:
                note = self._note(page.url)
                one_by_one = page.verdict == "unique" and (not note or self._is_missed(page))
                site = "" if page.verdict == "skipped" else self.network.site_of(page.url)
                groups[page.verdict][site, page.url if one_by_one else note].append(page)
        for verdict, heading in SECTIONS.items():
            if verdict in groups:
                self._add_heading(heading)
            for _, pages in sorted(groups[verdict].items()):
                names = ", ".join(dict.fromkeys(short_path(page.url) for page in pages))
                self._add(pages[0].title or names if len(pages) == 1 else names, pages[0].url, pages)

    def _add_heading(self, text: str) -> None:
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            show_edge=False,
            show_header=not self.sections,
            header_style="bold",
            expand=True,
        )
        table.add_column("page", ratio=3, no_wrap=True, overflow="ellipsis")
        table.add_column("site", width=8, no_wrap=True)
        table.add_column("what it is", ratio=2, no_wrap=True, overflow="ellipsis")
        table.add_column("outcome", width=18, no_wrap=True)
        table.add_column("bits", width=4, justify="right")
        table.add_column("alike", width=5, justify="right")
        self.sections.append((text, table))

    def _add(self, name: str, url: str, pages: list[Outcome]) -> None:
        note = self._note(url)
        sites = {self.network.site_of(page.url) for page in pages} or {self.network.site_of(url)}
        numbers = ("", "")
        if len(pages) == 1 and pages[0].similarity is not None and pages[0].verdict in DUPLICATE:
            numbers = (str(pages[0].distance), f"{pages[0].similarity:.0%}")
        self.sections[-1][1].add_row(
            escape(name),
            sites.pop() if len(sites) == 1 else f"{len(sites)} sites",
            f"{len(pages)} × {note or 'story'}" if len(pages) > 1 else note,
            self._outcome(pages) if pages else "[dim]met earlier[/]",
            *numbers,
        )

    def _note(self, url: str) -> str:
        if url in self.expected:
            return self.expected[url].note
        return "front or section page" if url in self.outcomes.pages else ""

    def _is_missed(self, page: Outcome) -> bool:
        """Whether it is the copy of a story, but was not recognised."""
        return page.url in self.expected and self.expected[page.url].expect[0] in DUPLICATE

    def _outcome(self, pages: list[Outcome]) -> str:
        verdict, style = pages[0].verdict, STYLES[pages[0].verdict]
        if verdict in DUPLICATE:
            text = f"{'tagged' if self.outcomes.tags_duplicates else 'dropped'}: {verdict}"
        elif verdict == "unique" and self._is_missed(pages[0]):
            text, style = "kept: missed", "bold yellow"
        elif pages[0].field:
            text = f"kept: {pages[0].field} differs"
        else:
            text = TEXTS.get(verdict, verdict)
        mark = " [bold red]![/]" if any(page.url in self.surprises for page in pages) else ""
        return f"[{style}]{text}[/]{mark}"


def path_of(url: str) -> str:
    """Return *url* without its scheme and host."""
    parts = urlsplit(url)
    return parts._replace(scheme="", netloc="").geturl()


def short_path(url: str) -> str:
    """Return the path of a listing, the last part of other paths."""
    path = urlsplit(url).path
    return path if path.endswith("/") else path.rsplit("/", 1)[1].removesuffix(".html")

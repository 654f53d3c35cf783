"""Two audits of one site compared by URL: which repeats were fixed since the first, and which are new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.records import filed_url

from .output.files import is_url

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

#: Verdicts of pages that repeat others. A page of which its canonical page has all, and much else, is not to
#: fix.
_REPEATS = frozenset(("exact", "near"))
#: What a change is called, the good ones first. ``gone``: the page is in the crawl no more. ``handled``: it
#: now names its canonical page, or asks not to be indexed. ``rewritten``: it repeats no page now.
#: ``new_page``: it repeats one, and was not in the earlier crawl. ``now_repeats``: it repeats one, and in the
#: earlier crawl it repeated none or was handled. ``stays``: it repeats a page as before.
CHANGES = ("gone", "handled", "rewritten", "new_page", "now_repeats", "stays")
#: What became of a line of drop.txt, which also lists pages that are handled, and parts, and leaves out
#: repeats that are not alike enough.
LINES = ("line_new", "line_gone")


class Change(NamedTuple):
    """What became of a page that was or is to fix, or that one of two audits lists in its drop.txt."""

    url: str
    #: One of `CHANGES`; None for a page that neither was to fix nor is.
    change: str | None
    #: The page that it repeated, and the one that it repeats; None if it did not, or does not.
    before: str | None
    now: str | None
    #: One of `LINES`; None if both drop.txt have the page, or neither has.
    line: str | None = None


class _Page(NamedTuple):
    url: str
    #: The page that it repeats, if any, and whether that is told to search engines already.
    repeats: str | None
    handled: bool

    @property
    def to_fix(self) -> bool:
        return self.repeats is not None and not self.handled


def changes(earlier: str | os.PathLike[str], later: str | os.PathLike[str]) -> Iterator[Change]:
    """Yield what changed between the audits in two directories, by URL.

    A URL that several pages have is to fix if one of them is. Raises `ConfigurationError` if a directory has
    no audit.
    """
    old, new = _read(Path(earlier)), _read(Path(later))
    listed, now_listed = _dropped(Path(earlier)), _dropped(Path(later))
    for name in sorted(old.keys() | new.keys()):
        before, now = old.get(name), new.get(name)
        change = _change(before, now)
        line = None
        if (name in listed) != (name in now_listed):
            line = "line_gone" if name in listed else "line_new"
        if change or line:
            page = now or before
            assert page is not None  # one of both has the URL
            yield Change(page.url, change, before and before.repeats, now and now.repeats, line)


def _change(before: _Page | None, now: _Page | None) -> str | None:
    if before is not None and before.to_fix:
        if now is None:
            return "gone"
        return "stays" if now.to_fix else "handled" if now.handled else "rewritten"
    if now is not None and now.to_fix:
        return "new_page" if before is None else "now_repeats"
    return None


def _dropped(directory: Path) -> set[str]:
    """Return the lines of the drop.txt in *directory*."""
    path = directory / "drop.txt"
    return {*path.read_text(encoding="utf-8").split("\n")} if path.is_file() else set()


def _read(directory: Path) -> dict[str, _Page]:
    """Return the pages of the audit in *directory* by the name that drop.txt has for them."""
    path = directory / "pages.jsonl"
    if not path.is_file():
        raise ConfigurationError(
            f"There is no audit in {directory}: name the directory that one has written."
        )
    pages: dict[str, _Page] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                repeats = row["canonical"] if row["verdict"] in _REPEATS else None
                page = _Page(str(row["url"]), repeats, row["handled"] is not None)
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigurationError(
                    f"{path}, line {number} is no page of an audit of this version: run that audit again."
                ) from None
            name = filed_url(page.url) if is_url(page.url) else page.url
            if name not in pages or page.to_fix:
                pages[name] = page
    return pages

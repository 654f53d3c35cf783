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


class Change(NamedTuple):
    """What became of a page that was or is to fix."""

    url: str
    #: ``gone``: the page is in the crawl no more. ``handled``: it now names its canonical page, or asks not
    #: to be indexed. ``rewritten``: it repeats no page now. ``new_page``: it repeats one, and was not in the
    #: earlier crawl. ``now_repeats``: it repeats one, and before it repeated none or was handled. ``stays``:
    #: it repeats a page as before.
    change: str
    #: The page that it repeated, and the one that it repeats; None if it did not, or does not.
    before: str | None
    now: str | None


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
    for name in sorted(old.keys() | new.keys()):
        before, now = old.get(name), new.get(name)
        change = None
        if before and before.to_fix:
            change = (
                "gone" if not now else "stays" if now.to_fix else "handled" if now.handled else "rewritten"
            )
        elif now and now.to_fix:
            change = "now_repeats" if before else "new_page"
        if change:
            yield Change((now or old[name]).url, change, before and before.repeats, now and now.repeats)


def _read(directory: Path) -> dict[str, _Page]:
    """Return the pages of the audit in *directory* by the names that drop.txt has for them."""
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
                repeats = row["canonical"] if row["verdict"] in ("exact", "near") else None
                page = _Page(str(row["url"]), repeats, row["handled"] is not None)
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigurationError(
                    f"{path}, line {number} is no page of an audit of this version: run that audit again."
                ) from None
            name = filed_url(page.url) if is_url(page.url) else page.url
            if name not in pages or page.to_fix:
                pages[name] = page
    return pages

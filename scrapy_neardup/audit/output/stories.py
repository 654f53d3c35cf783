"""Stories, the clusters of an audit in time: who had a text first, who copied it, which versions say more."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.sites import split_url

from .files import replacing
from .report import LAST_SECOND, page_of

Story = dict[str, Any]
#: Stories that the page shows, and how many sources and pages a picture has.
_STORIES, _SOURCES, _DOTS = 50, 30, 1000


def read_stories(folder: Path, least: int = 2) -> list[Story]:
    """Return the clusters of the audit in *folder* with at least so many sources, those with the most first.

    A story is as docs/audit.md has it in JSON. Raises `ConfigurationError`.
    """
    clusters, parts = defaultdict[int, list["Story"]](list), defaultdict[str, set[str]](set)
    pages: dict[str, Story] = {}
    try:
        with (folder / "pairs.jsonl").open(encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                if pair["kind"] == "part":
                    parts[pair["url1"]].add(pair["url2"])
                    parts[pair["url2"]].add(pair["url1"])
        with (folder / "pages.jsonl").open(encoding="utf-8") as lines:
            for page in map(json.loads, lines):
                if page["cluster"] is not None:
                    clusters[page["cluster"]].append(_seen(page))
                if page["url"] in parts:
                    pages.setdefault(page["url"], _seen(page))
        found = [
            _story(each, (pages[url] for page in each for url in parts[page["url"]]))
            for each in clusters.values()
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{folder} lacks results ({error!r}): run the audit again.") from error
    found = [story for story in found if len(story["sources"]) >= least]
    return sorted(found, key=lambda story: (-len(story["sources"]), -len(story["copies"]), story["cluster"]))


def _seen(row: Story) -> Story:
    page = {name: row[name] for name in ("url", "title", "verdict", "similarity", "tokens", "cluster")}
    known = row["fetched"] is not None and 0 <= row["fetched"] < LAST_SECOND
    time = (
        datetime.fromtimestamp(row["fetched"], timezone.utc).isoformat(timespec="seconds") if known else None
    )
    return page | {"source": split_url(row["url"]).netloc, "time": time}


def _when(page: Story) -> tuple[object, ...]:
    return page["time"] is None, page["time"], page["url"]


def _story(pages: list[Story], beside: Iterable[Story]) -> Story:
    pages.sort(key=_when)
    for page in pages:
        page["first"] = page is pages[0]
    times = [page["time"] for page in pages if page["time"]] or [None]
    number, least = pages[0]["cluster"], min(page["tokens"] for page in pages)
    fuller = {page["url"]: page for page in beside if page["cluster"] != number and page["tokens"] > least}
    return {
        "cluster": number, "title": pages[0]["title"], "first_seen": times[0], "last_seen": times[-1],
        "sources": list(dict.fromkeys(page["source"] for page in pages)), "copies": pages,
        "fuller": sorted(fuller.values(), key=_when),
    }  # fmt: skip


def picture(pages: Sequence[Story], hosts: Sequence[str]) -> dict[str, Any]:
    """Return the dots of *pages*: how far across (time, if any is known; 0 to 1), in which row, the page."""
    rows, timed = {host: row for row, host in enumerate(hosts[:_SOURCES])}, pages[0]["time"] is not None
    shown = [page for page in pages if page["source"] in rows and (page["time"] or not timed)][:_DOTS]
    at = [datetime.fromisoformat(page["time"]).timestamp() if timed else 0.0 for page in shown]
    dots = [
        ((x - at[0]) / (at[-1] - at[0] or 1), rows[page["source"]], page)
        for x, page in zip(at, shown, strict=True)
    ]
    ends = [page["time"] or "unknown" for page in (shown[0], shown[-1])]
    return {"hosts": [*rows], "more": len(hosts) - len(rows), "dots": dots[::-1], "ends": ends}


def write_stories(path: Path, stories: list[Story]) -> None:
    """Write the page with the pictures of *stories*: of all of them, and of each. Raises OSError."""
    firsts = [story["copies"][0]["source"] for story in stories]
    hosts = sorted(
        {host for each in stories for host in each["sources"]}, key=lambda host: (-firsts.count(host), host)
    )
    every = sorted((page for story in stories for page in story["copies"]), key=_when)
    shown = [(story, picture(story["copies"], story["sources"])) for story in stories[:_STORIES]]
    with replacing(path) as file:
        file.write(
            page_of("stories.html", count=len(stories), shown=shown, every=every and picture(every, hosts))
        )

"""The results of an audit, as files, each once it is complete; equal crawls give equal ones."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.audit.model import HANDLED, PAGES, VERDICTS, Audit, clustered
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.matching.records import filed_url
from scrapy_neardup.matching.sites import split_url

FILES = (
    "pages.jsonl", "clusters.jsonl", "pairs.jsonl", "problems.jsonl", "summary.json", "drop.txt",
    "report.html",
)  # fmt: skip
#: Rows that are in memory as Python's values at a time.
_ROWS = 10_000
#: Clusters that the summary lists.
LARGEST = 20
#: Made once: `json.dumps` would make an encoder for each row.
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_URL = re.compile(r"https?://", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
#: What drop.txt, with one name a line, can list: no line ends or control characters, no URL with spaces.
_PLAIN_URL = re.compile(r"[^\s\x00-\x20\x7f-\x9f]+")
_PLAIN_IDENTIFIER = re.compile(r"(?! )[^\x00-\x1f\x7f-\x9f\u2028\u2029]+(?<! )")


def write(out: Path, audit: Audit) -> None:
    """Write all but the report. Raises OSError."""
    tables = {
        "pages": pages_of(audit.pages, audit.clusters),
        "clusters": clusters_of(audit.pages, audit.clusters),
        "pairs": pairs_of(audit.pages, audit.pairs),
        "problems": (dict(zip(("file", "place", "reason"), each, strict=True)) for each in audit.problems),
    }
    for name, rows in tables.items():
        with replacing(out / f"{name}.jsonl") as file:
            file.writelines(_encoded(row) + "\n" for row in rows)
    with replacing(out / "drop.txt") as file:
        file.writelines(f"{url}\n" for url in dropped(audit))
    with replacing(out / "summary.json") as file:
        json.dump(summarise(audit), file, indent=2, ensure_ascii=False)
        file.write("\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file that takes the place of *path* once it is written, and vanishes if that fails."""
    part = path.with_name(path.name + ".part")
    try:
        # UTF-8 cannot hold surrogates. They are written as escapes, as JSON has them.
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _values(table: NDArray[Any]) -> Iterator[Any]:
    """Yield the rows of *table* as Python has them, made some at a time."""
    for start in range(0, len(table), _ROWS):
        yield from table[start : start + _ROWS].tolist()


def pages_of(
    pages: NDArray[Any], clusters: NDArray[Any], rows: NDArray[np.int64] | slice = slice(None)
) -> Iterator[dict[str, Any]]:
    """Yield *rows* of ``pages.jsonl``: all pages in the order of their URLs."""
    urls, sizes = pages["url"], clusters["size"]
    for row in _values(pages[rows]):
        page = dict(zip(PAGES.names or (), row, strict=True))
        inside, compared = page["cluster"] >= 0, not math.isnan(page["similarity"])
        yield {
            "url": page["url"],
            "verdict": page["verdict"],
            "cluster": page["cluster"] if inside else None,
            "canonical": urls[page["canonical"]] if inside else None,
            "distance": page["distance"] if compared else None,
            "similarity": round(page["similarity"], 4) if compared else None,
            "tokens": page["tokens"],
            "fetched": None if math.isnan(page["fetched"]) else page["fetched"],
            "title": page["title"],
            "noindex": page["noindex"],
            "declared": page["declared"] or None,
            "hreflang": page["alternates"] or None,
            "handled": page["handled"] or None,
            "copies": int(sizes[page["cluster"]]) - 1 if inside else 0,
        }


def clusters_of(pages: NDArray[Any], clusters: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``clusters.jsonl``: the largest first; of the members the canonical page first."""
    urls, ends = pages["url"][clustered(pages)], np.cumsum(clusters["size"]).tolist()
    for number, (_, size, *counts) in enumerate(_values(clusters)):
        members = urls[ends[number] - size : ends[number]].tolist()
        yield {
            "cluster": number,
            "canonical": members[0],
            "size": size,
            **dict(zip(("exact", "near", "part", "revisit"), counts, strict=True)),
            "hosts": len({split_url(url).netloc for url in members}),
            "members": members,
        }


def pairs_of(pages: NDArray[Any], pairs: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``pairs.jsonl``."""
    urls = pages["url"]
    for first, second, kind, distance, similarity, containment in _values(pairs):
        yield {
            "url1": urls[first],
            "url2": urls[second],
            "kind": kind,
            "distance": distance,
            "similarity": round(similarity, 4),
            "containment": round(containment, 4),
        }


def dropped(audit: Audit) -> list[str]:
    """Return the names to drop, sorted: all pages of each repeat one that is kept, by docs/audit.md."""
    pages = audit.pages
    urls, kept = pages["url"], pages["canonical"]
    found = repeating(pages, audit.settings)
    for row in np.flatnonzero(found & (pages["verdict"] != "exact")).tolist():
        if only_numbers_differ(urls[row], urls[kept[row]]):
            one, other = (numbers_in(audit.text(each) or "") for each in (row, kept[row]))
            found[row] = one == other
    # A name stays if any page of it does. A revisit is the text of its canonical page once more.
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for url, repeat in zip(urls.tolist(), found.tolist(), strict=True):
        names[repeat].add(name_of(url))
    return sorted(name for name in names[True] - names[False] if is_plain(name))


def repeating(pages: NDArray[Any], settings: AuditOptions) -> NDArray[np.bool_]:
    """Tell which *pages* can be dropped, unless they are of a series; bool[n]."""
    alike = pages["similarity"] >= np.float32(settings.drop_similarity)
    found = (pages["verdict"] == "exact") | (np.isin(pages["verdict"], ("near", "part")) & alike)
    flags: NDArray[np.bool_] = found & ~pages["renamed"] & ~pages["noindex"][pages["canonical"]]
    return flags


def only_numbers_differ(one: str, other: str) -> bool:
    """Tell whether two URLs differ, and in nothing but numbers."""
    return one != other and _NUMBER.split(one) == _NUMBER.split(other)


def numbers_in(text: str) -> Counter[str]:
    """Return how often each number stands in *text*."""
    return Counter(_NUMBER.findall(text))


def is_url(name: str) -> bool:
    """Tell whether *name* is the URL of a page on the web."""
    return bool(_URL.match(name))


def name_of(url: str) -> str:
    """Return what drop.txt calls a page by."""
    return filed_url(url) if is_url(url) else url


def is_plain(name: str) -> bool:
    """Tell whether drop.txt may have *name*, one a line."""
    return bool((_PLAIN_URL if _URL.match(name) else _PLAIN_IDENTIFIER).fullmatch(name))


def summarise(audit: Audit) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    from scrapy_neardup import __version__

    pages, urls = audit.pages, audit.pages["url"]
    repeats = pages["handled"][np.isin(pages["verdict"], ("exact", "near"))]
    return {
        "version": __version__,
        "settings": settings_of(audit.settings),
        "sources": [{"name": each.name, "kind": each.kind, "pages": count} for each, count in audit.inputs],
        "pages": len(pages),
        "verdicts": {name: int((pages["verdict"] == name).sum()) for name in VERDICTS},
        # How many repeats search engines know of, by what tells them, and how many are to fix.
        "handled": {name or "to_fix": int((repeats == name).sum()) for name in (*HANDLED, "")},
        "boilerplate": list(audit.boilerplate),
        "clusters": len(audit.clusters),
        "pairs": dict(sorted(Counter(audit.pairs["kind"].tolist()).items())),
        "skipped": audit.skipped,
        "problems": len(audit.problems),
        "hosts": audit.hosts,
        "largest_clusters": [
            {"cluster": number, "size": size, "canonical": str(urls[row])}
            for number, (row, size) in enumerate(audit.clusters[["canonical", "size"]][:LARGEST].tolist())
        ],
    }


def settings_of(settings: AuditOptions) -> dict[str, Any]:
    """Return what an audit was asked for; how many workers there were plays no part."""
    return {**asdict(replace(settings, workers=0)), "scheme": settings.loaded_scheme.name}

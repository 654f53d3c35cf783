"""The results of an audit, as files, each once it is complete; equal crawls give equal ones."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.audit.model import HANDLED, VERDICTS, Audit, clustered
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.lmdb.directory import renamed
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
_encode = json.JSONEncoder(ensure_ascii=False).encode
#: The columns of a table by name, as Python has them.
Columns: TypeAlias = Mapping[str, Sequence[Any]]
_URL = re.compile(r"https?://", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
#: What drop.txt, with one name a line, can list: no line ends or control characters, no URL with spaces.
_PLAIN_URL = re.compile(r"[^\s\x00-\x20\x7f-\x9f]+")
_PLAIN_IDENTIFIER = re.compile(r"(?! )[^\x00-\x1f\x7f-\x9f\u2028\u2029]+(?<! )")


def write(out: Path, audit: Audit) -> None:
    """Write all but the report. Raises OSError."""
    pages, clusters, pairs = audit.pages, audit.clusters, audit.pairs
    parts = [slice(start, start + _ROWS) for start in range(0, max(len(pages), len(pairs)), _ROWS)]
    tables: dict[str, Iterable[Columns]] = {
        "pages": (page_columns(pages, clusters, part) for part in parts),
        "clusters": [cluster_columns(pages, clusters)],
        "pairs": (pair_columns(pages, pairs[part]) for part in parts),
        "problems": [dict(zip(("file", "place", "reason"), zip(*audit.problems, strict=True), strict=False))],
    }
    for name, some in tables.items():
        with replacing(out / f"{name}.jsonl") as file:
            file.writelines(map(_lines, some))
    with replacing(out / "drop.txt") as file:
        file.writelines(f"{url}\n" for url in dropped(audit))
    with replacing(out / "summary.json") as file:
        json.dump(summarise(audit), file, indent=2, ensure_ascii=False)
        file.write("\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file that takes the place of *path* once it is written, and vanishes if that fails."""
    with (
        renamed(path.with_name(path.name + ".part"), path) as part,
        # UTF-8 cannot hold surrogates. They are written as escapes, as JSON has them.
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def _lines(columns: Columns) -> str:
    """Return the rows of a table as JSON has them, a line each."""
    return "".join(f"{_encode(row)}\n" for row in rows_of(columns))


def read_rows(folder: Path, table: str, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table, such as ``pages``, with these *columns*. Raises `ConfigurationError`."""
    try:
        if (path := folder / f"{table}.parquet").exists():  # of an audit on Spark
            from pyarrow.dataset import dataset

            rows: list[dict[str, Any]] = dataset(path).to_table().to_pylist()
        else:
            with (folder / f"{table}.jsonl").open(encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
        deque(map(itemgetter(*columns), rows), 0)  # which raises if one is not there
        return rows
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            f"There is no audit in {folder} ({error}): name the folder of one, or run the audit again."
        ) from error


def rows_of(columns: Columns) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def page_columns(
    pages: NDArray[Any], clusters: NDArray[Any], rows: NDArray[np.int64] | slice = slice(None)
) -> Columns:
    """Return *rows* of ``pages.jsonl``: all pages in the order of their URLs."""
    some, sizes = pages[rows], np.append(clusters["size"], 1)
    inside, compared = some["cluster"] >= 0, ~np.isnan(some["similarity"])
    # Rounded as `round` does: 10,000 times a number of 32 bits is exact in 64.
    similarity = some["similarity"].astype(np.float64).round(4)
    return {
        "url": some["url"].tolist(), "verdict": some["verdict"].tolist(),
        "cluster": _known(some["cluster"], inside),
        "canonical": _known(pages["url"][some["canonical"]], inside),
        "distance": _known(some["distance"], compared), "similarity": _known(similarity, compared),
        "tokens": some["tokens"].tolist(), "fetched": _known(some["fetched"], ~np.isnan(some["fetched"])),
        "title": some["title"].tolist(), "noindex": some["noindex"].tolist(),
        "declared": _known(some["declared"]), "hreflang": _known(some["alternates"]),
        "handled": _known(some["handled"]), "copies": (sizes[some["cluster"]] - 1).tolist(),
    }  # fmt: skip


def _known(values: NDArray[Any], known: NDArray[np.bool_] | None = None) -> list[Any]:
    """Return *values* as Python has them, None where they are not *known*, or else where they are empty."""
    found = values.astype(object)
    found[~(found.astype(bool) if known is None else known)] = None
    return list(found)


def cluster_columns(pages: NDArray[Any], clusters: NDArray[Any]) -> Columns:
    """Return ``clusters.jsonl``: the largest first; of the members the canonical page first."""
    urls, ends = pages["url"][clustered(pages)].tolist(), np.cumsum(clusters["size"])
    sides = [*zip((ends - clusters["size"]).tolist(), ends.tolist(), strict=True)]
    hosts = [split_url(url).netloc for url in urls]
    return {
        "cluster": range(len(sides)),
        "canonical": [urls[start] for start, _ in sides],
        **{name: clusters[name].tolist() for name in ("size", "exact", "near", "part", "revisit")},
        "hosts": [len({*hosts[start:end]}) for start, end in sides],
        "members": [urls[start:end] for start, end in sides],
    }


def pair_columns(pages: NDArray[Any], pairs: NDArray[Any]) -> Columns:
    """Return ``pairs.jsonl``."""
    rounded = {name: pairs[name].astype(np.float64).round(4) for name in ("similarity", "containment")}
    sides = {"url1": pages["url"][pairs["first"]], "url2": pages["url"][pairs["second"]]}
    columns = {**sides, "kind": pairs["kind"], "distance": pairs["distance"], **rounded}
    return {name: column.tolist() for name, column in columns.items()}


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

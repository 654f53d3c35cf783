"""Writes the results of an audit to the files in its directory.

Each file appears, or takes the place of an older one, once it is complete. Equal crawls give equal files,
except signatures.sqlite.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from scrapy_neardup.arguments import require_list
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.records import filed_url

from .rows import clusters_of, pages_of, pairs_of, problems_of, write_csv, write_parquet
from .summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_neardup.audit.model import Audit

Format = Literal["csv", "parquet"]
TABLES = ("pages", "clusters", "pairs")
FILES = (
    *(f"{name}.jsonl" for name in (*TABLES, "problems")), "summary.json", "drop.txt", "report.html",
    *(f"{name}.{ending}" for name in TABLES for ending in ("csv", "parquet")),
)  # fmt: skip
_URL = re.compile(r"https?://", re.IGNORECASE)
#: Made once: `json.dumps` would make an encoder for each row.
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_NUMBER = re.compile(r"\d+")
#: drop.txt has one name a line. So a name in it has nothing that ends a line or steers a terminal, and a URL
#: no white space.
_PLAIN_URL = re.compile(r"[^\s\x00-\x20\x7f-\x9f]+")
_PLAIN_IDENTIFIER = re.compile(r"(?! )[^\x00-\x1f\x7f-\x9f\u2028\u2029]+(?<! )")


def require(formats: Sequence[str]) -> None:
    """Raise `ConfigurationError` for a format that cannot be written."""
    require_list("formats", formats)
    for name in formats:
        if name not in ("csv", "parquet"):
            raise ConfigurationError(f"There is no format {name!r}: use csv or parquet.")
        if name == "parquet" and find_spec("pyarrow") is None:
            raise ConfigurationError("Parquet needs pyarrow: run `pip install 'scrapy-neardup[parquet]'`.")


def formats_in(out: Path) -> list[Format]:
    """Return the formats that the tables in *out* are written in."""
    known: tuple[Format, ...] = ("csv", "parquet")
    return [name for name in known if (out / f"pages.{name}").exists()]


def write(out: Path, audit: Audit, formats: Sequence[Format]) -> None:
    """Write all files of the results; those of formats that are not asked for are removed. Raises OSError."""
    from .report import ReportData, write_report

    rows = {"pages": pages_of, "clusters": clusters_of, "pairs": pairs_of, "problems": problems_of}
    for name, function in rows.items():
        with _replacing(out / f"{name}.jsonl") as file:
            for row in function(audit):
                file.write(_encoded(row) + "\n")
    for name in TABLES:
        for ending in ("csv", "parquet"):
            if ending not in formats:
                (out / f"{name}.{ending}").unlink(missing_ok=True)
        if "csv" in formats:
            with _replacing(out / f"{name}.csv") as file:
                write_csv(file, name, rows[name](audit))
        if "parquet" in formats:
            part = out / f"{name}.parquet.part"
            write_parquet(part, name, rows[name](audit))
            part.replace(out / f"{name}.parquet")
    with _replacing(out / "drop.txt") as file:
        file.writelines(f"{url}\n" for url in dropped(audit))
    with _replacing(out / "summary.json") as file:
        json.dump(summarise(audit), file, indent=2, ensure_ascii=False)
        file.write("\n")
    write_report(out / "report.html", ReportData.of(audit))


def dropped(audit: Audit) -> list[str]:
    """Return the names that can be dropped, sorted: every page of that name repeats a page that is kept.

    These pages are not dropped, although they repeat their canonical page: one that is less like it than the
    *drop_similarity* of the settings; one of the same site with another title; one whose canonical page asks
    search engines not to index it; and one of a series, such as release notes, which only numbers in its URL
    and in its text tell from the canonical page.
    """
    pages = audit.pages
    names = [filed_url(url) if is_url(url) else url for url in pages["url"].tolist()]
    alike = pages["similarity"] >= np.float32(audit.settings.drop_similarity)
    found = (pages["verdict"] == "exact") | (np.isin(pages["verdict"], ("near", "part")) & alike)
    found &= ~pages["renamed"] & ~pages["noindex"][pages["canonical"]]
    for row in np.flatnonzero(found & (pages["verdict"] != "exact")).tolist():
        found[row] = not _are_of_series(audit, row, int(pages["canonical"][row]))
    repeats = found.tolist()
    # A revisit is the text of its canonical page once more.
    stay = {name for name, repeat in zip(names, repeats, strict=True) if not repeat}
    wanted = {name for name, repeat in zip(names, repeats, strict=True) if repeat} - stay
    return sorted(name for name in wanted if is_plain(name))


def _are_of_series(audit: Audit, page: int, kept: int) -> bool:
    """Tell whether nothing but numbers tells the URLs of two pages apart, and numbers do tell their texts."""
    one, other = audit.pages["url"][page], audit.pages["url"][kept]
    if not only_numbers_differ(one, other):
        return False
    return numbers_in(audit.text(page) or "") != numbers_in(audit.text(kept) or "")


def only_numbers_differ(one: str, other: str) -> bool:
    """Tell whether two URLs differ, and in nothing but numbers."""
    return one != other and _NUMBER.split(one) == _NUMBER.split(other)


def numbers_in(text: str) -> Counter[str]:
    """Return how often each number stands in *text*."""
    return Counter(_NUMBER.findall(text))


def is_url(name: str) -> bool:
    """Tell whether *name* is the URL of a page on the web."""
    return bool(_URL.match(name))


def is_plain(name: str) -> bool:
    """Tell whether drop.txt may have *name*, one a line."""
    return bool((_PLAIN_URL if _URL.match(name) else _PLAIN_IDENTIFIER).fullmatch(name))


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    part = path.with_name(path.name + ".part")
    try:
        # UTF-8 cannot hold surrogates. They are written as escapes, as JSON has them.
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

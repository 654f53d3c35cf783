"""The labelled sets of docs/quality.md, and how they are read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.audit.evaluate import LabelledPairs
from scrapy_neardup.audit.texts import Text, read_texts
from scrapy_neardup.cli.settings import read_options

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, str]
#: The extractor of the columns that name none.
DEFAULT = read_options(()).extractor


class Set(NamedTuple):
    """Documents, pairs, and how a row of its table is labelled: label and kind."""

    name: str
    documents: str
    pairs: str
    label: Callable[[Row], tuple[str, str]]
    html: bool = False


def by_overlap(row: Row) -> tuple[str, str]:
    low = min(int(float(row["j5"]) * 10), 9) / 10
    return ("3" if low == 0.9 else "", f"exact j5 {low:.1f} to {low + 0.1:.1f}")


SETS = (
    Set("derived_syndication", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("derived_syndication_multi", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("consent_comments", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("short_texts", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("hard_wrapped", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("senate_press", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("ota_recrawl_html", "pages", "pairs", lambda row: (row["label"], "recrawl"), html=True),
    Set("docs_versions_html", "pages", "pairs", by_overlap, html=True),
    Set("wiki_versions", "docs", "pairs", lambda row: ("", by_overlap(row)[1])),
    Set("minhash_tutorial", "docs_2500", "pairs_2500", lambda row: ("3", "planted edit")),
)


class Loaded(NamedTuple):
    pairs: LabelledPairs
    #: Of each pair; empty where there is one language only.
    languages: list[str]
    texts: dict[str, list[Text]]


def load(each: Set, folder: Path) -> Loaded:
    """Read a set; the texts by extractor."""
    with (folder / f"{each.pairs}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    labels = [each.label(row) for row in rows]
    pairs = LabelledPairs(
        [row["id1"] for row in rows],
        [row["id2"] for row in rows],
        [label for label, _ in labels],
        [kind for _, kind in labels],
    )
    wanted = None if each.name == "minhash_tutorial" else {*pairs.id1, *pairs.id2}
    texts = {}
    for extractor in (DEFAULT, "trafilatura", "resiliparse") if each.html else (DEFAULT,):
        options = read_options([f"EXTRACTOR={extractor}"])
        found = read_texts(
            folder / f"{each.documents}.jsonl.gz",
            wanted,
            extractor=extractor,
            timeout=60,
            memory=options.extract_memory,
            cache=Path.home() / ".cache" / "scrapy-neardup" / "texts.sqlite",
        )
        texts[extractor] = [found[key] for key in sorted(found)]
    languages = [row.get("lang", "") for row in rows]
    return Loaded(pairs, languages if len(set(languages)) > 1 else [""] * len(rows), texts)

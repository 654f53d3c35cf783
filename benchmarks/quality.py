"""How many copies each scheme finds, and how many other pages it takes for copies, on labelled pairs.

    python benchmarks/quality.py --data DIR [--seeds 3] [--write docs/quality.md]

DIR has a folder for each set: derived_syndication, derived_syndication_multi, consent_comments, short_texts,
hard_wrapped, senate_press, ota_recrawl_html, docs_versions_html, wiki_versions, minhash_tutorial, each with
documents and pairs (see docs/quality.md for what they are). With --write the tables also replace those in
that file. Every pair is judged as a crawl would judge it with only one of its documents stored: the longer
one, for the default also the shorter one.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import itertools
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np
from suite import spreading

from scrapy_neardup.audit.evaluate.corpus import Text, read_texts
from scrapy_neardup.audit.evaluate.curves import find_all, judge_with
from scrapy_neardup.audit.evaluate.labelled import LabelledPairs, judge_orders, rows_of
from scrapy_neardup.audit.pairs.components import components
from scrapy_neardup.cli.settings import read_options
from scrapy_neardup.extraction import EXTRACTORS, load_extractor
from scrapy_neardup.extraction.hidden import without_hidden
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import main_text
from scrapy_neardup.fingerprint.schemes import ANCHORS
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_neardup.audit.evaluate.labelled import Judge
    from scrapy_neardup.fingerprint import MainText

BEGIN, END = "<!-- begin: make quality -->\n", "<!-- end: make quality -->\n"
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


class Column(NamedTuple):
    """A way to judge."""

    title: str
    settings: tuple[str, ...] = ()
    #: Seeds of the hashes: as many as asked for, or one.
    several: bool = False
    sites: bool = True
    #: Whether the pairs are shown with the shorter document stored, too.
    both_orders: bool = False
    #: Fields of the records that are taken for unknown, and constants of the rules that have another value.
    unknown: tuple[str, ...] = ()
    rules: tuple[tuple[str, Any], ...] = ()
    #: As if a text had half as many anchors.
    half_the_anchors: bool = False


SIMHASH = ("SCHEME=simhash",)
TEXT_BOOK = ('FEATURES={"shingle": 3, "weight": "set", "min_paragraph": 0}', "VERIFY=False")
COLUMNS = (
    Column("default", several=True, both_orders=True),
    Column("sites unknown", sites=False, several=True),
    Column("titles unknown", unknown=("title",)),
    Column("short lines unknown", unknown=("figures", "words")),
    Column("no rule for notes", rules=(("BRIEF", (2.0, 2.0)),)),
    Column("4 anchors", half_the_anchors=True),
    Column("trafilatura", ("EXTRACTOR=trafilatura",)),
    Column("resiliparse", ("EXTRACTOR=resiliparse",)),
    Column("SimHash ≤ 3", SIMHASH),
    Column("SimHash ≤ 7", (*SIMHASH, "DISTANCE=7")),
    Column("SimHash ≤ 3, not verified", (*SIMHASH, "VERIFY=False")),
    Column("SimHash ≤ 7, not verified", (*SIMHASH, "DISTANCE=7", "VERIFY=False")),
    Column("text-book SimHash ≤ 3", (*SIMHASH, *TEXT_BOOK)),
    Column("MinHash", ("SCHEME=minhash",)),
    Column("bottom-k", ("SCHEME=bottomk",)),
    Column("super-shingles", ("SCHEME=supershingles",)),
    Column("MinHash ≥ .8, not verified", ("SCHEME=minhash", "THRESHOLD=0.8", "VERIFY=False")),
)
#: Columns of the default settings, and of them without one of their parts; the others are another table.
OWN = ("default", "shorter first", *(column.title for column in COLUMNS[1:6]))
LABELS = {"3": "3 same", "2": "2 near", "1": "1 part", "0": "0 other", "": "–"}


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


def changed(judge: Judge, column: Column) -> Judge:
    """Return *judge* with the documents as *column* sees them."""
    keys, records = judge.documents.keys.copy(), judge.documents.records.copy()
    for field in column.unknown:
        records[field] = 0
    if column.half_the_anchors:
        first, second = keys[-ANCHORS : -ANCHORS // 2], keys[-ANCHORS // 2 :]
        first[:] = np.minimum(first, second)
        second[:] = NO_KEY
    return replace(judge, documents=judge.documents._replace(keys=keys, records=records))


def shares(loaded: Loaded, column: Column, seeds: int) -> dict[str, list[np.ndarray]]:
    """What is judged duplicate, bool[pairs], for each seed; by the titles of columns."""
    options = read_options(column.settings)
    texts = loaded.texts.get(options.extractor, [])
    if not texts:
        return {}
    if not column.sites:
        texts = [text._replace(url="") for text in texts]
    a, b = rows_of(loaded.pairs, texts)
    longer_first, shorter_first = [], []
    for seed in range(seeds if column.several else 1):
        judge = changed(judge_with(texts, options, seed), column)
        with contextlib.ExitStack() as other:
            for name, value in column.rules:
                other.enter_context(mock.patch.object(rules, name, value))
            orders = judge_orders(judge.judge, judge.documents, a, b)
        longer_first.append(orders.longer_first)
        shorter_first.append(orders.shorter_first)
    found = {column.title: longer_first}
    return found | {"shorter first": shorter_first} if column.both_orders else found


def cell(found: list[np.ndarray], rows: np.ndarray) -> str:
    values = [float(each[rows].mean()) for each in found]
    if not values:
        return ""
    text = f"{np.mean(values):.3f}"
    return text if len(values) == 1 else f"{text} ({min(values):.3f}–{max(values):.3f})"


def table(each: Set, loaded: Loaded, seeds: int) -> Iterator[str]:
    """Yield the lines of a set's table."""
    pairs = loaded.pairs
    columns: dict[str, list[np.ndarray]] = {}
    for column in COLUMNS:
        columns |= shares(loaded, column, seeds)
    groups: dict[tuple[str, str], list[int]] = {}
    kinds = {
        label: {k for la, k in zip(pairs.label, pairs.kind, strict=True) if la == label} for label in LABELS
    }
    for row, (label, kind) in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        groups.setdefault((label, kind), []).append(row)
        if label in ("3", "2") and len(kinds[label]) > 1:
            groups.setdefault((label, "**all**"), []).append(row)
        if label in ("3", "2", "0") and loaded.languages[row]:
            groups.setdefault((label, f"*{loaded.languages[row]}*"), []).append(row)
    order = sorted(groups, key=lambda key: (list(LABELS).index(key[0]), key[1]))
    yield f"### {each.name}\n"
    own = [title for title in columns if title in OWN]
    for titles in (own, [title for title in columns if title not in own]):
        yield f"| label | kind | pairs | {' | '.join(titles)} |"
        yield "|---|---|---|" + "---|" * len(titles)
        for label, kind in order:
            rows = np.array(groups[label, kind])
            cells = " | ".join(cell(columns[title], rows) for title in titles)
            yield f"| {LABELS[label]} | {kind} | {len(rows)} | {cells} |"
        yield ""


def costs(folder: Path, pages: int = 200) -> Iterator[str]:
    """Yield what the main text of a page and its signature cost, one by one, in one process."""
    with gzip.open(folder / "pages.jsonl.gz", "rt", encoding="utf-8") as file:
        html = [without_hidden(json.loads(line)["html"]) for line in itertools.islice(file, pages)]
    yield f"Milliseconds of CPU for one of {len(html)} pages of {folder.name}:\n"
    yield "| step | ms |"
    yield "|---|---|"
    texts = []
    for name in EXTRACTORS:
        extract = load_extractor(name)
        extract(html[0], None)
        started = time.process_time()
        found = [extract(page, None) for page in html]
        yield f"| main text, {name} | {(time.process_time() - started) / len(html) * 1000:.2f} |"
        if name == DEFAULT:
            texts = [text for text in found if text]
    fingerprinter = Fingerprinter()
    paragraphs = [main_text(text).text for text in texts]
    for what, documents in (("with title and short lines", texts), ("of the paragraphs alone", paragraphs)):
        started = time.process_time()
        for document in documents:
            fingerprinter.signature(document)
        yield f"| signature {what} | {(time.process_time() - started) / len(texts) * 1000:.2f} |"
    yield ""


def every_pair(loaded: Loaded) -> Iterator[str]:
    """Yield what the default settings find among all documents of a set whose truth is complete."""
    texts = loaded.texts[DEFAULT]
    a, b = rows_of(loaded.pairs, texts)
    found = find_all(judge_with(texts, read_options(()), 0))
    planted = {(min(x, y), max(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)}
    pairs = set(zip(found.a.tolist(), found.b.tolist(), strict=True))
    yield (
        f"Of all {len(texts) * (len(texts) - 1) // 2:,} pairs of its {len(texts):,} documents, default "
        "settings: "
        f"{len(planted & pairs)} of {len(planted)} planted ones found, {len(pairs - planted)} others.\n"
    )


def one_of_each(loaded: Loaded) -> dict[str, list[Text]]:
    """Return texts by language, one of all that are labelled as having a part in common."""
    texts = loaded.texts[DEFAULT]
    a, b = rows_of(loaded.pairs, texts)
    language: dict[int, str] = {}
    for pair, name in zip(np.column_stack((a, b)).tolist(), loaded.languages, strict=True):
        language |= dict.fromkeys(pair, name or "en")
    related = np.isin(loaded.pairs.label, ["1", "2", "3"])
    least = components(len(texts), np.column_stack((a, b))[related])
    found: dict[str, list[Text]] = {}
    for row, name in language.items():
        if least[row] == row:
            found.setdefault(name, []).append(texts[row])
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    lines: list[str] = []
    unlike: dict[str, list[str | MainText]] = {}
    for each in SETS:
        folder = options.data / each.name
        if not folder.is_dir():
            sys.exit(f"{folder} is missing: name the folder that has the labelled sets with --data.")
        loaded = load(each, folder)
        if each.name in ("derived_syndication", "derived_syndication_multi"):
            for language, texts in one_of_each(loaded).items():
                unlike.setdefault(language, []).extend(text.text for text in texts)
        new = [*table(each, loaded, options.seeds)]
        if each.name == "minhash_tutorial":
            new += every_pair(loaded)
        print("\n".join(new), flush=True)
        lines += new
    new = [*spreading.table(unlike), *costs(options.data / "derived_syndication")]
    print("\n".join(new))
    lines += new
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        options.write.write_text(
            f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()

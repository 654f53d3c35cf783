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
import gzip
import itertools
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from choices.sets import DEFAULT, SETS, Loaded, Set, load
from choices.ways import COLUMNS, OWN, shares
from suite import spreading

from scrapy_neardup.audit.evaluate.curves import judge_with
from scrapy_neardup.audit.evaluate.labelled import find_all, rows_of
from scrapy_neardup.audit.pairs.components import components
from scrapy_neardup.cli.settings import read_options
from scrapy_neardup.extraction import EXTRACTORS, load_extractor
from scrapy_neardup.extraction.hidden import without_hidden
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import main_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.audit.evaluate.corpus import Text
    from scrapy_neardup.fingerprint import MainText

BEGIN, END = "<!-- begin: make quality -->\n", "<!-- end: make quality -->\n"
Row = dict[str, str]
BEGIN, END = "<!-- begin: make quality -->\n", "<!-- end: make quality -->\n"
LABELS = {"3": "3 same", "2": "2 near", "1": "1 part", "0": "0 other", "": "–"}


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


def cell(found: list[np.ndarray], rows: np.ndarray) -> str:
    values = [float(each[rows].mean()) for each in found]
    if not values:
        return ""
    text = f"{np.mean(values):.3f}"
    return text if len(values) == 1 else f"{text} ({min(values):.3f}–{max(values):.3f})"


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
        f"settings: {len(planted & pairs)} of {len(planted)} planted ones found, {len(pairs - planted)} "
        "others.\n"
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

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
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from suite.labelled_sets import DEFAULT, SETS, Loaded, Set, load
from suite.ways import COLUMNS, OWN, shares

from scrapy_neardup.audit.evaluate import rows_of
from scrapy_neardup.audit.explaining import judge_documents
from scrapy_neardup.audit.pairs import Groups, compare_all
from scrapy_neardup.audit.settings import AuditOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- begin: make quality -->\n", "<!-- end: make quality -->\n"
#: Which pairs of a label and a kind are judged duplicate, bool[seeds] each.
Kinds = dict[tuple[str, str], list[np.ndarray]]
LABELS = {"3": "3 same", "2": "2 near", "1": "1 part", "0": "0 other", "": "–"}


def table(each: Set, loaded: Loaded, seeds: int, kinds_of_all: Kinds) -> Iterator[str]:
    """Yield the lines of a set's table; add what the default finds to *kinds_of_all*."""
    pairs = loaded.pairs
    columns: dict[str, list[np.ndarray]] = {}
    for column in COLUMNS:
        columns |= shares(loaded, column, seeds)
    for row, key in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        kinds_of_all.setdefault(key, []).append(np.array([each[row] for each in columns["default"]]))
    groups: dict[tuple[str, str], list[int]] = {}
    kinds = {
        label: {k for la, k in zip(pairs.label, pairs.kind, strict=True) if la == label} for label in LABELS
    }
    for row, (label, kind) in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        groups.setdefault((label, kind), []).append(row)
        if label in ("3", "2", "0") and len(kinds[label]) > 1:
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
            # Of other schemes and extractors, a label is one row.
            if titles is not own and kind != "**all**" and len(kinds[label]) > 1:
                continue
            rows = np.array(groups[label, kind])
            cells = " | ".join(cell(columns[title], rows) for title in titles)
            yield f"| {LABELS[label]} | {kind} | {len(rows)} | {cells} |"
        yield ""


def all_kinds(found: Kinds, seeds: int) -> Iterator[str]:
    """Yield a table of the default settings, by kinds of pairs in all sets, and how much seeds differ."""
    yield "### All sets by kind, default settings\n"
    yield f"| label | kind | pairs | mean of {seeds} seeds | least | greatest | differ between seeds |"
    yield "|---" * 7 + "|"
    for label, kind in sorted(found, key=lambda key: (list(LABELS).index(key[0]), key[1])):
        judged = np.array(found[label, kind])  # bool[pairs, seeds]
        shares = judged.mean(axis=0)
        unsteady = (judged.any(axis=1) & ~judged.all(axis=1)).sum()
        cells = f"{shares.mean():.3f} | {shares.min():.3f} | {shares.max():.3f} | {unsteady}"
        yield f"| {LABELS[label]} | {kind} | {len(judged)} | {cells} |"
    yield ""


def cell(found: list[np.ndarray], rows: np.ndarray) -> str:
    values = [float(each[rows].mean()) for each in found]
    if not values:
        return ""
    text = f"{np.mean(values):.3f}"
    return text if len(values) == 1 else f"{text} ({min(values):.3f}–{max(values):.3f})"


def every_pair(loaded: Loaded) -> Iterator[str]:
    """Yield what the default settings find among all documents of a set whose truth is complete."""
    texts = loaded.texts[DEFAULT]
    a, b = rows_of(loaded.pairs, [*texts])
    judge = judge_documents([*texts.values()], AuditOptions(seed=0))
    found = compare_all(judge, Groups.of(judge.documents))
    planted = {(min(x, y), max(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)}
    near = found.judgement.near
    pairs = set(zip(found.a[near].tolist(), found.b[near].tolist(), strict=True))
    yield (
        f"Of all {len(texts) * (len(texts) - 1) // 2:,} pairs of its {len(texts):,} documents, default "
        f"settings: {len(planted & pairs)} of {len(planted)} planted ones found, {len(pairs - planted)} "
        "others.\n"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--seeds", type=int, default=3, help="seeds of the hashes: each row shows their spread"
    )
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    lines: list[str] = []
    kinds: Kinds = {}
    for each in SETS:
        folder = options.data / each.name
        if not folder.is_dir():
            sys.exit(f"{folder} is missing: name the folder that has the labelled sets with --data.")
        loaded = load(each, folder)
        new = [*table(each, loaded, options.seeds, kinds)]
        if each.name == "minhash_tutorial":
            new += every_pair(loaded)
        print("\n".join(new), flush=True)
        lines += new
    new = [*all_kinds(kinds, options.seeds)]
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

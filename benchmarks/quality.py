"""How many copies each scheme finds, and how many other pages it takes for copies, on labelled pairs.

    python benchmarks/quality.py --data DIR [--seeds 3] [--write docs/quality.md]

DIR has a folder for each set: derived_syndication, derived_syndication_multi, consent_comments, short_texts,
hard_wrapped, senate_press, ota_recrawl_html, docs_versions_html, wiki_versions, minhash_tutorial, each with
documents and pairs (see docs/quality.md for what they are). With --write the tables also replace those in
that file, but for the one by kinds and languages. Every pair is judged as a crawl would judge it with only
one of its documents stored: the longer one, for the default also the shorter one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from suite.labelled_sets import DEFAULT, SETS, Loaded, load
from suite.tables import write
from suite.ways import COLUMNS, OWN, shares

from scrapy_neardup.audit.all_pairs import compare_all
from scrapy_neardup.audit.evaluate import judge_documents, rows_of
from scrapy_neardup.audit.options import AuditOptions

LABELS = {"3": "3 same", "2": "2 near", "1": "1 part", "0": "0 other", "": "–"}
#: Which pairs are judged duplicate by each column, bool[pairs] for each seed.
Judged = dict[str, list[np.ndarray]]


class Group(NamedTuple):
    """Pairs that make a row of a table."""

    set: str
    label: str
    kind: str
    #: Rows of pairs: int64[n].
    rows: np.ndarray
    judged: Judged

    @property
    def head(self) -> str:
        """What a row begins with."""
        kind = f" {self.kind}" if self.label == "" else ""
        return f"| {self.set} | {LABELS[self.label]}{kind} | {len(self.rows)} |"


def by_label(name: str, loaded: Loaded, judged: Judged) -> Iterator[Group]:
    """Yield the groups of a set by label; by kind where it has no labels."""
    labels, kinds = np.array(loaded.pairs.label), np.array(loaded.pairs.kind)
    for label in ("3", "2", "0"):
        if (labels == label).any():
            yield Group(name, label, "", np.flatnonzero(labels == label), judged)
    for kind in () if labels.any() else sorted({*kinds}):
        yield Group(name, "", kind, np.flatnonzero(kinds == kind), judged)


def by_set(groups: Sequence[Group], own: bool) -> Iterator[str]:
    """Yield a table of the columns of the default settings, if they are its *own*, or of the others."""
    titles = [
        title for title in dict.fromkeys(t for each in groups for t in each.judged) if (title in OWN) == own
    ]
    yield f"### {'The default settings, and without one of their parts' if own else 'Other settings'}\n"
    yield f"| set | label | pairs | {' | '.join(titles)} |"
    yield "|---" * (3 + len(titles)) + "|"
    for each in groups:
        cells = (cell(each.judged.get(title, []), each.rows) for title in titles)
        yield f"{each.head} {' | '.join(cells)} |"
    yield ""


def cell(judged: Sequence[np.ndarray], rows: np.ndarray) -> str:
    """Return the share that is judged duplicate, with the least and greatest of seeds if these differ."""
    values = [float(each[rows].mean()) for each in judged]
    shown = [f"{each:.3f}" for each in ([np.mean(values), min(values), max(values)] if values else ())]
    return shown[0] + (f" ({shown[1]}–{shown[2]})" if shown[1] != shown[2] else "") if shown else ""


def by_kind(sets: Sequence[tuple[Loaded, Judged]]) -> Iterator[str]:
    """Yield a table of the default settings by kinds and languages of pairs in all sets."""
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for loaded, judged in sets:
        pairs = zip(loaded.pairs.label, loaded.pairs.kind, loaded.languages, strict=True)
        for row, (label, kind, language) in enumerate(pairs):
            for name in (kind, f"*{language}*") if language else (kind,):
                found.setdefault((label, name), []).append(
                    np.array([each[row] for each in judged["default"]])
                )
    yield "### The default settings, by kinds and languages of pairs in all sets\n"
    yield "| label | kind | pairs | default |"
    yield "|---" * 4 + "|"
    for label, kind in sorted(found, key=lambda key: ([*LABELS].index(key[0]), key[1])):
        if label:
            each = np.array(found[label, kind]).T  # bool[seeds, pairs]
            share = cell(each, np.arange(each.shape[1]))
            yield f"| {LABELS[label]} | {kind} | {each.shape[1]} | {share} |"
    yield ""


def every_pair(loaded: Loaded) -> Iterator[str]:
    """Yield what the default settings find among all documents of a set whose truth is complete."""
    texts = loaded.texts[DEFAULT]
    a, b = rows_of(loaded.pairs, [*texts])
    judge = judge_documents([*texts.values()], AuditOptions(seed=0))
    found = compare_all(judge)
    planted = {(min(x, y), max(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)}
    near = found.judgement.near
    pairs = set(zip(found.a[near].tolist(), found.b[near].tolist(), strict=True))
    count = len(texts) * (len(texts) - 1) // 2
    yield (
        f"Of all {count:,} pairs in minhash_tutorial the default settings take {len(pairs):,} for "
        f"copies: {len(planted & pairs)} of the {len(planted)} planted ones, {len(pairs - planted)} others.\n"
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
    groups: list[Group] = []
    sets: list[tuple[Loaded, Judged]] = []
    lines: list[str] = []
    for each in SETS:
        folder = options.data / each.name
        if not folder.is_dir():
            sys.exit(f"{folder} is missing: name the folder that has the labelled sets with --data.")
        loaded, judged = load(each, folder), Judged()
        for column in COLUMNS:
            judged |= shares(loaded, column, options.seeds)
        print(each.name, flush=True)
        groups += by_label(each.name, loaded, judged)
        sets.append((loaded, judged))
        if each.name == "minhash_tutorial":
            lines += every_pair(loaded)
    lines = [*by_set(groups, own=True), *by_set(groups, own=False), *lines]
    print("\n".join([*lines, *by_kind(sets)]))
    if options.write:
        write(options.write, "quality", lines)


if __name__ == "__main__":
    main()

"""Labelled pairs of several sets in named groups, and pairs of press releases that have nothing in common."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.audit.evaluate.corpus import Text
from scrapy_neardup.fingerprint.sketch import similarity

from .sets import DEFAULT, SETS, load
from .templates import generated

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.audit.pairs.compare import PairJudge

#: The sets of benchmarks/quality.py that the defaults were chosen on.
READ = ("derived_syndication", "senate_press", "ota_recrawl_html", "docs_versions_html", "minhash_tutorial")
#: Jaccard similarity below which two press releases of different senators have nothing to do with each other.
UNRELATED = 0.2


class Data(NamedTuple):
    """Documents of all sets, and their pairs as rows, in named groups."""

    texts: list[Text]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    groups: dict[str, list[int]]
    #: Rows of the press releases, and who wrote each.
    press: NDArray[np.int64]
    authors: NDArray[np.str_]


def read(data: Path) -> Data:
    texts: list[Text] = []
    rows: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    groups: dict[str, list[int]] = defaultdict(list)

    def add(text: Text) -> int:
        if text.id not in rows:
            rows[text.id] = len(texts)
            texts.append(text)
        return rows[text.id]

    for each in SETS:
        if each.name not in READ or not (data / each.name).exists():
            continue
        loaded = load(each, data / each.name)
        by_id = {text.id: text for text in loaded.texts[DEFAULT]}
        short = each.name.split("_")[0]
        for id1, id2, label, kind in zip(*loaded.pairs, strict=True):
            if label not in ("3", "2", "0"):
                continue
            group = f"{short} {label}"
            if short == "senate" and label == "0":
                group += " new values" if "values" in kind else " other date"
            one, two = (by_id[name]._replace(id=f"{each.name}/{name}") for name in (id1, id2))
            groups[group].append(len(pairs))
            pairs.append((add(one), add(two)))
    for number, (one, two) in enumerate(generated(100)):
        groups["generated 0"].append(len(pairs))
        pairs.append(
            (add(Text(f"generated/{number}/1", one, "")), add(Text(f"generated/{number}/2", two, "")))
        )
    press = [row for row, text in enumerate(texts) if text.id.startswith("senate_press/")]
    authors = [texts[row].id.split("/")[1] for row in press]
    a, b = np.array(pairs, np.int64).T
    return Data(texts, a, b, dict(groups), np.array(press), np.array(authors))


def unrelated(data: Data, judge: PairJudge) -> NDArray[np.int64]:
    """Return pairs of releases of different senators with next to nothing in common, as rows: int64[2, n]."""
    records = judge.documents.records[data.press]
    parts = []
    for row in range(len(records) - 1):
        others = np.flatnonzero(data.authors[row + 1 :] != data.authors[row]) + row + 1
        jaccard, _ = similarity(
            records["sketch"][row],
            records["shingles"][row],
            records["sketch"][others],
            records["shingles"][others],
        )
        kept = others[jaccard < UNRELATED]
        parts.append(np.stack((np.full(len(kept), row), kept)))
    return data.press[np.concatenate(parts, axis=1)]

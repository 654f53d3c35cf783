"""Labelled pairs: what a crawl would say of each, and how many are right."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .crawl import load_crawl
from .explaining import Document
from .output.files import is_url
from .run import opened_audit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .pairs import PairJudge
    from .settings import AuditOptions

    Rows = NDArray[np.int64]
    Flags = NDArray[np.bool_]

#: The same text · a near-duplicate · partly shared, not scored · different; empty: unsure, not scored.
LABELS = ("3", "2", "1", "0", "")


class LabelledPairs(NamedTuple):
    """Pairs of documents that a person, or a construction, has labelled: columns of n."""

    id1: list[str]
    id2: list[str]
    label: list[str]
    kind: list[str]


def read_pairs(path: Path) -> LabelledPairs:
    """Read a TSV with the columns ``id1 id2 label`` and perhaps ``kind``. Raises `ConfigurationError`."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    if not rows or not {"id1", "id2", "label"} <= rows[0].keys():
        raise ConfigurationError(
            f"{path} is no table with columns id1, id2 and label, separated by tabs, under a line with these."
        )
    for number, row in enumerate(rows, 1):
        if None in row.values() or row["label"] not in LABELS:
            raise ConfigurationError(
                f"{path}, pair {number}: it has too few columns, or a label that is not 3, 2, 1, 0 or empty."
            )
    return LabelledPairs(*([row.get(name, "") for row in rows] for name in LabelledPairs._fields))


def audited_documents(
    folder: Path, wanted: Collection[str]
) -> tuple[list[str], list[Document], AuditOptions]:
    """Return the URLs (sorted) and main texts of the pages *wanted* of an audit, and its settings.

    Of several pages with one URL the first is taken. Raises `ConfigurationError`.
    """
    with opened_audit(folder) as (store, options):
        crawl = load_crawl(store, options)
        rows = {url: row for row, url in reversed([*enumerate(crawl.urls)]) if url in wanted}
        if missing := sorted({*wanted} - rows.keys()):
            raise ConfigurationError(
                f"Of the ids in the pairs {len(missing)} are not among the pages of the audit, such as "
                f"{missing[0]!r}: use URLs, or else identifiers, as pages.jsonl has them."
            )
        names, documents = sorted(rows), []
        for name in names:
            text = store.main_text(int(crawl.ids[rows[name]]))
            url = name if is_url(name) else crawl.declared[rows[name]]
            documents.append(Document(text, url) if text else Document(url=url))
        return names, documents, options


def rows_of(pairs: LabelledPairs, names: Sequence[str]) -> tuple[Rows, Rows]:
    """Return the rows of both documents of each pair among *names*; int64[n] twice."""
    places = {name: row for row, name in enumerate(names)}
    a, b = (np.array([places[each] for each in ids], np.int64) for ids in (pairs.id1, pairs.id2))
    return a, b


class Orders(NamedTuple):
    """Which pairs are judged duplicates with the longer document stored, and with the shorter: bool[n]."""

    longer_first: Flags
    shorter_first: Flags


def judge_orders(judge: PairJudge, a: Rows, b: Rows) -> Orders:
    """Judge the pairs of rows *a* and *b* (int64[n] each) in both orders."""
    new, stored = judge.by_length(a, b)
    return Orders(judge.judge(new, stored).near, judge.judge(stored, new).near)


def score(pairs: LabelledPairs, orders: Orders) -> dict[str, Any]:
    """Count what was found, by label and kind, and score it, as JSON has that.

    Precision, recall and F1 are of each pair once in each order: labels 3 and 2 are wanted, 0 is wrong.
    """
    keys, labels, found = (
        [*zip(pairs.label, pairs.kind, strict=True)],
        np.array(pairs.label),
        np.stack(orders),
    )
    by_kind = []
    for label, kind in sorted({*keys}, key=lambda key: (LABELS.index(key[0]), key[1])):
        own = np.array([each == (label, kind) for each in keys])
        counts = dict(zip(Orders._fields, found[:, own].sum(axis=1).tolist(), strict=True))
        by_kind.append({"label": label, "kind": kind, "n": int(own.sum()), **counts})
    wanted = np.isin(labels, ("3", "2"))
    hits, alarms = int((found & wanted).sum()), int((found & (labels == "0")).sum())
    precision, recall = hits / max(hits + alarms, 1), hits / max(2 * int(wanted.sum()), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"pairs": len(labels), "by_kind": by_kind, "precision": precision, "recall": recall, "f1": f1}


def worst(
    pairs: LabelledPairs, orders: Orders, judge: PairJudge, a: Rows, b: Rows, most: int
) -> list[dict[str, Any]]:
    """Return the *most* wrong pairs, as JSON has them: different ones found alike, then same ones missed.

    Missed are those not found with the longer document stored: a fuller one that comes second is no copy.
    """
    labels, alike = np.array(pairs.label), judge.either(a, b).similarity
    alarms = (labels == "0") & (orders.longer_first | orders.shorter_first)
    missed = np.isin(labels, ("3", "2")) & ~orders.longer_first
    # A different pair is the more wrong the more alike it seemed, a missed one the less.
    degree = np.where(alarms, 1 + alike, 1 - alike)
    rows = np.flatnonzero(alarms | missed)
    new, stored = judge.by_length(a, b)
    return [
        {
            **{name: getattr(pairs, name)[row] for name in pairs._fields},
            "similarity": round(float(alike[row]), 4),
            "decided_by": judge.decided_by(int(new[row]), int(stored[row])),
        }
        for row in rows[np.argsort(-degree[rows], kind="stable")][:most].tolist()
    ]

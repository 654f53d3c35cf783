"""Labelled pairs: what a crawl would say of each, and how many are right."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

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

    from scrapy_neardup.matching.matcher import Judgement

    from .pairs import PairJudge
    from .settings import AuditOptions

    Rows = NDArray[np.int64]
    Flags = NDArray[np.bool_]

#: Labels: the same text · a near-duplicate · partly shared, not scored · different; empty: unsure, not
#: scored.
SAME, NEAR, PARTLY, DIFFERENT, UNSURE = LABELS = ("3", "2", "1", "0", "")


class LabelledPairs(NamedTuple):
    """Pairs of documents that a person, or a construction, has labelled: columns of n."""

    id1: list[str]
    id2: list[str]
    label: list[str]
    kind: list[str]


def read_pairs(path: Path) -> LabelledPairs:
    """Read a TSV with header and the columns ``id1 id2 label`` and, if there is one, ``kind``.

    Raises `ConfigurationError` for a file that is no such table.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [*table]
    if not rows or not {"id1", "id2", "label"} <= {*(table.fieldnames or ())}:
        raise ConfigurationError(
            f"{path} is no table with columns id1, id2 and label, separated by tabs, under a line with these."
        )
    for number, row in enumerate(rows, 1):
        if None in row.values() or row["label"].strip() not in LABELS:
            raise ConfigurationError(
                f"{path}, pair {number}: it has too few columns, or a label that is not 3, 2, 1, 0 or empty."
            )
    return LabelledPairs(*([row.get(name, "").strip() for row in rows] for name in LabelledPairs._fields))


def audited_documents(
    folder: Path, wanted: Collection[str]
) -> tuple[list[str], list[Document], AuditOptions]:
    """Return the URLs (sorted) and main texts of the pages *wanted* of an audit, and its settings.

    Of several pages with one URL the first is taken. Raises `ConfigurationError`.
    """
    store, options = opened_audit(folder)
    try:
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
    finally:
        store.close()


def rows_of(pairs: LabelledPairs, names: Sequence[str]) -> tuple[Rows, Rows]:
    """Return the rows of both documents of each pair among *names*; int64[n] twice."""
    places = {name: row for row, name in enumerate(names)}
    a, b = (np.array([places[each] for each in ids], np.int64) for ids in (pairs.id1, pairs.id2))
    return a, b


class Orders(NamedTuple):
    """Pairs judged in both orders."""

    #: With the second document of each pair stored.
    second_stored: Judgement
    #: Whether they are duplicates with the longer document stored, and with the shorter: bool[n].
    longer_first: Flags
    shorter_first: Flags


def judge_orders(judge: PairJudge, a: Rows, b: Rows) -> Orders:
    """Judge the pairs of rows *a* and *b* (int64[n] each) in both orders."""
    one, other = judge.judge(a, b), judge.judge(b, a)
    shingles = judge.documents.records["shingles"]
    longer = shingles[b] >= shingles[a]
    return Orders(one, np.where(longer, one.near, other.near), np.where(longer, other.near, one.near))


class Row(NamedTuple):
    """Pairs of one label and kind: how many, and how many of them were judged duplicates.

    That is with the second document stored, with the longer one, and with the shorter one.
    """

    label: str
    kind: str
    n: int
    found: int
    longer_first: int
    shorter_first: int


class Scores(NamedTuple):
    """Precision, recall and F1; 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def count(pairs: LabelledPairs, orders: Orders) -> list[Row]:
    """Count what was found, by label and kind."""
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        groups.setdefault(key, []).append(row)
    columns = (orders.second_stored.near, orders.longer_first, orders.shorter_first)
    return [
        Row(*key, len(own), *(int(each[own].sum()) for each in columns))
        for key, own in sorted(groups.items(), key=lambda item: (LABELS.index(item[0][0]), item[0][1]))
    ]


def score(pairs: LabelledPairs, orders: Orders, positive: Sequence[str]) -> Scores:
    """Score what was found, each pair once in each order: *positive* labels are wanted, 0 is wrong."""
    labels = np.array(pairs.label)
    wanted, wrong = np.isin(labels, positive), labels == DIFFERENT
    found = np.stack((orders.longer_first, orders.shorter_first))
    hits, alarms = int((found & wanted).sum()), int((found & wrong).sum())
    precision, recall = hits / max(hits + alarms, 1), hits / max(2 * int(wanted.sum()), 1)
    return Scores(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def worst(pairs: LabelledPairs, orders: Orders, most: int) -> list[int]:
    """Return the rows of the *most* wrong pairs, as many: different ones found alike, same ones missed.

    Missed are those that are not found with the longer document stored: a fuller one that comes second is no
    copy.
    """
    labels, judgement = np.array(pairs.label), orders.second_stored
    different, found = labels == DIFFERENT, orders.longer_first
    wrong = np.where(different, found | orders.shorter_first, np.isin(labels, (SAME, NEAR)) & ~found)
    alike = np.maximum(judgement.similarity, judgement.containment)
    # A different pair is the more wrong the more alike it seemed, a missed one the less.
    degree = np.where(different, 1 + alike, 1 - alike + (labels == SAME))
    rows = np.flatnonzero(wrong)
    return [*rows[np.argsort(-degree[rows], kind="stable")][:most].tolist()]

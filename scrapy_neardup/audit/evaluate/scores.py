"""The figures of labelled pairs: how many were judged right, by what, and which are most wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .labelled import DIFFERENT, LABELS, NEAR, SAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .labelled import LabelledPairs, Orders


@dataclass(frozen=True)
class Row:
    """Pairs of one label and kind: how many, and how many of them were judged duplicates.

    That is with the second document stored, with the longer one, and with the shorter one. A pair that was
    judged with several seeds counts once for each.
    """

    label: str
    kind: str
    n: int
    found: int
    longer_first: int
    shorter_first: int


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1; 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, found: NDArray[np.bool_], labels: NDArray[np.str_], positive: Sequence[str]) -> Scores:
        """Score *found* (bool[n]) by *labels* (str[n]): *positive* ones are wanted, 0 is wrong."""
        wanted, wrong = np.isin(labels, positive), labels == DIFFERENT
        hits, alarms = int((found & wanted).sum()), int((found & wrong).sum())
        precision, recall = hits / max(hits + alarms, 1), hits / max(int(wanted.sum()), 1)
        return cls(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def by_kind(pairs: LabelledPairs, orders: Sequence[Orders]) -> list[Row]:
    """Count by label, the most alike first, and kind, over all *orders*: one for each seed."""
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        groups.setdefault(key, []).append(row)
    columns = [(each.second_stored.near, each.longer_first, each.shorter_first) for each in orders]
    found = np.sum(columns, axis=0)
    order = sorted(groups, key=lambda key: (LABELS.index(key[0]), key[1]))
    return [
        Row(*key, len(groups[key]) * len(orders), *(int(each[groups[key]].sum()) for each in found))
        for key in order
    ]


class Group(NamedTuple):
    """What was found of the pairs with a document of one host, or in one language."""

    by: str
    name: str
    #: How many pairs; how many of them are labelled 3 or 2, and how many 0.
    n: int
    alike: int
    different: int
    near: Scores


def by_document(
    pairs: LabelledPairs, orders: Sequence[Orders], names: Mapping[str, Mapping[str, str]]
) -> list[Group]:
    """Score the pairs of each group of documents, over all *orders*: one for each seed.

    *names* has by what documents are grouped, such as ``host``, and by the identifier of each document the
    name of its group; "" for none. The groups with the most pairs come first.
    """
    labels = np.array(pairs.label)
    found = np.stack([each for one in orders for each in (one.longer_first, one.shorter_first)])
    groups: list[Group] = []
    for by, name_of in names.items():
        rows: dict[str, list[int]] = {}
        for row, ids in enumerate(zip(pairs.id1, pairs.id2, strict=True)):
            for name in {name_of[each] for each in ids} - {""}:
                rows.setdefault(name, []).append(row)
        for name in sorted(rows, key=lambda name: (-len(rows[name]), name)):
            own = labels[rows[name]]
            score = Scores.of(found[:, rows[name]].ravel(), np.tile(own, len(found)), (SAME, NEAR))
            alike, different = int(np.isin(own, (SAME, NEAR)).sum()), int((own == DIFFERENT).sum())
            groups.append(Group(by, name, len(own), alike, different, score))
    return groups


def worst(pairs: LabelledPairs, orders: Orders, count: int) -> Iterator[int]:
    """Yield the rows of the *count* most wrong pairs: different ones found alike, same ones missed.

    Missed are those that are not found with the longer document stored: a fuller one that comes second is no
    copy.
    """
    labels, judgement = np.array(pairs.label), orders.second_stored
    found = orders.longer_first
    wrong = np.where(
        labels == DIFFERENT, found | orders.shorter_first, np.isin(labels, (SAME, NEAR)) & ~found
    )
    alike: NDArray[Any] = np.maximum(judgement.similarity, judgement.containment)
    # A different pair is the more wrong the more alike it seemed, a missed one the less.
    degree = np.where(labels == DIFFERENT, 1 + alike, 1 - alike + (labels == SAME))
    rows = np.flatnonzero(wrong)
    yield from rows[np.argsort(-degree[rows], kind="stable")][:count].tolist()


class Result(NamedTuple):
    """What became of labelled pairs."""

    rows: list[Row]
    #: With labels 3 and 2 as positives, and with 3 alone; each pair counts once in each order and for each
    #: seed.
    near: Scores
    same: Scores


def score(pairs: LabelledPairs, orders: Sequence[Orders]) -> Result:
    """Hold what was found against the labels, over all *orders*: one for each seed."""
    found = np.concatenate([each for one in orders for each in (one.longer_first, one.shorter_first)])
    labels = np.tile(np.array(pairs.label), 2 * len(orders))
    return Result(
        by_kind(pairs, orders), Scores.of(found, labels, (SAME, NEAR)), Scores.of(found, labels, (SAME,))
    )

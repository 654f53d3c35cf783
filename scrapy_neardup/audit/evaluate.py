"""Labelled pairs: what the live detector would say of each, how many are right, and how schemes compare."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.index import Header
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, families, record

from .explaining import reason
from .pairs import PairJudge
from .settings import scheme_named
from .signing import sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Features
    from scrapy_neardup.matching.matcher import Judgement
    from scrapy_neardup.options import DetectionOptions

    from .texts import Text

    Rows = NDArray[np.int64]

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
        lines = [line.rstrip("\n").split("\t") for line in file] or [[]]
    header = lines[0]
    if missing := [name for name in LabelledPairs._fields[:3] if name not in header]:
        raise ConfigurationError(
            f"{path} has no column {', '.join(missing)}: it needs a header line with id1, id2 and label, "
            "separated by tabs."
        )
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if cells == [""]:
            continue
        if len(cells) < len(header):
            raise ConfigurationError(
                f"{path}, line {number}: {len(cells)} columns in place of {len(header)}."
            )
        row = dict(zip(header, map(str.strip, cells), strict=False))
        if row["label"] not in LABELS:
            raise ConfigurationError(
                f"{path}, line {number}: the label {row['label']!r} is not 3, 2, 1, 0 or empty."
            )
        rows.append(row)
    if not rows:
        raise ConfigurationError(f"{path} has no pairs below its header.")
    return LabelledPairs(*([row.get(name, "") for row in rows] for name in LabelledPairs._fields))


def judge_texts(
    texts: Sequence[Text],
    matcher: Matcher,
    *,
    features: Features,
    seed: int = 0,
    advance: Callable[[int], None] = lambda done: None,
) -> PairJudge:
    """Make ready to judge pairs of *texts*; *advance* is told how many texts are done."""
    scheme = matcher.scheme
    header = Header(families(scheme), record(scheme), {**scheme.parameters}, seed)
    signatures = []
    with closing(sign((each.main for each in texts), Fingerprinter(features, seed, scheme))) as signed:
        for done, signature in enumerate(signed, 1):
            signatures.append(signature)
            advance(done)
    fit = np.array([matcher.unfit(each.tokens, each.wall) is None for each in signatures], bool)
    return PairJudge(entries(signatures, [each.url for each in texts], header), fit, matcher)


def judge_with(
    texts: Sequence[Text],
    options: DetectionOptions,
    seed: int,
    advance: Callable[[int], None] = lambda done: None,
) -> PairJudge:
    """Make ready to judge pairs of *texts* by the settings."""
    matcher = Matcher(scheme_named(options), options.verified, options.min_tokens)
    return judge_texts(texts, matcher, features=options.features, seed=seed, advance=advance)


class Orders(NamedTuple):
    """Pairs judged in both orders."""

    #: With the second document of each pair stored.
    second_stored: Judgement
    #: Whether they are duplicates with the longer document stored, and with the shorter: bool[n].
    longer_first: NDArray[np.bool_]
    shorter_first: NDArray[np.bool_]


def judge_orders(judge: PairJudge, a: Rows, b: Rows) -> Orders:
    """Judge the pairs of rows *a* and *b* (int64[n] each) in both orders."""
    one, other = judge.judge(a, b), judge.judge(b, a)
    shingles = judge.documents.records["shingles"]
    longer = shingles[b] >= shingles[a]
    return Orders(one, np.where(longer, one.near, other.near), np.where(longer, other.near, one.near))


def rows_of(pairs: LabelledPairs, texts: Sequence[Text]) -> tuple[Rows, Rows]:
    """Return the rows of both documents of each pair, int64[n] twice.

    Raises `ConfigurationError` if a document is missing.
    """
    places = {text.id: row for row, text in enumerate(texts)}
    if missing := sorted({*pairs.id1, *pairs.id2} - places.keys()):
        raise ConfigurationError(
            f"Of the ids in the pairs {len(missing)} are not among the documents, such as {missing[0]!r}: "
            "use the documents that the pairs were made of."
        )
    a, b = (np.array([places[each] for each in ids], np.int64) for ids in (pairs.id1, pairs.id2))
    return a, b


def steps(judge: PairJudge, a: Rows, b: Rows) -> Iterator[str]:
    """Say what decided each pair of rows *a* and *b* (int64[m] each), with only the second stored."""
    for row, other, equal in zip(a.tolist(), b.tolist(), judge.equal(a, b).tolist(), strict=True):
        if not (judge.fit[row] and judge.fit[other]):
            yield "too short, or a wall: captcha, log-in, error page"
        elif equal:
            yield "equal texts"
        elif told := judge.told(row, other):
            yield reason(told) if judge.matcher.verified else "a candidate"
        else:
            yield "no candidate: other fingerprints, and no long shingle or band shared"


@dataclass(frozen=True)
class Row:
    """Pairs of one label and kind, for each seed: how many, and how many of them were judged duplicates.

    That is with the second document stored, with the longer one, and with the shorter one.
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
        """Score *found* (bool[k, n]) by *labels* (str[n]): *positive* ones are wanted, 0 is wrong."""
        wanted, wrong = np.isin(labels, positive), labels == DIFFERENT
        hits, alarms = int((found & wanted).sum()), int((found & wrong).sum())
        precision, recall = hits / max(hits + alarms, 1), hits / max(int(wanted.sum()) * len(found), 1)
        return cls(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


class Result(NamedTuple):
    """What became of labelled pairs, over all seeds."""

    rows: list[Row]
    #: With labels 3 and 2 as positives, and with 3 alone; each pair counts once in each order and for each
    #: seed.
    near: Scores
    same: Scores


def score(pairs: LabelledPairs, orders: Sequence[Orders]) -> Result:
    """Hold what was found against the labels, over all *orders*: one for each seed."""
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(pairs.label, pairs.kind, strict=True)):
        groups.setdefault(key, []).append(row)
    columns = [(each.second_stored.near, each.longer_first, each.shorter_first) for each in orders]
    counts = np.sum(columns, axis=0)
    rows = [
        Row(*key, len(own) * len(orders), *(int(each[own].sum()) for each in counts))
        for key, own in sorted(groups.items(), key=lambda item: (LABELS.index(item[0][0]), item[0][1]))
    ]
    found = np.stack([each for one in orders for each in (one.longer_first, one.shorter_first)])
    labels = np.array(pairs.label)
    return Result(rows, Scores.of(found, labels, (SAME, NEAR)), Scores.of(found, labels, (SAME,)))


def worst(pairs: LabelledPairs, orders: Orders, count: int) -> list[int]:
    """Return the rows of the *count* most wrong pairs: different ones found alike, same ones missed.

    Missed are those that are not found with the longer document stored: a fuller one that comes second is no
    copy.
    """
    labels, judgement = np.array(pairs.label), orders.second_stored
    found = orders.longer_first
    wrong = np.where(
        labels == DIFFERENT, found | orders.shorter_first, np.isin(labels, (SAME, NEAR)) & ~found
    )
    alike = np.maximum(judgement.similarity, judgement.containment)
    # A different pair is the more wrong the more alike it seemed, a missed one the less.
    degree = np.where(labels == DIFFERENT, 1 + alike, 1 - alike + (labels == SAME))
    rows = np.flatnonzero(wrong)
    return [*rows[np.argsort(-degree[rows], kind="stable")][:count].tolist()]

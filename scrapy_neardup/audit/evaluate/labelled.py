"""Labelled pairs, what the live detector would say of each, and which step of judging decided that."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.audit.explaining import reason
from scrapy_neardup.audit.pairs.compare import Groups, PairJudge, compare_all
from scrapy_neardup.audit.signing import sign
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.index import Header
from scrapy_neardup.matching.records import entries, families, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Features
    from scrapy_neardup.index import Documents
    from scrapy_neardup.matching.candidates import Judgement
    from scrapy_neardup.matching.matcher import Matcher

    from .corpus import Text

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
        rows = (line.rstrip("\n").split("\t") for line in file)
        header = next(rows, [])
        missing = [name for name in LabelledPairs._fields[:3] if name not in header]
        if missing:
            raise ConfigurationError(
                f"{path} has no column {', '.join(missing)}: it needs a header line with id1, id2 and label, "
                "separated by tabs."
            )
        places = [header.index(name) if name in header else None for name in LabelledPairs._fields]
        columns: tuple[list[str], ...] = ([], [], [], [])
        for number, row in enumerate(rows, 2):
            if row == [""]:
                continue
            if len(row) < len(header):
                raise ConfigurationError(
                    f"{path}, line {number}: {len(row)} columns in place of {len(header)}."
                )
            for column, place in zip(columns, places, strict=True):
                column.append(row[place].strip() if place is not None else "")
            if columns[2][-1] not in LABELS:
                raise ConfigurationError(
                    f"{path}, line {number}: the label {columns[2][-1]!r} is not 3, 2, 1, 0 or empty."
                )
    if not columns[0]:
        raise ConfigurationError(f"{path} has no pairs below its header.")
    return LabelledPairs(*columns)


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


class Orders(NamedTuple):
    """Pairs judged in both orders."""

    #: With the second document of each pair stored.
    second_stored: Judgement
    #: Whether they are duplicates with the longer document stored, and with the shorter: bool[n].
    longer_first: NDArray[np.bool_]
    shorter_first: NDArray[np.bool_]


def judge_orders(
    judge: Callable[[NDArray[np.int64], NDArray[np.int64]], Judgement],
    documents: Documents,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
) -> Orders:
    """Have *judge* judge the pairs of rows *a* and *b* (int64[n] each) of *documents* in both orders."""
    one, other = judge(a, b), judge(b, a)
    shingles = documents.records["shingles"]
    longer = shingles[b] >= shingles[a]
    return Orders(one, np.where(longer, one.near, other.near), np.where(longer, other.near, one.near))


def rows_of(pairs: LabelledPairs, texts: Sequence[Text]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of both documents of each pair, int64[n] twice.

    Raises `ConfigurationError` if a document is missing.
    """
    places = {text.id: row for row, text in enumerate(texts)}
    missing = sorted({each for each in (*pairs.id1, *pairs.id2) if each not in places})
    if missing:
        raise ConfigurationError(
            f"Of the ids in the pairs {len(missing)} are not among the documents, such as {missing[0]!r}: "
            "use the documents that the pairs were made of."
        )
    a, b = (np.array([places[each] for each in ids], np.int64) for ids in (pairs.id1, pairs.id2))
    return a, b


@dataclass(frozen=True)
class FoundPairs:
    """All duplicates among some documents: the pairs of rows *a* and *b* (int64[m]), the lower first.

    Of g equal texts they are g - 1 pairs with the first, which alone is compared with others (one for each
    site).
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    judge: PairJudge
    groups: Groups

    def of(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        """Judge the pairs of rows *a* and *b* (int64[k]); those that were not found are no duplicates."""
        judgement = self.judge.judge(a, b)
        alike = self.groups.alike
        found = judgement.exact | np.isin(self._codes(alike[a], alike[b]), self._codes(self.a, self.b))
        return judgement._replace(near=judgement.near & found)

    def without(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
        """Return how many of the pairs found are not among *a* and *b* (int64[k])."""
        return int((~np.isin(self._codes(self.a, self.b), self._codes(a, b))).sum())

    def _codes(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = np.minimum(a, b) * len(self.judge.fit) + np.maximum(a, b)
        return codes


def find_all(judge: PairJudge) -> FoundPairs:
    """Find all duplicates among all documents, as an audit does."""
    groups = Groups.of(judge.documents)
    compared = compare_all(judge, groups)
    near = compared.judgement.near
    return FoundPairs(compared.a[near], compared.b[near], judge, groups)


def steps(judge: PairJudge, a: NDArray[np.int64], b: NDArray[np.int64], judgement: Judgement) -> list[str]:
    """Say what decided each pair of rows *a* and *b* (int64[m] each).

    *judge* judged them as *judgement* says. What is judged near but is not in *judgement* was never compared.
    """
    records = judge.documents.records
    tokens = np.minimum(records["tokens"][a], records["tokens"][b])
    # Without verification, near-duplicates are what the scheme takes for candidates.
    candidate = replace(judge, matcher=replace(judge.matcher, verified=False)).judge(a, b).near
    never_compared = judge.judge(a, b).near & ~judgement.near
    found = []
    for row, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if not (judge.fit[one] and judge.fit[other]):
            short = tokens[row] < judge.matcher.min_tokens
            found.append(
                f"too short: {tokens[row]} tokens" if short else "a wall: captcha, log-in, error page"
            )
        elif judgement.exact[row]:
            found.append("equal texts")
        elif never_compared[row] or not candidate[row]:
            found.append(_no_candidate(judge, int(judgement.distance[row])))
        elif judge.matcher.verified:
            found.append(reason(judge.told(one, other)))
        else:
            found.append("a candidate")
    return found


def _no_candidate(judge: PairJudge, distance: int) -> str:
    scheme = judge.matcher.scheme
    bits = f"fingerprints {distance} bits apart" if scheme.simhash else ""
    keys = ("no long shingle" if scheme.simhash else "too few bands") + " shared" if scheme.keys else ""
    return f"no candidate: {', '.join(filter(None, (bits, keys)))}"

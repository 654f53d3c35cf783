"""All duplicates among some documents, found as an audit does, to be held against labelled pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.pairs.compare import Groups, compare_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.audit.pairs.judge import PairJudge
    from scrapy_neardup.matching.candidates import Judgement


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

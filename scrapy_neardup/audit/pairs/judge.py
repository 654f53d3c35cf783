"""Pairs of documents, judged as the detector would judge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.fingerprint import hamming
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.candidates import Judgement
from scrapy_neardup.matching.records import DIGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index import Documents
    from scrapy_neardup.matching.matcher import Matcher

#: Pairs that are judged at a time: bounds the memory at some 25 MB.
_CHUNK = 1 << 14


@dataclass(frozen=True)
class PairJudge:
    """Judges pairs of *documents* by *matcher*; those too short, and walls, are not *fit* (bool[n])."""

    documents: Documents
    fit: NDArray[np.bool_]
    matcher: Matcher

    def judge(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        """Judge each pair of rows (int64[m] each) as the detector would with only *b* stored."""
        parts = [
            self._judge(a[start : start + _CHUNK], b[start : start + _CHUNK])
            for start in range(0, max(len(a), 1), _CHUNK)
        ]
        return Judgement(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def either(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        """Judge each pair of rows with the longer one stored: near if any of both repeats the other."""
        shingles = self.documents.records["shingles"]
        longer = shingles[a] > shingles[b]
        return self.judge(np.where(longer, b, a), np.where(longer, a, b))

    def shared(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the further keys of the scheme that each pair of rows (int64[m]) has in common; int64[m]."""
        keys = self.documents.keys[len(self.documents.keys) - self.matcher.scheme.keys :]
        shared = np.zeros(len(a), np.int64)
        for own in keys:
            mine = own[a]
            shared += (mine == keys[:, b]).any(axis=0) & (mine != NO_KEY)
        return shared

    def told(self, a: int, b: int) -> dict[str, Any]:
        """Return what `Matcher.explain` says of the rows *a* and *b*, with only *b* stored.

        That is nothing if they are no candidates.
        """
        records, scheme = self.documents.records, self.matcher.scheme
        shared = [0, 0]
        if scheme.simhash:
            shared.append(int(hamming(*records["fingerprint"][[a, b]].tolist()) <= scheme.distance))
        if scheme.keys:
            shared += self.shared(np.array([a]), np.array([b])).tolist()
        return self.matcher.explain(records[a], records[b : b + 1], shared) if any(shared) else {}

    def equal(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which pairs of rows (int64[m] each) have equal texts; bool[m]."""
        keys, digests = self.documents.keys[DIGEST], self.documents.records["digest"]
        found: NDArray[np.bool_] = (keys[a] == keys[b]) & (digests[a] == digests[b])
        return found

    def _judge(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        records = self.documents.records
        judgement = self.matcher.judge(records[a], records[b], self.equal(a, b), self.shared(a, b))
        fit = self.fit[a] & self.fit[b]
        return judgement._replace(
            exact=judgement.exact & fit,
            near=judgement.near & fit,
            fuller=judgement.fuller & fit,
            template=judgement.template & fit,
            text_only=judgement.text_only & fit,
        )

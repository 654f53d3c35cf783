"""The one matcher: it compares a document with the stored ones that it meets.

The crawl, `query`, `compare`, `evaluate` and the audit all ask the `Matcher`. The thresholds are in rules.py.
What a document is in the end is decided in decision.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scrapy_neardup.fingerprint.details import FEW, WEIGHT
from scrapy_neardup.fingerprint.filters import substituted_each
from scrapy_neardup.fingerprint.scheme import Pairs
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.options import DetectionOptions

from .candidates import COMPARED, NEAREST, Candidates, Judgement
from .records import DIGEST, FILTERS, OWN, TEMPLATE, URL, filters
from .rules import CONTAINMENTS, Evidence, verify
from .sites import UNKNOWN
from .variety import beyond_chance, characters, counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Scheme
    from scrapy_neardup.index.protocol import Documents, Found


@dataclass(frozen=True)
class Matcher:
    """Compares documents.

    The *scheme* says which ones are candidates. Candidates have to be much alike, too, unless *verified* is
    off. Texts of fewer than *min_tokens* tokens are not judged.
    """

    scheme: Scheme
    verified: bool = DetectionOptions.verified
    min_tokens: int = DetectionOptions.min_tokens

    def unfit(self, tokens: int, wall: bool) -> Literal["too_short", "wall"] | None:
        """Return why a text of so many *tokens*, perhaps a *wall*, cannot be judged; None if it can."""
        if tokens < self.min_tokens:
            return "too_short"
        return "wall" if wall else None

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """How a document is looked up in a crawl: by its digest, its URL, and the keys of the scheme.

        Each lookup has a bound, so that no flood of like pages makes those that follow dear.
        """
        return tuple(lookup._replace(nearest=NEAREST, compared=COMPARED) for lookup in self.unbounded_lookups)

    @cached_property
    def unbounded_lookups(self) -> tuple[Lookup, ...]:
        """The same, but all stored documents are found, at any cost."""
        lookups = [Lookup(DIGEST), Lookup(URL)]
        if self.scheme.simhash:
            lookups.append(Lookup(OWN, self.scheme.distance))
        if self.scheme.keys:
            lookups.append(Lookup(OWN + bool(self.scheme.simhash), most=self.scheme.most))
        return tuple(lookups)

    def judge(
        self,
        new: NDArray[Any],
        stored: NDArray[Any],
        exact: NDArray[np.bool_],
        shared: NDArray[np.integer],
    ) -> Judgement:
        """Compare documents pair by pair by their records: [n], or [] for one document in all pairs.

        *exact* (bool[n]) says which pairs have equal texts, *shared* (int[n]) how many of the further keys of
        the scheme each pair has in common.
        """
        if exact.all():  # so it is for most copies, and then nothing needs to be estimated
            ones = np.ones(len(exact), np.float32)
            nothing = ~exact
            distance = np.zeros(len(exact), np.uint8)
            return Judgement(exact, exact, nothing, nothing, nothing, distance, ones, ones)
        distance = np.bitwise_count(new["fingerprint"] ^ stored["fingerprint"])
        jaccard, containment = similarity(
            new["sketch"], new["shingles"], stored["sketch"], stored["shingles"]
        )
        agrees = self.scheme.agrees(Pairs(distance, shared, new, stored))
        candidate = agrees & (stored["flags"] & TEMPLATE == 0)
        near, fuller, template, text_only = candidate, *(np.zeros_like(candidate) for _ in range(3))
        if self.verified:
            found = verify(_evidence(new, stored, jaccard, containment, self.scheme.has_same_runs(shared)))
            near = candidate & found.near
            fuller, template = candidate & found.fuller & ~exact, candidate & found.template & ~exact
            text_only = agrees & found.text_only & ~exact
        one = np.float32(1)
        return Judgement(
            exact,
            exact | near,
            fuller,
            template,
            text_only,
            np.where(exact, np.uint8(0), distance),
            np.where(exact, one, jaccard),
            np.where(exact, one, containment),
        )

    def candidates(
        self, document: Documents, found: Found, oldest: float = 0, *, all_scopes: bool = False
    ) -> Candidates:
        """Compare *document* (one row) with the documents that its `lookups` have *found*.

        What was stored before *oldest* (seconds since 1970) is left out, and so are documents of other scopes
        unless *all_scopes* count.
        """
        record = document.records[0]
        counts = found.stored.records["time"] >= oldest
        if not all_scopes:
            counts &= found.stored.records["scope"] == record["scope"]
        if not counts.all():
            found = found.take(np.flatnonzero(counts))
        stored = found.stored.records
        # Half of the digest is the key that was looked up, the other half is in the record.
        exact = (found.shared[0] > 0) & (stored["digest"] == record["digest"])
        shared = found.shared[-1] if self.scheme.keys else np.zeros(len(stored), np.int64)
        return Candidates(
            found.documents,
            found.stored.urls,
            found.stored.notes,
            np.array([url == document.urls[0] for url in found.stored.urls], bool),
            stored["time"],
            found.pending,
            self.judge(record, stored, exact, shared),
            record,
            stored,
            found.shared,
            complete=not (found.crowded or found.narrowed),
        )

    def explain(self, record: Any, stored: NDArray[Any], shared: Sequence[int]) -> dict[str, Any]:
        """Return the figures and rules by which a document was compared with one stored document.

        *record* belongs to the document, *stored* (one row) to the other. *shared* says how many keys they
        have in common by each of `lookups`. docs/scrapy.md has the names of what is returned.
        """
        found_by = [name for name, keys in zip(self.steps, shared, strict=True) if keys]
        told: dict[str, Any] = {"step": found_by[0], "found_by": found_by}
        if found_by[0] == "digest" or not self.verified:
            return told
        estimates = similarity(record["sketch"], record["shingles"], stored["sketch"], stored["shingles"])
        same_runs = self.scheme.has_same_runs(np.array(shared[-1:]))
        evidence = _evidence(record, stored, *estimates, same_runs)
        figures = evidence._asdict()
        verify(evidence, figures)
        told |= {name: np.ravel(value)[0].item() for name, value in figures.items()}
        told["containment_asked"] = {rule: [*asked] for rule, asked in CONTAINMENTS.items() if told[rule]}
        return told

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The name of each of `lookups`, in their order."""
        further = (("fingerprint", self.scheme.simhash), ("keys", self.scheme.keys))
        return ("digest", "url", *(name for name, given in further if given))


def _evidence(
    new: NDArray[Any],
    stored: NDArray[Any],
    jaccard: NDArray[np.float32],
    containment: NDArray[np.float32],
    same_runs: NDArray[np.bool_],
) -> Evidence:
    """Return what the rules ask about pairs of records: [n], or [] for one document in all pairs.

    *same_runs* (bool[n]) says which of them have nearly all long runs in common.
    """
    (
        (missing, numbers, *_),
        (title, titled, grown, shrunk),
        (figures, figured, more, _),
        (words, worded, longer, _),
    ) = substituted_each(FILTERS, filters(new), filters(stored))
    # Words of a note's text count as those of short lines do, so a longer text seems to lack them.
    longer = np.where((new["tokens"] <= FEW) & (stored["tokens"] > FEW), 0, longer)
    known = (new["site"] != UNKNOWN) & (stored["site"] != UNKNOWN)
    same = new["site"] == stored["site"]
    length, other = np.maximum(new["shingles"], 1.0), np.maximum(stored["shingles"], 1.0)
    return Evidence(
        jaccard,
        containment,
        missing,
        numbers,
        np.minimum(new["tokens"], stored["tokens"]),
        known=containment * np.minimum(other / length, 1),
        length=length / other,
        varied=beyond_chance(counts(new), counts(stored), jaccard, same_runs),
        one_site=known & same,
        two_sites=known & ~same,
        title=title,
        titled=titled,
        retitled=np.maximum(grown, shrunk),
        values=figures / WEIGHT + words,
        valued=figured / WEIGHT + worded,
        added=more / WEIGHT + longer,
        replaced=(1 - containment) * np.minimum(length / characters(new), other / characters(stored)),
    )

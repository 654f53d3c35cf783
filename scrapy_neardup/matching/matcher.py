"""The one decision: what a document is, given the stored documents that it meets.

The crawl, `query`, `compare`, `evaluate` and the audit all ask the `Matcher`; none of them has a threshold of its own.
What makes two texts near-duplicates is in rules.py, what is known of a document in records.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from scrapy_neardup.fingerprint.details import WEIGHT
from scrapy_neardup.fingerprint.filters import FIGURES, NUMBERS, TITLE, WORDS
from scrapy_neardup.fingerprint.schemes import Pairs
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.options import DetectionOptions

from .records import DIGEST, OWN, TEMPLATE, URL, WEAK, flags
from .rules import CONTAINMENTS, Evidence, varied, verify
from .sites import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Scheme
    from scrapy_neardup.index.protocol import Documents, Found, Pending

#: A text that so many pages of a site have under other titles is the site's. A page whose short lines are theirs, too,
#: says nothing that could be repeated, whatever other pages have its title.
BOILERPLATE = 2
#: The first so many pages of such a text keep their keys: some of them may have other short lines.
KEYED = 2 * BOILERPLATE
#: What a document that can be judged is to those that are stored, see `Verdict`.
Kind = Literal["unique", "exact", "near", "revisit", "template", "boilerplate", "fuller", "preferred"]


class Judgement(NamedTuple):
    """What speaks for n pairs of documents, a new one and a stored one each: arrays of n."""

    #: Their normalised texts are equal: bool.
    exact: NDArray[np.bool_]
    #: They are near-duplicates; exact ones are, too: bool.
    near: NDArray[np.bool_]
    #: The new one has most of the stored one, and more: bool.
    fuller: NDArray[np.bool_]
    #: They are pages of one template, filled with other values: bool.
    template: NDArray[np.bool_]
    #: Pages of one site with the same main text and other titles: bool. A stored page of a template counts, too.
    text_only: NDArray[np.bool_]
    #: Bits in which the fingerprints differ: uint8.
    distance: NDArray[np.uint8]
    #: Estimated Jaccard similarity: float32.
    similarity: NDArray[np.float32]
    #: Estimated share of the shorter text that is in the longer: float32.
    containment: NDArray[np.float32]


class Candidates(NamedTuple):
    """The stored documents that count for a new one: arrays of n."""

    #: Numbers in the index: int64.
    documents: NDArray[np.int64]
    urls: list[str]
    #: Whether each is filed under the URL of the new one: bool.
    own: NDArray[np.bool_]
    #: Whether its page has stored no item: bool.
    weak: NDArray[np.bool_]
    #: When it was stored, in seconds since 1970: uint32.
    time: NDArray[np.uint32]
    #: The handle of each one that is pending, None for the others.
    pending: list[Pending | None]
    judgement: Judgement
    #: The record of the new one, and theirs.
    record: Any
    stored: NDArray[Any]
    #: How many keys they match of each lookup: int64[lookups, n].
    shared: NDArray[np.int64]

    def best(self, among: NDArray[np.bool_]) -> int | None:
        """Return the row of the best of *among* (bool[n]), None if there is none.

        Settled ones come before pending ones; then those with items, exact ones, the most similar, the closest, the
        oldest.
        """
        rows = np.flatnonzero(among).tolist()
        if not rows:
            return None
        return min(
            rows,
            key=lambda row: (
                self.pending[row] is not None,
                self.weak[row],
                not self.judgement.exact[row],
                -self.judgement.similarity[row],
                self.judgement.distance[row],
                self.time[row],
                self.urls[row],
            ),
        )


class Preference(NamedTuple):
    """Which near-duplicates are better than what they repeat, so that they take its place."""

    #: Those at least so many times as long as each page that they repeat.
    length: float = math.inf
    #: Those that a page which they repeat names as canonical: tells by its URL whether it does.
    is_named_by: Callable[[str], bool] | None = None


class Decision(NamedTuple):
    """What a new document is to those that are stored, and what is to become of it."""

    kind: Kind
    #: The row of the candidate that it was decided by, None for none.
    row: int | None = None
    #: Whether it is to be filed; then in the place of these documents.
    filed: bool = False
    replaces: Sequence[int] = ()
    #: Whether it is filed as one of the pages of a template, and then whether it is found by its keys nevertheless.
    of_template: bool = False
    keyed: bool = False
    #: Whether it is not to be filed if its page stores no item, because that would lose what is known of pages.
    known_weak: bool = False
    #: Whether it is a revisit, and its text is the stored one.
    unchanged: bool = False


@dataclass(frozen=True)
class Matcher:
    """Decides by a *scheme*, which says what candidates are; unless *verified* is off, they have to be much alike, too.

    Texts of fewer than *min_tokens* tokens are not judged.
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
        """How a document is looked up: by its digest, its URL, and the keys of the scheme."""
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

        *exact* (bool[n]) are those with equal texts, *shared* (int[n]) is how many of the scheme's further keys are
        equal.
        """
        if exact.all():  # as for most copies: nothing needs to be estimated
            ones = np.ones(len(exact), np.float32)
            nothing = ~exact
            distance = np.zeros(len(exact), np.uint8)
            return Judgement(exact, exact, nothing, nothing, nothing, distance, ones, ones)
        distance = np.bitwise_count(new["fingerprint"] ^ stored["fingerprint"])
        jaccard, containment = similarity(
            new["sketch"], new["shingles"], stored["sketch"], stored["shingles"]
        )
        agrees = self.scheme.agrees(Pairs(distance, shared, new, stored))
        candidate = agrees & (flags(stored) & TEMPLATE == 0)
        near, fuller, template, text_only = candidate, *(np.zeros_like(candidate) for _ in range(3))
        if self.verified:
            found = verify(_evidence(new, stored, jaccard, containment))
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
            distance,
            np.where(exact, one, jaccard),
            np.where(exact, one, containment),
        )

    def candidates(
        self, document: Documents, found: Found, oldest: float = 0, *, all_scopes: bool = False
    ) -> Candidates:
        """Judge what *document*, one row, was *found* to meet by `lookups`.

        What was stored before *oldest* (seconds since 1970) does not count, nor what is in another scope, unless
        *all_scopes* do.
        """
        record = document.records[0]
        counts = found.stored.records["time"] >= oldest
        if not all_scopes:
            counts &= found.stored.records["scope"] == record["scope"]
        if not counts.all():
            found = found.take(np.flatnonzero(counts))
        stored = found.stored.records
        # The two halves of the digest: the key, and what the record has.
        exact = (found.shared[0] > 0) & (stored["digest"] == record["digest"])
        shared = found.shared[-1] if self.scheme.keys else np.zeros(len(stored), np.int64)
        return Candidates(
            found.documents,
            found.stored.urls,
            np.array([url == document.urls[0] for url in found.stored.urls], bool),
            flags(stored) & WEAK != 0,
            stored["time"],
            found.pending,
            self.judge(record, stored, exact, shared),
            record,
            stored,
            found.shared,
        )

    def explain(self, record: Any, stored: NDArray[Any], shared: Sequence[int]) -> dict[str, Any]:
        """Return how a document was judged by one stored one, by the names that docs/scrapy.md has.

        *record* is that of the document, *stored* (one row) that of the other. *shared* is how many keys they share of
        each of `lookups`.
        """
        found_by = [name for name, keys in zip(self.steps, shared, strict=True) if keys]
        told: dict[str, Any] = {"step": found_by[0], "found_by": found_by}
        if found_by[0] == "digest" or not self.verified:
            return told
        estimates = similarity(record["sketch"], record["shingles"], stored["sketch"], stored["shingles"])
        evidence = _evidence(record, stored, *estimates)
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

    def decide(
        self,
        candidates: Candidates,
        renewed: float = -np.inf,
        *,
        has_items: bool = False,
        preference: Preference | None = None,
    ) -> Decision:
        """Decide what a document is to its *candidates*.

        A match under its own URL is a revisit, never a duplicate. What is stored of its very page stays as long as
        its text does, unless it was stored before *renewed* (seconds since 1970) and so will soon expire. A document
        that *has_items* repeats none whose page has stored no item: it takes the place of those. A near-duplicate by
        *preference* takes the place of what it repeats, where `_outdone` allows it.
        """
        judgement, own, weak = candidates.judgement, candidates.own, candidates.weak
        outdone = judgement.near & weak & ~own & has_items
        near = judgement.near & ~outdone
        kind, row = _strongest(candidates, near)
        with_its_text = judgement.text_only & ~own
        others = int(with_its_text.sum())
        # Of a text that is the site's, short lines of its own still make a page that can be repeated.
        telling = with_its_text & _same_lines(candidates) if kind == "near" else with_its_text
        if telling.sum() >= BOILERPLATE and kind != "revisit":
            kind, row = "boilerplate", candidates.best(with_its_text)
        if row is not None and kind == "near":
            if preference is not None and (better := _outdone(candidates, near, preference)) is not None:
                among, replaced = better
                return Decision(
                    "preferred",
                    candidates.best(among),
                    filed=True,
                    replaces=candidates.documents[own | outdone | replaced].tolist(),
                    known_weak=bool((among & ~weak).any()),
                )
            return Decision("exact" if judgement.exact[row] else "near", row)
        same = own & judgement.exact & (candidates.time > renewed)
        return Decision(
            kind,
            row,
            # One that has stored no item may now.
            filed=not (same & ~weak).any(),
            replaces=candidates.documents[own | outdone].tolist(),
            of_template=bool((judgement.template & ~own).any()) or others > 0,
            keyed=0 < others < KEYED and not near.any(),
            known_weak=bool(same.any()),
            unchanged=kind == "revisit" and bool(judgement.exact[row] and judgement.near[row]),
        )


def _strongest(candidates: Candidates, near: NDArray[np.bool_]) -> tuple[Kind, int | None]:
    """Return the kind of the match that counts most, and its row, of candidates some of which are *near* (bool[n])."""
    own, judgement = candidates.own, candidates.judgement
    kinds: tuple[tuple[Kind, NDArray[np.bool_]], ...] = (
        ("revisit", near & own),
        ("near", near),
        ("revisit", own),
        ("template", judgement.template),
        ("fuller", judgement.fuller),
    )
    for kind, among in kinds:
        row = candidates.best(among)
        if row is not None:
            return kind, row
    return "unique", None


def _same_lines(candidates: Candidates) -> NDArray[np.bool_]:
    """Tell which candidates have the figures and words of the new one in their short lines: bool[n]."""
    fields = ("figures", "words")
    same = [(candidates.stored[field] == candidates.record[field]).all(axis=-1) for field in fields]
    return np.asarray(same[0] & same[1])


def _outdone(
    candidates: Candidates, near: NDArray[np.bool_], preference: Preference
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which of the *near* ones the new one is better than, and whose place it takes; None if it is not better.

    A longer page takes the place of pages of its own site only, and stands beside those of others: else a site could
    put its longer copy in the place of another's page, whose next visit would then repeat that copy.
    """
    settled = np.array([pending is None for pending in candidates.pending], bool)
    named_by = preference.is_named_by
    if named_by is not None:
        among = near & settled & np.array([named_by(url) for url in candidates.urls], bool)
        if among.any():
            return among, among
    record, stored = candidates.record, candidates.stored
    longer = record["shingles"] >= preference.length * np.maximum(stored["shingles"], 1)
    if (near & ~(longer & settled)).any():
        return None
    return near, near & (stored["site"] == record["site"]) & (record["site"] != UNKNOWN)


def _evidence(
    new: NDArray[Any], stored: NDArray[Any], jaccard: NDArray[np.float32], containment: NDArray[np.float32]
) -> Evidence:
    """Return what is known of pairs of documents, for rules.py."""
    missing, numbers = NUMBERS.substituted(new["numbers"], stored["numbers"])
    title, titled = TITLE.substituted(new["title"], stored["title"])
    figures, figured = FIGURES.substituted(new["figures"], stored["figures"])
    words, worded = WORDS.substituted(new["words"], stored["words"])
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
        varied=varied(new["tokens"], new["shingles"]) & varied(stored["tokens"], stored["shingles"]),
        one_site=known & same,
        two_sites=known & ~same,
        title=title,
        titled=titled,
        values=figures / WEIGHT + words,
        valued=figured / WEIGHT + worded,
    )

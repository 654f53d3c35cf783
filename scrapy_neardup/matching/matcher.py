"""The one matcher: it compares a document with those that it may repeat, and decides what it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprint import Scheme
from scrapy_neardup.fingerprint.schemes import Pairs
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.fingerprint.values import BITS_OF_WORD, FEW, compare
from scrapy_neardup.index.protocol import Documents, Found, Lookup
from scrapy_neardup.options import DetectionOptions
from scrapy_neardup.verdict import Kind, Repeated

from .records import DIGEST, EQUAL_ONLY, HIDDEN, OWN, URL
from .rules import LEAST_CONTAINED, Evidence, Figures, Findings, beyond_chance, verify
from .sites import TOLD, UNKNOWN, may_be_one

#: In a crawl each lookup finds at most so many documents (of 19,777 press releases none met more than 72),
#: and compares at most about so many stored fingerprints, which takes some milliseconds.
NEAREST, COMPARED = 256, 1 << 20
#: A text that so many stored pages of a site have under other titles is not what they are about. A page
#: whose short lines are theirs, too, says nothing that could be repeated, even if another page has its title.
BOILERPLATE = 2
#: The first so many pages of such a text are found by their keys: some of them may have other short lines.
KEYED = 2 * BOILERPLATE


class Judgement(NamedTuple):
    """How n pairs of documents compare, a new one and a stored one each: arrays of n."""

    #: Whether their normalised texts are equal: bool.
    exact: NDArray[np.bool_]
    #: Whether they are near-duplicates, as exact ones are, too: bool.
    near: NDArray[np.bool_]
    #: What else they may be, see `Findings`: bool. Of `text_only` the stored one may be of a template.
    fuller: NDArray[np.bool_]
    template: NDArray[np.bool_]
    text_only: NDArray[np.bool_]
    #: Bits in which the fingerprints differ: uint8.
    distance: NDArray[np.uint8]
    #: Estimated Jaccard similarity, and share of the shorter text that is in the longer: float32.
    similarity: NDArray[np.float32]
    containment: NDArray[np.float32]


class Candidates(NamedTuple):
    """The stored documents that may decide what a new one is: n of them."""

    found: Found
    judgement: Judgement
    #: Whether each is filed under the URL of the new one: bool[n].
    own: NDArray[np.bool_]
    #: The record of the new one.
    record: Any

    def best(self, among: NDArray[np.bool_]) -> int | None:
        """Return the row of the best of *among* (bool[n]), None if there is none.

        Exact ones come first; then those that are not pending, the most similar, the closest, the oldest.
        """
        found, judgement, rows = self.found, self.judgement, among.nonzero()[0].tolist()
        if len(rows) < 2:
            return rows[0] if rows else None
        return min(
            rows,
            key=lambda row: (
                not judgement.exact[row],
                found.pending[row] is not None,
                -judgement.similarity[row],
                judgement.distance[row],
                found.stored.records["time"][row],
                found.stored.urls[row],
            ),
        )

    def repeated(self, best: int) -> list[Repeated]:
        """Return the documents that the new one repeats, the *best* row first, those in progress by age."""
        found, judgement, site = self.found, self.judgement, int(self.record["site"])
        by_age = np.argsort(np.abs(found.documents))  # negative numbers descend
        near = [row for row in by_age.tolist() if judgement.near[row] and row != best]
        return [
            Repeated(
                found.stored.urls[row],
                found.stored.notes[row],
                own := int(found.stored.records["site"][row]),
                one_site=may_be_one(own, site),
                exact=bool(judgement.exact[row]),
                pending=found.pending[row],
            )
            for row in (best, *near)
        ]

    def of_two_sites(self, row: int) -> bool:
        """Whether the new document is of a known site or template, and the one in *row* is not of that."""
        return bool(UNKNOWN != self.record["site"] != self.found.stored.records["site"][row])

    @property
    def same_lines(self) -> NDArray[np.bool_]:
        """Which of them have in their short lines the figures and words that the new one has: bool[n]."""
        lines = ["figures", "words"]
        return np.asarray(self.found.stored.records[lines] == self.record[lines])


@dataclass(frozen=True)
class Matcher:
    """Compares documents: the *scheme* says which are candidates, which the rules judge if *verified*."""

    scheme: Scheme
    verified: bool = DetectionOptions.verified

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """How a document is looked up in a crawl: by digest, URL and keys of the scheme, each bounded."""
        lookups = [Lookup(DIGEST), Lookup(URL)]
        if self.scheme.simhash:
            lookups.append(Lookup(OWN, self.scheme.distance))
        if self.scheme.keys:
            lookups.append(Lookup(OWN + bool(self.scheme.simhash), most=self.scheme.most))
        return tuple(lookup._replace(nearest=NEAREST, compared=COMPARED) for lookup in lookups)

    def judge(
        self, new: NDArray[Any], stored: NDArray[Any], exact: NDArray[np.bool_], shared: NDArray[np.integer]
    ) -> Judgement:
        """Compare documents pair by pair by their records: [n], or [] for one document in all pairs.

        *exact* (bool[n]): which pairs have equal texts; *shared* (int[n]): how many keys each has in common.
        """
        one_site = (new["site"] == stored["site"]) & (new["site"] >= TOLD)  # no page says that of itself
        visible = (stored["flags"] & HIDDEN == 0) | one_site  # hidden text has no copies on other sites
        exact = exact & visible
        distance = np.bitwise_count(new["fingerprint"] ^ stored["fingerprint"])
        estimates = similarity(new["sketch"], new["shingles"], stored["sketch"], stored["shingles"])
        agrees = self.scheme.agrees(Pairs(distance, shared, new, stored)) & visible & ~exact
        candidate = agrees & (stored["flags"] & EQUAL_ONLY == 0)
        found = Findings(candidate & (not self.verified), *[np.zeros_like(candidate)] * 3)
        if self.verified and (agrees & (estimates[1] >= LEAST_CONTAINED)).any():
            found = verify(_evidence(new, stored, *estimates))
        return Judgement(
            exact,
            exact | (candidate & found.near),
            candidate & found.fuller,
            candidate & found.template,
            agrees & found.text_only,
            np.where(exact, 0, distance),
            *(np.where(exact, np.float32(1), each) for each in estimates[:2]),
        )

    def candidates(self, document: Documents, found: Found, oldest: float = 0) -> Candidates:
        """Compare *document* (one row) with the documents of its scope that its `lookups` have *found*.

        What was stored before *oldest* (seconds since 1970) is left out.
        """
        record, records = document.records[0, ...], found.stored.records
        counts = (records["time"] >= oldest) & (records["scope"] == record["scope"])
        if not counts.all():
            found = found.take(np.flatnonzero(counts))
        stored = found.stored.records
        # Half of the digest is the key that was looked up, the other half is in the record.
        exact = (found.shared[0] > 0) & (stored["digest"] == record["digest"])
        shared = found.shared[-1] if self.scheme.keys else np.zeros(len(stored), np.int64)
        own = np.array([url == document.urls[0] for url in found.stored.urls], bool)
        return Candidates(found, self.judge(record, stored, exact, shared), own, record)

    def explain(self, record: Any, stored: NDArray[Any], shared: Sequence[int]) -> dict[str, Any]:
        """Return the figures and rules by which the document of *record* was compared with a *stored* one.

        *shared* says how many keys they have in common by each of `lookups`. docs/scrapy.md has the names.
        """
        further = (("fingerprint", self.scheme.simhash), ("keys", self.scheme.keys))
        steps = ("digest", "url", *(name for name, given in further if given))
        found_by = [name for name, keys in zip(steps, shared, strict=True) if keys]
        told: dict[str, Any] = {"step": found_by[0], "found_by": found_by}
        if found_by[0] == "digest" or not self.verified:
            return told
        estimates = similarity(record["sketch"], record["shingles"], stored["sketch"], stored["shingles"])
        evidence = _evidence(record, stored, *estimates)
        figures = evidence._asdict()
        verify(evidence, figures)
        return told | {name: np.ravel(value)[0].item() for name, value in figures.items()}


def _evidence(new: Any, stored: Any, jaccard: Figures, containment: Figures, added: Figures) -> Evidence:
    """Return what the rules ask about pairs of records, as `Matcher.judge` takes them."""
    numbers, figures, words = compare(new, stored)
    titles = new["title"], stored["title"]
    said, unsaid = ((one & ~other).any(axis=-1) for one, other in (titles, titles[::-1]))
    bits = [np.bitwise_count(title).sum(axis=-1, dtype=np.int64) for title in titles]
    known = (new["site"] >= TOLD) & (stored["site"] >= TOLD)
    one_site = (new["site"] == stored["site"]) & (new["site"] != UNKNOWN)
    runs, shingles = ([np.maximum(each[name], 1) for each in (new, stored)] for name in ("runs", "shingles"))
    length = shingles[0] / shingles[1]
    shorter = np.minimum(new["tokens"], stored["tokens"])
    longer = np.maximum(new["tokens"] - shorter, np.where(shorter <= FEW, 0, words.added))
    return Evidence(
        jaccard,
        containment,
        shorter,
        known=containment * np.minimum(1 / length, 1),
        length=length,
        added=np.maximum(added / runs[0] * new["tokens"], longer),
        varied=beyond_chance(runs, shingles, jaccard),
        one_site=one_site,
        two_sites=known & ~one_site,
        substituted=np.ceil(numbers.substituted),
        numbers=numbers.fewer,
        titled=-(-np.minimum(*bits) // BITS_OF_WORD),
        title=said & unsaid,
        retitled=said | unsaid,
        values=figures.substituted + words.substituted,
    )


class Decision(NamedTuple):
    """What a new document is to those that are stored, and how it is to be filed."""

    kind: Kind
    #: The row of the candidate that has decided it; None if none has.
    row: int | None = None
    #: Whether the document is to be filed, and the numbers of those whose place it takes then.
    filed: bool = False
    replaces: Sequence[int] = ()
    #: Whether only equal texts shall repeat it; and if so, whether it has keys of its text nevertheless.
    equal_only: bool = False
    keyed: bool = False
    #: Whether it is a revisit, and its text is the stored one.
    unchanged: bool = False


def decide(
    candidates: Candidates,
    renewed: float = -np.inf,
    *,
    beside: Collection[tuple[str, bytes]] = (),
    named_by: Callable[[str, bytes], bool] = lambda url, note: False,
    is_boilerplate: Callable[[int], bool] = lambda row: False,
    is_wall: Callable[[int], bool] = lambda row: False,
) -> Decision:
    """Decide what a document is to its *candidates*.

    A match under the document's own URL is a revisit, never a duplicate. The stored document of that URL
    stays as long as the text does, unless it was stored before *renewed* (seconds since 1970) and so will
    soon expire. If a bound has left candidates out, only equal texts repeat each other.

    It repeats none of the settled pages whose URLs and notes are *beside* it: its items differ from theirs.
    *named_by* tells of URL and note of a page whether that names this one as its canonical version: then it
    takes the place of what it repeats. Of the row of a near-duplicate *is_boilerplate* tells whether what the
    document shares with it is of the document's own site, and *is_wall* whether their text is a wall.
    """
    found, judgement, own = candidates.found, candidates.judgement, candidates.own
    settled = np.array([pending is None for pending in found.pending], bool)
    pages = [*zip(found.stored.urls, found.stored.notes, strict=True)]
    apart = settled & np.array([page in beside for page in pages], bool)
    near = judgement.near & ~apart
    if found.crowded or found.narrowed:
        # A candidate that was left out might show this to be a page of its own, with a text of boilerplate.
        near &= own | judgement.exact
    kind, row = _strongest(candidates, near)
    with_its_text = judgement.text_only & ~own
    same_text = int(with_its_text.sum())
    # A page whose text is boilerplate can still be repeated if its short lines are its own.
    telling = with_its_text & candidates.same_lines if same_text and kind == "near" else with_its_text
    if telling.sum() >= BOILERPLATE and kind != "revisit":
        kind, row = "boilerplate", candidates.best(with_its_text)
    boilerplate = kind == "near" and row is not None and not judgement.exact[row] and is_boilerplate(row)
    if boilerplate:
        kind = "boilerplate"
    if row is not None and kind == "near":
        naming = near & settled & np.array([named_by(*page) for page in pages])
        if naming.any():
            replaces = found.documents[own | naming].tolist()
            return Decision("preferred", candidates.best(naming), filed=True, replaces=replaces)
        if is_wall(row):
            return Decision("wall", row)
        return Decision("exact" if judgement.exact[row] else "near", row)
    stored_since = found.stored.records["time"] > renewed
    equal_only = same_text > 0 or boilerplate or bool((judgement.template & ~own).any())
    return Decision(
        kind,
        row,
        filed=not (own & ~apart & judgement.exact & stored_since).any(),
        replaces=found.documents[own].tolist(),
        equal_only=equal_only and not apart.any(),
        keyed=0 < same_text < KEYED and not near.any(),
        unchanged=kind == "revisit" and bool(judgement.exact[row] and judgement.near[row]),
    )


def _strongest(candidates: Candidates, near: NDArray[np.bool_]) -> tuple[Kind, int | None]:
    """Return the strongest relation of a document to a candidate, and the row of that candidate."""
    judgement, own = candidates.judgement, candidates.own
    kinds: tuple[tuple[Kind, NDArray[np.bool_]], ...] = (
        ("revisit", (near | judgement.fuller) & own),  # it may have grown
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

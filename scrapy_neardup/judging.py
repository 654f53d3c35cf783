"""What the detector says of a signed document: it asks the index, and files the document there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from . import clock
from .index.protocol import Filing
from .index.tables import NO_KEY
from .matching.counters import SiteCounter, TitleCounter
from .matching.decision import Decision, decide
from .matching.records import as_template, entries, filed_url
from .verdict import Repeated, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .fingerprint import Signature
    from .index import Index
    from .index.protocol import Documents, Found
    from .index.reservation import Reservation
    from .matching.matcher import Candidates, Matcher


class _Answer(NamedTuple):
    """What is said of a document, the candidates it has met, and whether its lookups have met a bound."""

    decision: Decision = Decision("unique", filed=True)
    candidates: Candidates | None = None
    bounded: bool = False


@dataclass
class Judge:
    """Judges documents by those of an index. Thread-safe."""

    index: Index
    matcher: Matcher
    #: Seconds after which a stored document no longer counts; 0 if it always does.
    window: float = 0
    #: Returns the time in seconds since 1970.
    clock: Callable[[], float] = time.time
    _sites: SiteCounter = field(default_factory=SiteCounter)
    _titles: TitleCounter = field(default_factory=TitleCounter)
    _pending: set[Reservation] = field(default_factory=set)

    def judge(
        self,
        signature: Signature,
        url: str,
        scope: str,
        *,
        reserve: bool,
        beside: Collection[tuple[str, bytes]] = (),
        keep_fragment: bool = False,
        named_by: Callable[[str], bool] | None = None,
    ) -> Verdict:
        """Judge a document. With *reserve*, one that is to be stored gets a pending place in the index.

        `Detector.reserve` says what the other arguments mean.
        """
        unfit = self.matcher.unfit(signature.tokens, signature.wall)
        if unfit is not None:
            told = {"step": "text", "tokens": signature.tokens, "tokens_asked": self.matcher.min_tokens}
            return Verdict(unfit, explain=lambda: told)
        now = clock.now(self.clock)
        # What was stored before counts no more, and what will soon be too old is filed anew when it is met.
        oldest, renewed = (now - self.window, now - self.window / 8) if self.window else (0, -math.inf)
        document = entries(
            [signature], [url], self.index.header, scope=scope, time=now, keep_fragments=keep_fragment
        )
        # What tells the document from others of its site: its title, or its short lines without one.
        title = signature.title if any(signature.title) else signature.figures + signature.words
        answer, reservation = _Answer(), None

        def filing(found: Found) -> Filing | None:
            nonlocal answer
            if not len(found.documents):  # most pages are new
                answer = _Answer(bounded=found.narrowed)
            else:
                candidates = self.matcher.candidates(document, found, oldest)
                of_the_site = partial(self._is_of_the_site, document, title, candidates)
                decision = decide(
                    candidates, renewed, beside=beside, named_by=named_by, is_of_the_site=of_the_site
                )
                answer = _Answer(decision, candidates, not candidates.complete)
            return self._filing(document, answer.decision, crowded=found.crowded)

        if reserve:
            reservation = self.index.reserve_if(document, self.matcher.lookups, filing)
            if reservation is not None:
                self._pending.add(reservation)
                reservation.add_done_callback(self._pending.discard)
            self._note(document, title, answer)
        else:
            filing(self.index.find(document, self.matcher.lookups))
        return self._verdict(answer, url, signature.tokens, reservation, count=reserve)

    def release_all(self) -> None:
        """Release the pending documents that this has reserved."""
        for reservation in list(self._pending):
            reservation.release()

    def _runs(self, document: Documents, candidates: Candidates, row: int) -> list[int]:
        """Return the runs of words by which *document* is found, as the candidate in *row* may be."""
        keys = self.matcher.scheme.keys
        if not keys:
            return [hash(candidates.urls[row])]  # nothing is known but that they are alike
        return [key for key in document.keys[-keys:, 0].tolist() if key != NO_KEY]

    def _is_of_the_site(self, document: Documents, title: bytes, candidates: Candidates, row: int) -> bool:
        """Tell whether what *document* shares with the candidate in *row* is known to be its own site's."""
        if not candidates.of_two_sites(row):
            return False
        runs = self._runs(document, candidates, row)
        shared = int(candidates.shared[-1, row]) if self.matcher.scheme.keys else 1
        return self._titles.is_of_the_site(int(candidates.record["site"]), runs, title, shared)

    def _note(self, document: Documents, title: bytes, answer: _Answer) -> None:
        """Count what has a text in common with another site's page."""
        decision, candidates, _ = answer
        if candidates is None or decision.row is None or decision.kind not in ("near", "boilerplate"):
            return
        if candidates.of_two_sites(decision.row):
            runs = self._runs(document, candidates, decision.row)
            self._titles.meets(int(candidates.record["site"]), runs, title)

    def _filing(self, document: Documents, decision: Decision, *, crowded: bool) -> Filing | None:
        """Return how *document* is filed after *decision*; None if it is not.

        A *crowded* one is like more documents than a lookup finds. It is filed as the pages of a template
        are: lookups would not find it among the others, and each would take longer.
        """
        if not decision.filed:
            return None
        if crowded or decision.of_template:
            document = as_template(document, self.matcher.scheme, keyed=decision.keyed and not crowded)
        return Filing(document, decision.replaces)

    def _verdict(
        self, answer: _Answer, url: str, tokens: int, reservation: Reservation | None, *, count: bool
    ) -> Verdict:
        """Return the verdict on the document at *url*, of so many *tokens*.

        With *count*, the site of a copy counts for the question whether the text is a wall.
        """
        decision, candidates, bounded = answer
        row = decision.row
        if candidates is None or row is None:
            return Verdict("unique", reservation=reservation, bounded=bounded)
        match = candidates.urls[row]
        is_copy = decision.kind in ("near", "exact")
        walled = is_copy and self._sites.meets(match, filed_url(url), tokens, count=count)
        record, stored = candidates.record.copy(), candidates.stored[row : row + 1].copy()
        return Verdict(
            kind="wall" if walled else decision.kind,
            url=match,
            distance=int(candidates.judgement.distance[row]),
            similarity=float(candidates.judgement.similarity[row]),
            reservation=reservation,
            pending=candidates.pending[row],
            unchanged=decision.unchanged,
            bounded=bounded,
            repeats=partial(_repeated, candidates, row),
            explain=partial(self.matcher.explain, record, stored, candidates.shared[:, row].tolist()),
        )


def _repeated(candidates: Candidates, best: int) -> list[Repeated]:
    """Return the stored documents that a document repeats, the *best* row first."""
    near, sites = candidates.judgement.near.tolist(), candidates.stored["site"].tolist()
    return [
        Repeated(
            candidates.urls[row],
            candidates.notes[row],
            sites[row],
            one_site=sites[row] == candidates.record["site"],
            exact=bool(candidates.judgement.exact[row]),
            pending=candidates.pending[row] is not None,
        )
        for row in (best, *(row for row in range(len(near)) if near[row] and row != best))
    ]

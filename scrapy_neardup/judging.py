"""What the detector says of a signed document: it asks the index, and files the document there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from . import clock
from .matching.inquiry import Answer, Inquiry
from .matching.records import entries, filed_url
from .matching.site_counter import SiteCounter
from .matching.title_counter import TitleCounter
from .verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from .fingerprint import Signature
    from .index import Index
    from .index.protocol import Filing, Found
    from .index.reservation import Reservation
    from .matching.decision import Preference
    from .matching.matcher import Matcher


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
        has_items: bool = False,
        keep_fragment: bool = False,
        preference: Preference | None = None,
    ) -> Verdict:
        """Judge a document. With *reserve*, one that is to be stored gets a pending place in the index.

        `Detector.reserve` says what the other arguments mean.
        """
        unfit = self.matcher.unfit(signature.tokens, signature.wall)
        if unfit is not None:
            return Verdict(unfit, explain=partial(_unfit, signature.tokens, self.matcher.min_tokens))
        now = clock.now(self.clock)
        document = entries(
            [signature], [url], self.index.header, scope=scope, time=now, keep_fragments=keep_fragment
        )
        inquiry = Inquiry(
            self.matcher,
            document,
            oldest=now - self.window if self.window else 0,
            renewed=now - self.window / 8 if self.window else -math.inf,
            has_items=has_items,
            preference=preference,
            is_of_the_site=partial(self._titles.is_of_the_site, copy=url, title=_title(signature)),
        )
        if not reserve:
            answer = inquiry.answer(self.index.find(document, self.matcher.lookups))
            return self._verdict(answer, url, signature.tokens, None, count=False)
        answer = Answer()

        def decide(found: Found) -> Filing | None:
            nonlocal answer
            answer = inquiry.answer(found)
            return inquiry.filing(answer.decision, crowded=found.crowded)

        reservation = self.index.reserve_if(document, self.matcher.lookups, decide)
        if reservation is not None:
            self._pending.add(reservation)
            reservation.add_done_callback(self._pending.discard)
        if answer.decision.kind == "near" and answer.candidates is not None:
            assert answer.decision.row is not None
            self._titles.meets(answer.candidates.urls[answer.decision.row], url, _title(signature))
        return self._verdict(answer, url, signature.tokens, reservation, count=True)

    def release_all(self) -> None:
        """Release the pending documents that this has reserved."""
        for reservation in list(self._pending):
            reservation.release()

    def _verdict(
        self, answer: Answer, url: str, tokens: int, reservation: Reservation | None, *, count: bool
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
        return Verdict(
            kind="wall" if walled else decision.kind,
            url=match,
            distance=int(candidates.judgement.distance[row]),
            similarity=float(candidates.judgement.similarity[row]),
            reservation=reservation,
            pending=candidates.pending[row],
            weak=bool(candidates.weak[row]),
            unchanged=decision.unchanged,
            bounded=bounded,
            explain=partial(
                self.matcher.explain,
                candidates.record.copy(),
                candidates.stored[row : row + 1].copy(),
                candidates.shared[:, row].tolist(),
            ),
        )


def _title(signature: Signature) -> bytes:
    """Return what tells the document from others of its site: its title, or its short lines without one."""
    return signature.title if any(signature.title) else signature.figures + signature.words


def _unfit(tokens: int, least: int) -> dict[str, Any]:
    return {"step": "text", "tokens": tokens, "tokens_asked": least}

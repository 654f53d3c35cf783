"""The detector: one document in, a verdict out. It asks the index, and `matching` decides."""

from __future__ import annotations

import math
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .arguments import require_number, require_path, require_type, require_whole
from .clock import SECONDS_PER_DAY, now
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, MainText, Signature, load_scheme
from .index import open_index
from .index.protocol import Filing
from .index.tables import NO_KEY
from .matching.counters import SiteCounter, TitleCounter
from .matching.decision import Decision, decide
from .matching.matcher import Matcher
from .matching.records import (
    as_template,
    entries,
    filed_url,
    find_urls,
    fingerprinter_of,
    header_for,
    scheme_of,
)
from .options import DetectionOptions
from .verdict import Repeated, Verdict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

    from typing_extensions import Self

    from .index import Index
    from .index.protocol import Documents, Found
    from .index.reservation import Reservation
    from .matching.matcher import Candidates


class _Answer(NamedTuple):
    """What is said of a document, the candidates it has met, and whether its lookups have met a bound."""

    decision: Decision = Decision("unique", filed=True)
    candidates: Candidates | None = None
    bounded: bool = False


class Detector:
    """Says of each document whether it is new, and remembers it.

    Thread-safe. Detectors of one process that open the same path share the index, and see each other's
    pending documents.

    >>> with Detector.open() as detector:
    ...     text = " ".join(f"word{n}" for n in range(100))
    ...     detector.add(text, url="https://a.example/1").kind
    ...     detector.add(text.upper(), url="https://b.example/2").kind
    'unique'
    'exact'
    """

    def __init__(
        self,
        index: Index,
        *,
        distance: int = DetectionOptions.distance,
        threshold: float = DetectionOptions.threshold,
        verified: bool = DetectionOptions.verified,
        min_tokens: int = DetectionOptions.min_tokens,
        window: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        _require_limits(min_tokens, window)
        self.index = index
        scheme = scheme_of(index.header, distance=distance, threshold=threshold)
        self.matcher = Matcher(scheme, verified, min_tokens)
        self.min_tokens = min_tokens
        self.window = window
        self.fingerprinter = fingerprinter_of(index.header, self.matcher.scheme)
        # To read the list of public suffixes takes too long for an event loop. If a package is missing, this
        # shows here and not with the first page.
        entries([self.signature("a")], ["https://example.com/"], index.header, scope="any")
        self._clock = clock
        self._sites, self._titles = SiteCounter(), TitleCounter()
        self._pending: set[Reservation] = set()
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        scheme: str = DetectionOptions.scheme,
        distance: int = DetectionOptions.distance,
        tables: int = DetectionOptions.tables,
        threshold: float = DetectionOptions.threshold,
        verified: bool = DetectionOptions.verified,
        min_tokens: int = DetectionOptions.min_tokens,
        window: float | None = None,
        features: Features | None = None,
        extractor: str = "",
        reset: bool = False,
    ) -> Self:
        """Open the index in directory *path*, or with None one that vanishes with the process.

        *scheme*, *distance* (in bits), *tables* and *threshold* say which stored documents are candidates,
        see `load_scheme`. Candidates have to be much alike, too, unless *verified* is off. Documents that are
        older than *window* (days) no longer count.

        If *features* and *extractor* (name and version of what made the texts) are given, the index must have
        been made with the same ones, but for the version. *reset* empties the index first. Raises
        `ConfigurationError`, `IndexUnavailable`, `IndexCorrupted`, `IndexMismatch`.
        """
        if path is not None:
            require_path(path)
        require_type("extractor", extractor, str, "a name, a str")
        if features is not None:
            require_type("features", features, Features, "a Features")
        require_type("reset", reset, bool, "True or False")
        _require_limits(min_tokens, window)
        options = load_scheme(scheme, tables=tables, distance=distance, threshold=threshold)
        # Made first, so that features that cannot work leave no index behind.
        fingerprinter = Fingerprinter(features or Features(), secrets.randbits(32), options)
        wanted = header_for(fingerprinter, extractor)
        index = open_index(
            path,
            wanted,
            ignore=("features",) if features is None else (),
            window=(window or 0) * SECONDS_PER_DAY,
            reset=reset,
        )
        try:
            return cls(
                index,
                distance=distance,
                threshold=threshold,
                verified=verified,
                min_tokens=min_tokens,
                window=window,
            )
        except BaseException:
            index.close()
            raise

    def signature(self, text: str | MainText) -> Signature:
        """Fingerprint *text* with the features and seed of the index."""
        return self.fingerprinter.signature(text)

    def check(self, document: str | MainText | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document without storing it."""
        return self._judge(document, url, scope, reserve=False)

    def reserve(
        self,
        document: str | MainText | Signature,
        url: str,
        *,
        scope: str = "",
        beside: Collection[tuple[str, bytes]] = (),
        keep_fragment: bool = False,
        named_by: Callable[[str], bool] | None = None,
    ) -> Verdict:
        """Judge a document; one that is to be stored gets a pending place, see `Verdict.reservation`.

        Such documents are unique ones, for example, and revisits whose text has changed. A pending document
        is found by others at once; the `Verdict.pending` of those that match it is its handle.

        It is stored *beside* the documents with these URLs and notes although it may repeat them: the items
        of their pages differ. With *keep_fragment* the fragment is part of the URL. A near-duplicate of a
        page is ``preferred`` if *named_by* says of its URL that it names this one as its better version.
        """
        return self._judge(
            document, url, scope, reserve=True, beside=beside, keep_fragment=keep_fragment, named_by=named_by
        )

    def add(self, document: str | MainText | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document and store it if it is to be stored."""
        verdict = self.reserve(document, url, scope=scope)
        if verdict.reservation is not None:
            verdict.reservation.confirm()
        return verdict

    def forget(self, url: str) -> int:
        """Remove what is stored under *url*; return how many documents that were."""
        require_type("A URL", url, str, "text, a str")
        documents, _ = find_urls(self.index, [url])
        self.index.discard(documents)
        return len(documents)

    def flush(self) -> None:
        """Wait until all that was confirmed is on disk. Raises `IndexUnavailable` if it cannot be."""
        self.index.flush()

    def gauges(self) -> dict[str, int]:
        """Return numbers on the size and health of the index."""
        return self.index.gauges()

    def close(self) -> None:
        """Release what is pending, write what is confirmed, and leave the index. Raises as `flush` does."""
        for reservation in list(self._pending):
            reservation.release()
        if not self._closed:  # the index counts its users
            self._closed = True
            self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _judge(
        self,
        document: str | MainText | Signature,
        url: str,
        scope: str,
        *,
        reserve: bool,
        keep_fragment: bool = False,
        **how: Any,
    ) -> Verdict:
        """Judge a document, and with *reserve* keep a place for it; *how* is for `decide`."""
        require_type("A URL", url, str, "text, a str")
        require_type("A scope", scope, str, "text, a str")
        if not isinstance(document, Signature):
            wanted = "its main text, a str or MainText, or a Signature"
            require_type("A document", document, (str, MainText), wanted)
            document = self.signature(document)
        signature, time_ = document, now(self._clock)
        if signature.tokens < self.min_tokens:
            told = {"step": "text", "tokens": signature.tokens, "tokens_asked": self.min_tokens}
            return Verdict("too_short", explain=lambda: told)
        # What was stored before counts no more, and what will soon be too old is filed anew when it is met.
        window = (self.window or 0) * SECONDS_PER_DAY
        oldest, renewed = (time_ - window, time_ - window / 8) if window else (0, -math.inf)
        entry = entries(
            [signature], [url], self.index.header, scope=scope, time=time_, keep_fragments=keep_fragment
        )
        answer, reservation = _Answer(), None

        def filing(found: Found) -> Filing | None:
            nonlocal answer
            if not len(found.documents):  # most pages are new
                answer = _Answer(bounded=found.narrowed)
            else:
                candidates = self.matcher.candidates(entry, found, oldest)
                known = partial(self._is_of_the_site, signature, entry, candidates)
                decision = decide(candidates, renewed, is_of_the_site=known, **how)
                answer = _Answer(decision, candidates, not candidates.complete)
            decision, kept = answer.decision, entry
            if not decision.filed:
                return None
            if found.crowded or decision.of_template:
                # Of a crowd of like documents no lookup would find this one, and each would take longer.
                kept = as_template(entry, self.matcher.scheme, keyed=decision.keyed and not found.crowded)
            return Filing(kept, decision.replaces)

        if reserve:
            reservation = self.index.reserve_if(entry, self.matcher.lookups, filing)
            if reservation is not None:
                self._pending.add(reservation)
                reservation.add_done_callback(self._pending.discard)
        else:
            filing(self.index.find(entry, self.matcher.lookups))
        return self._verdict(
            signature, entry, answer, reservation, count=reserve, told_apart=bool(how.get("beside"))
        )

    def _is_of_the_site(
        self, signature: Signature, entry: Documents, candidates: Candidates, row: int
    ) -> bool:
        """Tell whether what a document shares with the candidate in *row* is known to be its own site's."""
        shared = int(candidates.found.shared[-1, row]) if self.matcher.scheme.keys else 1
        return candidates.of_two_sites(row) and self._titles.is_of_the_site(
            *self._met(signature, entry, candidates, row), shared
        )

    def _met(
        self, signature: Signature, entry: Documents, candidates: Candidates, row: int
    ) -> tuple[int, list[int], bytes]:
        """Return what `TitleCounter` counts: the site of a document, runs of its words, and its title."""
        # Without a title its short lines tell it from others of its site.
        title = signature.title if any(signature.title) else signature.figures + signature.words
        keys = self.matcher.scheme.keys
        if keys:
            runs = [key for key in entry.keys[-keys:, 0].tolist() if key != NO_KEY]
        else:
            runs = [hash(candidates.found.stored.urls[row])]  # nothing is known but that they are alike
        return int(candidates.record["site"]), runs, title

    def _verdict(
        self,
        signature: Signature,
        entry: Documents,
        answer: _Answer,
        reservation: Reservation | None,
        *,
        count: bool,
        told_apart: bool,
    ) -> Verdict:
        """Return the verdict; with *count* `SiteCounter` and `TitleCounter` count the document.

        What is *told_apart* from stored documents by its items is no wall, whoever has its text.
        """
        decision, candidates, bounded = answer
        row = decision.row
        if candidates is None or row is None:
            return Verdict("unique", reservation=reservation, bounded=bounded)
        if count and decision.kind in ("near", "boilerplate") and candidates.of_two_sites(row):
            self._titles.meets(*self._met(signature, entry, candidates, row))
        found, judgement = candidates.found, candidates.judgement
        match = found.stored.urls[row]
        walled = not told_apart and decision.kind in ("near", "exact")
        walled = walled and (
            self._sites.meets(match, filed_url(entry.urls[0]), signature.tokens, count=count)
            or signature.wall
        )
        record, stored = candidates.record.copy(), found.stored.records[row : row + 1].copy()
        return Verdict(
            kind="wall" if walled else decision.kind,
            url=match,
            distance=int(judgement.distance[row]),
            similarity=float(judgement.similarity[row]),
            reservation=reservation,
            pending=found.pending[row],
            unchanged=decision.unchanged,
            bounded=bounded,
            repeats=None if signature.wall else partial(_repeated, candidates, row),
            explain=partial(self.matcher.explain, record, stored, found.shared[:, row].tolist()),
        )


def _require_limits(min_tokens: int, window: float | None) -> None:
    require_whole("min_tokens", min_tokens, 0)
    if window is not None:
        require_number("window", window)
        if window <= 0:
            raise ConfigurationError(f"window is {window}: use days above 0.")


def _repeated(candidates: Candidates, best: int) -> list[Repeated]:
    """Return the stored documents that a document repeats, the *best* row first, those in progress by age."""
    found, judgement = candidates.found, candidates.judgement
    sites = found.stored.records["site"].tolist()
    by_age = np.argsort(np.abs(found.documents))  # negative numbers descend
    near = [row for row in by_age.tolist() if judgement.near[row] and row != best]
    return [
        Repeated(
            found.stored.urls[row],
            found.stored.notes[row],
            sites[row],
            one_site=sites[row] == candidates.record["site"],
            exact=bool(judgement.exact[row]),
            pending=found.pending[row],
        )
        for row in (best, *near)
    ]

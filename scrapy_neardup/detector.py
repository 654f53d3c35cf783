"""The detector: one document in, a verdict out. It asks the index, and `matching` decides."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from .arguments import require_number, require_type, require_whole
from .clock import SECONDS_PER_DAY, now
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, MainText, Signature, load_scheme
from .index import Index, open_index
from .index.pending import Reservation
from .index.protocol import Documents, Filing, Found
from .index.tables import NO_KEY
from .matching.counters import SiteCounter, TitleCounter
from .matching.matcher import Candidates, Decision, Matcher, decide
from .matching.records import (
    entries,
    equal_only,
    filed_url,
    find_urls,
    fingerprinter_of,
    header_for,
    scheme_of,
)
from .matching.sites import site_key
from .options import DetectionOptions
from .verdict import Verdict

if TYPE_CHECKING:
    from typing_extensions import Self


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
        self.matcher = Matcher(scheme_of(index.header, distance=distance, threshold=threshold), verified)
        self.min_tokens = min_tokens
        self.window = window
        self.fingerprinter = fingerprinter_of(index.header, self.matcher.scheme)
        site_key("https://example.com/")  # reads the public suffixes, which would hold up an event loop
        self._clock = clock
        #: What was learned of texts that many sites, or many pages of one, have.
        self.sites, self.titles = SiteCounter(), TitleCounter()
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
        case = self._case(document, url, scope)
        if case.signature.tokens >= self.min_tokens:
            case.decide(self.index.find(case.entry, self.matcher.lookups))
        return case.verdict()

    def reserve(
        self,
        document: str | MainText | Signature,
        url: str,
        *,
        scope: str = "",
        beside: Collection[tuple[str, bytes]] = (),
        keep_fragment: bool = False,
        named_by: Callable[[str, bytes], bool] = lambda url, note: False,
    ) -> Verdict:
        """Judge a document; one that is to be stored gets a pending place, see `Verdict.reservation`.

        Such documents are unique ones, for example, and revisits whose text has changed. A pending document
        is found by others at once; the `Verdict.pending` of those that match it is its handle.

        A document repeats none of those whose URLs and notes are *beside* it: the items of their pages differ
        from its own. With *keep_fragment* the fragment is part of the URL. A near-duplicate is found
        ``preferred`` if *named_by* tells, by URL and note of a stored page, that this is its better version.
        """
        case = self._case(document, url, scope, keep_fragment=keep_fragment)
        case.counted, case.beside, case.named_by = True, beside, named_by
        if case.signature.tokens < self.min_tokens:
            return case.verdict()
        reservation = self.index.reserve_if(case.entry, self.matcher.lookups, case.decide)
        if reservation is not None:
            self._pending.add(reservation)
            reservation.add_done_callback(self._pending.discard)
        return case.verdict(reservation)

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

    def _case(
        self, document: str | MainText | Signature, url: str, scope: str, *, keep_fragment: bool = False
    ) -> _Case:
        require_type("A URL", url, str, "text, a str")
        require_type("A scope", scope, str, "text, a str")
        if not isinstance(document, Signature):
            wanted = "its main text, a str or MainText, or a Signature"
            require_type("A document", document, (str, MainText), wanted)
            document = self.signature(document)
        time_ = now(self._clock)
        entry = entries(
            [document], [url], self.index.header, scope=scope, time=time_, keep_fragments=keep_fragment
        )
        return _Case(self, document, entry, time_)


_UNIQUE = Decision("unique", filed=True)


@dataclass
class _Case:
    """A document on its way to a verdict, with the candidates that the index has found and the decision."""

    detector: Detector
    signature: Signature
    entry: Documents
    time: int
    #: Whether `SiteCounter` and `TitleCounter` count it. The next two are for `matcher.decide`.
    counted: bool = False
    beside: Collection[tuple[str, bytes]] = ()
    named_by: Callable[[str, bytes], bool] = lambda url, note: False
    decision: Decision = _UNIQUE
    candidates: Candidates | None = None
    #: Whether a lookup has met a bound, so that it was not compared with all it might repeat.
    bounded: bool = False

    def decide(self, found: Found) -> Filing | None:
        """Decide by what the lookups have *found*; return what is to be filed, if anything is."""
        matcher, window = self.detector.matcher, (self.detector.window or 0) * SECONDS_PER_DAY
        self.decision, self.candidates = _UNIQUE, None
        self.bounded = found.crowded or found.narrowed
        if len(found.documents):  # most pages are new
            # What was stored before counts no more, and what will soon be too old is filed anew.
            oldest, renewed = (self.time - window, self.time - window / 8) if window else (0, -math.inf)
            self.candidates = matcher.candidates(self.entry, found, oldest)
            self.decision = decide(
                self.candidates,
                renewed,
                beside=self.beside,
                named_by=self.named_by,
                is_boilerplate=self._is_boilerplate,
                is_wall=self._is_wall,
            )
        if not self.decision.filed:
            return None
        if not (found.crowded or self.decision.equal_only):
            return Filing(self.entry, self.decision.replaces)
        # In a crowd of similar documents no lookup would find this one, and each would take longer.
        keyed = self.decision.keyed and not found.crowded
        return Filing(equal_only(self.entry, matcher.scheme, keyed=keyed), self.decision.replaces)

    def _is_wall(self, row: int, *, count: bool = False) -> bool:
        # A page whose items tell it apart from the stored ones is no wall, however many have its text.
        if self.beside or self.candidates is None:
            return False
        stored, own = self.candidates.found.stored.urls[row], filed_url(self.entry.urls[0])
        meets = self.detector.sites.meets(stored, own, self.signature.tokens, count=count)
        return meets or self.signature.wall

    def _is_boilerplate(self, row: int) -> bool:
        """Tell whether what the document shares with that in *row* is known as boilerplate of its site."""
        assert self.candidates is not None
        keys = self.detector.matcher.scheme.keys
        shared = int(self.candidates.found.shared[-1, row]) if keys else 1
        return self.candidates.of_two_sites(row) and self.detector.titles.is_boilerplate(
            *self._counted_runs(self.candidates, row), shared
        )

    def _counted_runs(self, candidates: Candidates, row: int) -> tuple[int, list[int], bytes]:
        """Return what `TitleCounter` counts: the site of a document, runs of its words, and its title."""
        signature, keys = self.signature, self.detector.matcher.scheme.keys
        # Without a title its short lines tell it from others of its site.
        title = signature.title if any(signature.title) else signature.figures + signature.words
        if keys:
            runs = [key for key in self.entry.keys[-keys:, 0].tolist() if key != NO_KEY]
        else:
            runs = [hash(candidates.found.stored.urls[row])]  # nothing is known but that they are alike
        return int(candidates.record["site"]), runs, title

    def verdict(self, reservation: Reservation | None = None) -> Verdict:
        """Return the verdict on what was decided."""
        candidates, row = self.candidates, self.decision.row
        tokens, asked = self.signature.tokens, self.detector.min_tokens
        if tokens < asked:
            told = {"step": "text", "tokens": tokens, "tokens_asked": asked}
            return Verdict("too_short", explain=lambda: told)
        if candidates is None or row is None:
            return Verdict("unique", reservation=reservation, bounded=self.bounded)
        # Here and not in `decide`, which an index may ask again.
        if self.counted and self.decision.kind in ("near", "exact", "wall"):
            self._is_wall(row, count=True)
        if self.counted and self.decision.kind in ("near", "boilerplate") and candidates.of_two_sites(row):
            self.detector.titles.meets(*self._counted_runs(candidates, row))
        found, judgement = candidates.found, candidates.judgement
        stored, shared = found.stored.records[row : row + 1], found.shared[:, row].tolist()
        return Verdict(
            kind=self.decision.kind,
            url=found.stored.urls[row],
            distance=int(judgement.distance[row]),
            similarity=float(judgement.similarity[row]),
            reservation=reservation,
            pending=found.pending[row],
            unchanged=self.decision.unchanged,
            bounded=self.bounded,
            repeats=None if self.signature.wall else partial(candidates.repeated, row),
            explain=partial(self.detector.matcher.explain, candidates.record, stored, shared),
        )


def _require_limits(min_tokens: int, window: float | None) -> None:
    require_whole("min_tokens", min_tokens, 0)
    if window is not None:
        require_number("window", window)
        if window <= 0:
            raise ConfigurationError(f"window is {window}: use days above 0.")

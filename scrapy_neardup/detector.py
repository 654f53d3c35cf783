"""The heart: one document in, a verdict out. Exact hash, then candidates from the tables, then verification."""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from . import clock
from .arguments import require_number, require_path, require_type, require_whole
from .dependencies import dependencies_in_use
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, MainText, Signature, load_scheme
from .index import Header, open_index
from .index.protocol import Filing
from .matching.matcher import Candidates, Decision, Matcher
from .matching.records import (
    WEAK,
    as_template,
    entries,
    families,
    filed_url,
    find_urls,
    fingerprinter_of,
    record,
    scheme_of,
    with_flags,
)
from .matching.site_counter import SiteCounter
from .matching.sites import load_suffixes
from .options import DetectionOptions
from .verdict import Verdict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from .index import Documents, Index
    from .index.protocol import Found
    from .index.reservation import Reservation
    from .matching.matcher import Preference

SECONDS_PER_DAY = 86_400
#: Of each kind of token.
_SAMPLE = "Straße 17 東京 ข่าว"


class Detector:
    """Says of each document whether it is new, and remembers it.

    Thread-safe. Detectors of one process that open the same path share the index, and see each other's pending
    documents.

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
        with dependencies_in_use():
            load_suffixes()  # not on an event loop
            # The first takes 0.1 s more; and what lacks a part should not come to light with the first page.
            entries([self.signature(_SAMPLE)], ["https://example.com/"], index.header, scope="any")
        self._clock = clock
        self._site_counter = SiteCounter()
        self._reservations: set[Reservation] = set()
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

        *scheme*, *distance* (in bits), *tables* and *threshold* say what is a candidate, see `load_scheme`; unless
        *verified* is off, candidates have to be much alike, too. *window* is in days: older documents no longer
        count. *features* and *extractor* (name and version of what made the texts) are compared with those that the
        index was made with, unless left out. *reset* empties the index first. Raises `ConfigurationError`,
        `IndexUnavailable`, `IndexCorrupted`, `IndexMismatch`.
        """
        if path is not None:
            require_path(path)
        require_type("extractor", extractor, str, "a name, a str")
        if features is not None:
            require_type("features", features, Features, "a Features")
        if reset not in (True, False):
            raise ConfigurationError(f"reset is {reset!r}: use True or False.")
        _require_limits(min_tokens, window)
        options = load_scheme(scheme, tables=tables, distance=distance, threshold=threshold)
        # Features that cannot be used must not leave an index behind that is made for them.
        fingerprinter = Fingerprinter(features or Features(), secrets.randbits(32), options)
        wanted = Header(
            families=families(options),
            record=record(options),
            parameters={
                **options.parameters,
                "features": asdict(fingerprinter.features),
                "segmenter": fingerprinter.segmenter,
                "extractor": extractor,
            },
            seed=fingerprinter.seed,
        )
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
        """Judge a document, store nothing."""
        return self._judge(self._signed(document), url, scope, reserve=False)

    def reserve(
        self,
        document: str | MainText | Signature,
        url: str,
        *,
        scope: str = "",
        has_items: bool = False,
        keep_fragment: bool = False,
        preference: Preference | None = None,
    ) -> Verdict:
        """Judge a document; one that is to be stored gets a pending place, see `Verdict.reservation`.

        That is a unique one, and a revisit whose text has changed. Others match it at once; if they do, their
        `Verdict.pending` is its reservation. A document that *has_items* repeats none whose page has stored no item,
        see `Verdict.weak`: once confirmed, it takes the place of such ones. With *keep_fragment* the fragment is part
        of the URL. *preference* says which near-duplicates are ``preferred``.
        """
        return self._judge(
            self._signed(document),
            url,
            scope,
            reserve=True,
            has_items=has_items,
            keep_fragment=keep_fragment,
            preference=preference,
        )

    def add(self, document: str | MainText | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document and store it if it is to be stored."""
        verdict = self.reserve(document, url, scope=scope)
        if verdict.reservation is not None:
            verdict.reservation.confirm()
        return verdict

    def forget(self, url: str) -> int:
        """Remove what is stored under *url*; returns how many documents that were."""
        require_type("A URL", url, str, "text, a str")
        documents, _ = find_urls(self.index, [url])
        self.index.discard(documents)
        return len(documents)

    def flush(self) -> None:
        """Return once all that was confirmed is on disk. Raises `IndexUnavailable` if it cannot be written."""
        self.index.flush()

    def gauges(self) -> dict[str, int]:
        """Return numbers on the size and health of the index."""
        return self.index.gauges()

    def close(self) -> None:
        """Release what is pending, write what is confirmed, leave the index. Raises as `flush` does."""
        for reservation in list(self._reservations):
            reservation.release()
        if not self._closed:  # the index counts its users
            self._closed = True
            self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _signed(self, document: str | MainText | Signature) -> Signature:
        if isinstance(document, Signature):
            return document
        require_type(
            "A document", document, (str, MainText), "its main text, a str or MainText, or a Signature"
        )
        return self.signature(document)

    def _judge(
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
        require_type("A URL", url, str, "text, a str")
        require_type("A scope", scope, str, "text, a str")
        unfit = self.matcher.unfit(signature.tokens, signature.wall)
        if unfit is not None:
            return Verdict(unfit, explain=partial(_unfit, signature.tokens, self.min_tokens))
        now = clock.now(self._clock)
        window = (self.window or 0) * SECONDS_PER_DAY
        document = entries(
            [signature], [url], self.index.header, scope=scope, time=now, keep_fragments=keep_fragment
        )
        decision = Decision("unique", filed=True)
        candidates: Candidates | None = None

        def judge(found: Found) -> None:
            nonlocal decision, candidates
            decision, candidates = Decision("unique", filed=True), None
            if len(found.documents):  # not for most pages
                candidates = self.matcher.candidates(document, found, now - window if window else 0)
                decision = self.matcher.decide(
                    candidates,
                    now - window / 8 if window else -math.inf,
                    has_items=has_items,
                    preference=preference,
                )

        def decide(found: Found) -> Filing | None:
            judge(found)
            return self._filing(document, decision) if decision.filed else None

        reservation = None
        if reserve:
            reservation = self.index.reserve_if(document, self.matcher.lookups, decide)
        else:
            judge(self.index.find(document, self.matcher.lookups))
        if reservation is not None:
            self._reservations.add(reservation)
            reservation.add_done_callback(self._reservations.discard)
        return self._verdict(decision, candidates, url, signature.tokens, reservation, count=reserve)

    def _filing(self, document: Documents, decision: Decision) -> Filing:
        if decision.of_template:
            document = as_template(document, self.matcher.scheme, keyed=decision.keyed)
        # What is stored of a page without items stays if it has none again.
        weak = None if decision.known_weak else with_flags(document, WEAK)
        return Filing(document, decision.replaces, weak)

    def _verdict(
        self,
        decision: Decision,
        candidates: Candidates | None,
        url: str,
        tokens: int,
        reservation: Reservation | None,
        *,
        count: bool,
    ) -> Verdict:
        """Say what was decided; with *count*, the site of a copy is taken note of."""
        row = decision.row
        if candidates is None or row is None:
            return Verdict("unique", reservation=reservation)
        match = candidates.urls[row]
        is_copy = decision.kind in ("near", "exact")
        walled = is_copy and self._site_counter.meets(match, filed_url(url), tokens, count=count)
        return Verdict(
            kind="wall" if walled else decision.kind,
            url=match,
            distance=int(candidates.judgement.distance[row]),
            similarity=float(candidates.judgement.similarity[row]),
            reservation=reservation,
            pending=candidates.pending[row],
            weak=bool(candidates.weak[row]),
            unchanged=decision.unchanged,
            explain=partial(
                self.matcher.explain,
                candidates.record.copy(),
                candidates.stored[row : row + 1].copy(),
                candidates.shared[:, row].tolist(),
            ),
        )


def _unfit(tokens: int, least: int) -> dict[str, Any]:
    return {"step": "text", "tokens": tokens, "tokens_asked": least}


def _require_limits(min_tokens: int, window: float | None) -> None:
    require_whole("min_tokens", min_tokens, 0)
    if window is not None:
        require_number("window", window)
        if window <= 0:
            raise ConfigurationError(f"window is {window}: use days above 0.")

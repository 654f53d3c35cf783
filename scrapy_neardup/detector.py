"""The heart: one document in, a verdict out. Exact hash, then candidates from the tables, then verification."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from . import clock
from .arguments import require_number, require_path, require_type, require_whole
from .dependencies import dependencies_in_use
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, Signature, load_scheme
from .index import Documents, Header, open_index
from .index.reservation import Reservation
from .matching.candidates import (
    WEAK,
    Candidates,
    Rules,
    entries,
    families,
    file_as_template,
    find_candidates,
    find_urls,
    fingerprinter_of,
    flags,
    record,
    scheme_of,
)
from .matching.site_counter import Spread
from .matching.sites import load_suffixes
from .options import DetectionOptions
from .verdict import Verdict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .index import Index
    from .verdict import Kind

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
        self.rules = Rules(scheme_of(index.header, distance=distance, threshold=threshold), verified)
        self.min_tokens = min_tokens
        self.window = window
        self.fingerprinter = fingerprinter_of(index.header, self.rules.scheme)
        with dependencies_in_use():
            load_suffixes()  # not on an event loop
            # The first takes 0.1 s more; and what lacks a part should not come to light with the first page.
            entries([self.signature(_SAMPLE)], ["https://example.com/"], index.header, scope="any")
        self._clock = clock
        self._spread = Spread()
        self._reservations: dict[int, Reservation] = {}
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

    def signature(self, text: str) -> Signature:
        """Fingerprint *text* with the features and seed of the index."""
        return self.fingerprinter.signature(text)

    def check(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document, store nothing."""
        return self._judge(self._signed(document), url, scope, reserve=False)

    def reserve(
        self, document: str | Signature, url: str, *, scope: str = "", has_items: bool = False
    ) -> Verdict:
        """Judge a document; one that is to be stored gets a pending place, see `Verdict.reservation`.

        That is a unique one, and a revisit whose text has changed. Others match it at once; if they do, their
        `Verdict.pending` is its reservation. A document that *has_items* repeats none whose page has stored no item,
        see `Verdict.weak`: once confirmed, it takes the place of such ones.
        """
        return self._judge(self._signed(document), url, scope, reserve=True, has_items=has_items)

    def add(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document and store it if it is to be stored."""
        verdict = self.reserve(document, url, scope=scope)
        if verdict.reservation is not None:
            verdict.reservation.confirm()
        return verdict

    def forget(self, url: str) -> int:
        """Remove what is stored under *url*; returns how many documents that were."""
        require_type("A URL", url, str, "text, a str")
        with self.index.lock:
            documents = find_urls(self.index, [url])
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
        for reservation in list(self._reservations.values()):
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

    def _signed(self, document: str | Signature) -> Signature:
        if isinstance(document, Signature):
            return document
        require_type("A document", document, str, "its main text, a str, or a Signature")
        return self.signature(document)

    def _judge(
        self, signature: Signature, url: str, scope: str, *, reserve: bool, has_items: bool = False
    ) -> Verdict:
        require_type("A URL", url, str, "text, a str")
        require_type("A scope", scope, str, "text, a str")
        if signature.tokens < self.min_tokens:
            return Verdict("too_short")
        if signature.wall:
            return Verdict("wall")
        now = clock.now(self._clock)
        entry = entries([signature], [url], self.index.header, scope=scope, time=now)
        window = (self.window or 0) * SECONDS_PER_DAY
        with self.index.lock:
            found = find_candidates(self.index, entry, self.rules, now - window if window else 0)
            if found is None:
                reservation = self._reserve(entry, []) if reserve else None
                return Verdict("unique", reservation=reservation)
            outdone = found.judgement.near & found.weak & ~found.own & has_items
            verdict = self._decide(found, entry, outdone, count=reserve)
            # What is stored of this very page stays as long as its text does, and is renewed before it expires; but
            # if it has stored no item, it may now.
            same = found.own & found.judgement.exact
            if window:
                same &= found.time > now - window / 8
            if (
                reserve
                and verdict.kind in ("unique", "fuller", "revisit", "template")
                and not (same & ~found.weak).any()
            ):
                if (found.judgement.template & ~found.own).any():
                    file_as_template(entry, self.rules.scheme)
                replaced = found.documents[found.own | outdone].tolist()
                verdict = replace(
                    verdict, reservation=self._reserve(entry, replaced, known_weak=bool(same.any()))
                )
            return verdict

    def _decide(
        self, found: Candidates, entry: Documents, outdone: NDArray[np.bool_], *, count: bool
    ) -> Verdict:
        """Tell a revisit from a copy: a match with the same URL is never a duplicate; *outdone* (bool[n]) are none.

        With *count* the site of a copy is taken note of.
        """
        near, template = found.judgement.near & ~outdone, found.judgement.template
        kinds: tuple[tuple[Kind, NDArray[np.bool_]], ...] = (
            ("revisit", near & found.own),
            ("near", near),
            ("revisit", found.own),
            ("template", template),
            ("fuller", found.judgement.fuller),
        )
        for kind, among in kinds:
            row = found.best(among, self.index)
            if row is None:
                continue
            url, record = found.urls[row], entry.records[0]
            is_copy = kind == "near"
            walled = is_copy and self._spread.meets(url, entry.urls[0], int(record["tokens"]), count=count)
            equal = is_copy and bool(found.judgement.exact[row])
            return Verdict(
                kind="wall" if walled else "exact" if equal else kind,
                url=url,
                distance=int(found.judgement.distance[row]),
                similarity=float(found.judgement.similarity[row]),
                pending=self.index.holder(int(found.documents[row])),
                weak=bool(found.weak[row]),
            )
        return Verdict("unique")

    def _reserve(self, entry: Documents, replaced: list[int], *, known_weak: bool = False) -> Reservation:
        """Let a document in as pending, to take the place of those *replaced*.

        If its page is *known_weak* and turns out so again, what is stored of it stays.
        """

        def settle(confirmed: bool) -> None:
            self._reservations.pop(document, None)
            if confirmed and not reservation.weak:
                self.index.confirm(document, replaced)
                return
            with self.index.lock:
                self.index.release(document)
                if confirmed and not known_weak:
                    flags(entry.records)[:] |= WEAK
                    weak = self.index.reserve(entry.keys[:, 0], entry.records[0], url, None)
                    self.index.confirm(weak, replaced)

        url = entry.urls[0]
        reservation = Reservation(url, settle)
        document = self.index.reserve(entry.keys[:, 0], entry.records[0], url, reservation)
        self._reservations[document] = reservation
        return reservation


def _require_limits(min_tokens: int, window: float | None) -> None:
    require_whole("min_tokens", min_tokens, 0)
    if window is not None:
        require_number("window", window)
        if window <= 0:
            raise ConfigurationError(f"window is {window}: use days above 0.")

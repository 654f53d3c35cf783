"""The heart: one document in, a verdict out. Exact hash, then candidates from the tables, then verification."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import mmh3
import numpy as np

from .candidates import (
    FINGERPRINT,
    RECORD,
    URL,
    Candidates,
    Entry,
    filed_url,
    find_candidates,
    find_urls,
    url_keys,
)
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, Signature
from .index import Header, open_index
from .reservation import Reservation
from .tables import EQUAL, LAYOUTS, Family
from .verdict import Verdict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from .index import Index

SECONDS_PER_DAY = 86_400


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
        distance: int = 3,
        min_tokens: int = 50,
        window: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        tables = index.header.families[FINGERPRINT].tables
        if not 0 <= distance <= tables.max_distance:
            raise ConfigurationError(
                f"{len(tables)} tables find fingerprints within 0 to {tables.max_distance} bits, not {distance}: "
                "use a distance in that range."
            )
        self.index = index
        self.distance = distance
        self.min_tokens = min_tokens
        self.window = window
        self.fingerprinter = Fingerprinter(Features(**index.header.parameters["features"]), index.header.seed)
        self._clock = clock
        self._reservations: dict[int, Reservation] = {}
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        distance: int = 3,
        tables: int = 4,
        min_tokens: int = 50,
        window: float | None = None,
        features: Features | None = None,
        extractor: str = "",
        reset: bool = False,
    ) -> Self:
        """Open the index in directory *path*, or with None one that vanishes with the process.

        *distance* is in bits, *window* in days: older documents no longer count. *features* and *extractor* (name
        and version of what made the texts) are compared with those that the index was made with, unless left out.
        *reset* empties the index first. Raises `ConfigurationError`, `IndexUnavailable`, `IndexCorrupted`,
        `IndexMismatch`.
        """
        if tables not in LAYOUTS:
            raise ConfigurationError(f"There is no layout of {tables} tables: use one of {sorted(LAYOUTS)}.")
        wanted = Header(
            families=(Family(LAYOUTS[tables]), Family(EQUAL), Family(EQUAL)),
            record=RECORD,
            parameters={
                "scheme": "simhash",
                "features": asdict(features or Features()),
                "extractor": extractor,
            },
            seed=secrets.randbits(32),
        )
        index = open_index(
            path,
            wanted,
            ignore=("features",) if features is None else (),
            window=(window or 0) * SECONDS_PER_DAY,
            reset=reset,
        )
        try:
            return cls(index, distance=distance, min_tokens=min_tokens, window=window)
        except BaseException:
            index.close()
            raise

    def signature(self, text: str) -> Signature:
        """Fingerprint *text* with the features and seed of the index."""
        return self.fingerprinter.signature(text)

    def check(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document, store nothing."""
        return self._judge(self._signed(document), url, scope, reserve=False)

    def reserve(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document; one that is to be stored gets a pending place, see `Verdict.reservation`.

        That is a unique one, and a revisit whose text has changed. Others match it at once; if they do, their
        `Verdict.pending` is its reservation.
        """
        return self._judge(self._signed(document), url, scope, reserve=True)

    def add(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Judge a document and store it if it is to be stored."""
        verdict = self.reserve(document, url, scope=scope)
        if verdict.reservation is not None:
            verdict.reservation.confirm()
        return verdict

    def forget(self, url: str) -> int:
        """Remove what is stored under *url*; returns how many documents that were."""
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
        return document if isinstance(document, Signature) else self.signature(document)

    def _entry(self, signature: Signature, url: str, scope: str) -> Entry:
        keys = np.array([signature.fingerprint, int.from_bytes(signature.digest[:8], "little"), 0], np.uint64)
        keys[URL:] = url_keys([url], self.index.header.seed)
        record = np.zeros((), self.index.header.dtype)
        record["digest"] = int.from_bytes(signature.digest[8:], "little")
        record["scope"] = mmh3.hash64(scope, signed=False)[0] if scope else 0
        record["time"] = int(self._clock())
        record["tokens"] = signature.tokens
        record["shingles"] = signature.shingles
        record["sketch"] = np.frombuffer(signature.sketch, np.uint8)
        return Entry(keys, record, url)

    def _judge(self, signature: Signature, url: str, scope: str, *, reserve: bool) -> Verdict:
        if signature.tokens < self.min_tokens:
            return Verdict("too_short")
        entry = self._entry(signature, filed_url(url), scope)
        window = (self.window or 0) * SECONDS_PER_DAY
        now = int(entry.record["time"])
        with self.index.lock:
            found = find_candidates(
                self.index, signature, entry, self.distance, now - window if window else 0
            )
            if found is None:
                reservation = self._reserve(entry, []) if reserve else None
                return Verdict("unique", reservation=reservation)
            verdict = self._decide(found)
            # What is stored of this very page stays as long as its text does, and is renewed before it expires.
            same = found.own & found.exact
            if window:
                same &= found.time > now - window / 8
            if reserve and not verdict.is_duplicate and not same.any():
                verdict = replace(
                    verdict, reservation=self._reserve(entry, found.documents[found.own].tolist())
                )
            return verdict

    def _decide(self, found: Candidates) -> Verdict:
        """Tell a revisit from a copy: a match with the same URL is never a duplicate."""
        for kind, among in (
            ("revisit", found.near & found.own),
            ("duplicate", found.near),
            ("revisit", found.own),
        ):
            row = found.best(among, self.index)
            if row is not None:
                return Verdict(
                    kind="revisit" if kind == "revisit" else "exact" if found.exact[row] else "near",
                    url=found.urls[row],
                    distance=int(found.distance[row]),
                    similarity=float(found.similarity[row]),
                    pending=self.index.holder(int(found.documents[row])),
                )
        return Verdict("unique")

    def _reserve(self, entry: Entry, replaced: list[int]) -> Reservation:
        def settle(confirmed: bool) -> None:
            self._reservations.pop(document, None)
            if confirmed:
                self.index.confirm(document, replaced)
            else:
                self.index.release(document)

        reservation = Reservation(entry.url, settle)
        document = self.index.reserve(entry.keys, entry.record, entry.url, reservation)
        self._reservations[document] = reservation
        return reservation

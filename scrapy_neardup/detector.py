"""STUB of the interface, being implemented."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from .fingerprint import Features, Fingerprinter
    from .fingerprint.signature import Signature
    from .verdict import Verdict


class Detector:
    """Says of each document whether it is new, and remembers it."""

    fingerprinter: Fingerprinter

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        distance: int = 3,
        tables: int = 4,
        min_tokens: int = 50,
        window: float | None = None,  # days
        features: Features | None = None,
        extractor: str = "",  # identity "name version options"; compared with the index's header
        reset: bool = False,
    ) -> Self:
        """*path* None: a scratch index on disk that vanishes with the process. Raises errors of errors.py."""
        raise NotImplementedError

    def check(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Look, store nothing."""
        raise NotImplementedError

    def add(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Reserve and, if the verdict has a reservation, confirm it."""
        raise NotImplementedError

    def reserve(self, document: str | Signature, url: str, *, scope: str = "") -> Verdict:
        """Check; a unique document (or a revisit whose text changed) gets a pending place: verdict.reservation.

        Synchronous, well below a millisecond; thread-safe. If the match itself is pending: verdict.pending.
        """
        raise NotImplementedError

    def forget(self, url: str) -> int:
        """Remove what is stored under *url*; returns how many documents."""
        raise NotImplementedError

    def flush(self) -> None:
        """Block until all confirmed documents are on disk."""
        raise NotImplementedError

    def gauges(self) -> dict[str, int | float]:
        """documents, pending, bytes, commits, commit_errors, degraded (0/1) ... for stats."""
        raise NotImplementedError

    def close(self) -> None:
        """Flush and close; the index itself is shared in the process and closed with its last user."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

"""The detector: one document in, a verdict out.

It makes the signature of a text, and a `Judge` compares that with those of the index.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from .arguments import require_number, require_path, require_type, require_whole
from .clock import SECONDS_PER_DAY
from .dependencies import dependencies_in_use
from .errors import ConfigurationError
from .fingerprint import Features, Fingerprinter, MainText, Signature, load_scheme
from .index import open_index
from .judging import Judge
from .matching.matcher import Matcher
from .matching.records import entries, find_urls, fingerprinter_of, header_for, scheme_of
from .options import DetectionOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection
    from types import TracebackType

    from typing_extensions import Self

    from .index import Index
    from .verdict import Verdict

#: Has a token of each kind: a word, a number, a character of a script without spaces, a syllable.
_SAMPLE = "Straße 17 東京 ข่าว"


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
        with dependencies_in_use():
            # The first signature and the list of public suffixes take too long for an event loop. If a
            # package is missing, this shows here and not with the first page.
            entries([self.signature(_SAMPLE)], ["https://example.com/"], index.header, scope="any")
        self._judge = Judge(index, self.matcher, (window or 0) * SECONDS_PER_DAY, clock)
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
        signature = self._signed(document, url, scope)
        return self._judge.judge(signature, url, scope, reserve=False)

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
        signature = self._signed(document, url, scope)
        return self._judge.judge(
            signature,
            url,
            scope,
            reserve=True,
            beside=beside,
            keep_fragment=keep_fragment,
            named_by=named_by,
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
        """Wait until all that was confirmed is on disk.

        Raises `IndexUnavailable` if it cannot be written.
        """
        self.index.flush()

    def gauges(self) -> dict[str, int]:
        """Return numbers on the size and health of the index."""
        return self.index.gauges()

    def close(self) -> None:
        """Release what is pending, write what is confirmed, and leave the index. Raises as `flush` does."""
        self._judge.release_all()
        if not self._closed:  # the index counts its users
            self._closed = True
            self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _signed(self, document: str | MainText | Signature, url: str, scope: str) -> Signature:
        require_type("A URL", url, str, "text, a str")
        require_type("A scope", scope, str, "text, a str")
        if isinstance(document, Signature):
            return document
        require_type(
            "A document", document, (str, MainText), "its main text, a str or MainText, or a Signature"
        )
        return self.signature(document)


def _require_limits(min_tokens: int, window: float | None) -> None:
    require_whole("min_tokens", min_tokens, 0)
    if window is not None:
        require_number("window", window)
        if window <= 0:
            raise ConfigurationError(f"window is {window}: use days above 0.")

"""Filters a new batch of documents: those that repeat a document of an index are left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import open_index
from scrapy_neardup.matching.items import ItemNotes, RepeatedItems, unpack
from scrapy_neardup.matching.records import find_urls

from .options import AuditOptions
from .reading import Filer, Reader
from .sources import copy_without, find_sources, require_copyable
from .sources.records import Origin
from .store import Row


class Repeat(NamedTuple):
    """A record that was left out: where it stands, its URL, and what it repeats."""

    file: str
    place: str
    url: str
    verdict: str
    match: str
    similarity: float


class Filtered(NamedTuple):
    """What became of a batch."""

    repeats: list[Repeat]
    #: How many records were read, and how many of them have no text to judge and were kept, by reason.
    records: int
    unjudged: Counter[str]


def filter_against(
    source: str | os.PathLike[str],
    against: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    add: bool = False,
    watch: Callable[[str, int, Origin | None], None] = lambda what, done, where: None,
    **options: Any,
) -> Filtered:
    """Copy *source* to *out* without records that repeat a document of the index *against*: see docs/cli.md.

    *options* are those of `AuditOptions`. With *add* what is kept is filed, unless this fails. Raises
    `SourceUnavailable`, `ConfigurationError`, `IndexUnavailable`, `IndexMismatch`.
    """
    inputs, target = find_sources([source]), Path(out)
    require_copyable(inputs[0])
    if target.exists() and target.samefile(inputs[0].name):
        raise ConfigurationError(f"{target} is the batch itself: name another file.")
    settings = AuditOptions(**options)
    if not add:
        open_index(against, None).close()  # raises if there is none
    how: dict[str, Any] = {"extractor": settings.extractor_identity, "min_tokens": settings.min_tokens}
    how |= {name: options[name] for name in ("scheme", "tables", "features") if name in options}
    with Detector.open(against, **how) as detector:
        batch = _Batch(detector, add)
        filer = Filer(detector.fingerprinter, detector.index.header, signatures=True)
        reader = Reader(batch, settings, lambda where, done: watch("Comparing", done, where), filer)
        try:
            reader.read_all(inputs)
            detector.flush()  # nothing is left out for the sake of what is lost
            copy_without(inputs[0], target, {each.place for each in batch.repeats})
        except BaseException:  # Ctrl-C, too: else the next try would leave out what no copy has
            detector.index.discard(find_urls(detector.index, batch.filed)[0])
            raise
    return Filtered(batch.repeats, batch.records, batch.unjudged)


class _Batch:
    """Judges the records of a batch one after the other; it is where a `Reader` puts its pages."""

    def __init__(self, detector: Detector, add: bool) -> None:
        self._detector, self._add = detector, add
        self._notes = ItemNotes()
        self.repeats: list[Repeat] = []
        self.filed: list[str] = []
        self.records = 0
        self.unjudged = Counter[str]()

    def has(self, origin: Origin, stamp: str) -> bool:
        self.records += 1
        return False

    def add_problem(self, origin: Origin, reason: str) -> None:
        self.unjudged["broken"] += 1

    def add_skipped(self, counts: Counter[str]) -> None:
        self.unjudged += counts

    def add(self, row: Row) -> None:
        """Judge a page, and file it if it is to be."""
        signature, url = row.get("signature"), row["url"]
        if signature is None:
            self.unjudged[row.get("reason") or "no text"] += 1
            return
        items = unpack(row["note"])
        beside: frozenset[tuple[str, bytes]] = frozenset()
        while True:
            if self._add:
                verdict = self._detector.reserve(signature, url, beside=beside)
            else:
                verdict = self._detector.check(signature, url)
            if verdict.kind in ("too_short", "wall"):
                self.unjudged[verdict.kind.replace("_", " ")] += 1
            if verdict.repeats is None or not (verdict.is_duplicate or verdict.unchanged):
                break
            repeated = RepeatedItems(self._notes, verdict.repeats())
            if not items or repeated.find(items[0], several=False) != "differs":
                assert verdict.url is not None
                assert verdict.similarity is not None
                found = (verdict.kind, verdict.url, verdict.similarity)
                self.repeats.append(Repeat(row["source"], row["place"], url, *found))
                break
            if not self._add or repeated.compared <= beside:  # what is pending elsewhere is not compared
                break
            beside |= repeated.compared  # its item says something else: it is filed beside them
        if verdict.reservation is not None:
            self.filed.append(url)
            verdict.reservation.confirm(note=row["note"])

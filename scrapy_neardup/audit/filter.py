"""Filters a new batch of documents: those that repeat a document of an index are left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import Index, LmdbIndex, open_index
from scrapy_neardup.index.lmdb.memtable import Filed
from scrapy_neardup.index.protocol import Documents, Found, Lookup, Stored
from scrapy_neardup.matching.items import ItemNotes, RepeatedItems, unpack

from .options import AuditOptions
from .reading import Filer, Reader
from .sources import copy_without, find_sources, require_copyable
from .sources.records import Origin
from .store import Row

#: Added to the numbers of stored documents, beyond all of those that are to be filed.
_STORED = 1 << 62


class Repeat(NamedTuple):
    """A record that was left out: where it stands, its URL, and what it repeats."""

    file: str
    place: str
    url: str
    verdict: str
    match: str
    similarity: float


@dataclass
class Filtered:
    """What became of a batch."""

    repeats: list[Repeat] = field(default_factory=list)
    #: How many records were read, and how many of them have no text to judge and were kept, by reason.
    records: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)


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

    *options* are those of `AuditOptions`. With *add* what is kept is filed once the copy is on disk. Raises
    `SourceUnavailable`, `ConfigurationError`, `IndexUnavailable`, `IndexMismatch`.
    """
    inputs, target = find_sources([source]), Path(out)
    require_copyable(inputs[0])
    if target.exists() and (add or target.samefile(inputs[0].name)):
        raise ConfigurationError(f"{target} would be written over: name another file.")
    settings = AuditOptions(**options)
    if not add:
        open_index(against, None).close()  # raises if there is none
    how: dict[str, Any] = {"extractor": settings.extractor_identity, "min_tokens": settings.min_tokens}
    how |= {name: options[name] for name in ("scheme", "tables", "features") if name in options}
    with Detector.open(against, **how) as detector, closing(_Staged(detector.index)) as staged:
        batch = _Batch(Detector(staged, min_tokens=settings.min_tokens) if add else detector, add)
        filer = Filer(detector.fingerprinter, detector.index.header, signatures=True)
        Reader(batch, settings, lambda where, done: watch("Comparing", done, where), filer).read_all(inputs)
        copy_without(inputs[0], target, {each.place for each in batch.repeats}, new=add)
        staged.file()  # not before: the next try would leave out what is filed and in no copy
    return Filtered(batch.repeats, batch.records, batch.unjudged)


class _Staged(LmdbIndex):
    """Documents that are to be filed in the index *stored*, in which those that it has are found, too."""

    def __init__(self, stored: Index) -> None:
        super().__init__(None, stored.header)
        self._stored = stored
        self._filed, self._replaced = list[Filed](), set[int]()

    def _find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        there, new = self._stored.find(document, lookups), super()._find(document, lookups)
        there = there.take(np.flatnonzero([each not in self._replaced for each in there.documents.tolist()]))
        numbers = np.append(there.documents + _STORED, new.documents)
        shared = np.append(there.shared, new.shared, axis=1)
        stored = Stored.concatenate([there.stored, new.stored])
        bounds = there.crowded or new.crowded, there.narrowed or new.narrowed
        return Found(numbers, shared, stored, there.pending + new.pending, *bounds)

    def _confirmed(self, filed: Filed, replaces: Sequence[int]) -> None:
        super()._confirmed(filed, [each for each in replaces if each < _STORED])
        self._filed.append(filed)
        self._replaced.update(each - _STORED for each in replaces if each >= _STORED)

    def file(self) -> None:
        """File them; they are on disk on return."""
        left = [filed for filed in self._filed if filed.number is not None]
        self._stored.add(self._memtable.columns.documents(left))
        self._stored.discard([*self._replaced])
        self._stored.flush()


class _Batch(Filtered):
    """Judges the records of a batch one after the other; it is where a `Reader` puts its pages."""

    def __init__(self, detector: Detector, add: bool) -> None:
        self._detector, self._add, self._notes = detector, add, ItemNotes()
        super().__init__()

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
        items, _ = unpack(row["note"])
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
            settled = verdict.pending is None  # what is not may yet be lost
            if settled and (not items or repeated.find(items[0], several=False) != "differs"):
                found = verdict.kind, verdict.url or "", verdict.similarity or 0.0
                self.repeats.append(Repeat(row["source"], row["place"], url, *found))
                break
            if not self._add or repeated.compared <= beside:  # what is pending elsewhere is not compared
                break
            beside |= repeated.compared  # its item says something else: it is filed beside them
        if verdict.reservation is not None:
            verdict.reservation.confirm(note=row["note"])

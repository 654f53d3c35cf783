"""The header of an index: what its documents were made with, since others cannot be compared with them."""

from __future__ import annotations

import json
import re
import struct
import uuid
import zlib
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import comb
from typing import Any

import numpy as np

from scrapy_neardup.arguments import require_type, require_whole
from scrapy_neardup.errors import IndexCorrupted, IndexMismatch

from .tables import Family, PermutedTables

#: Version of the layout on disk.
FORMAT = 4
#: No index has more tables, keys a document or bytes a record: this library has written no header with more.
_MOST_TABLES, _MOST_KEYS, _MOST_BYTES = 1 << 12, 1 << 12, 1 << 16
#: The errors that reading a damaged value may raise.
UNREADABLE = (
    *(LookupError, OverflowError, RecursionError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error),
)


#: Tables that are asked for once more know already how they permute.
_tables = lru_cache(PermutedTables)


class decoding(AbstractContextManager[Any]):  # noqa: N801  # as a generator it would make each search slower
    """A block in which errors of reading a stored value, *what*, become `IndexCorrupted`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UNREADABLE):
            raise damaged(f"{self._what} cannot be read ({error})") from error


def damaged(what: str) -> IndexCorrupted:
    """Return the error for damage that *what* describes."""
    return IndexCorrupted(f"{what}: run `scrapy-neardup index check`.")


@dataclass(frozen=True)
class Header:
    """The identity of an index: how its keys are filed, what its records hold, what its parameters were."""

    #: The kinds of keys of a document.
    families: tuple[Family, ...]
    #: NumPy description of a record: pairs of name and type.
    record: tuple[tuple[str, str], ...] = ()
    #: What decides whether two documents of the index compare: features, extractor …
    parameters: dict[str, Any] = field(default_factory=dict)
    #: Seed of the token hashes: 32 bits, drawn when the index is made.
    seed: int = 0
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    created: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))
    format: int = FORMAT

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(list(self.record))

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        """Where the keys of each family are among those of a document."""
        starts = accumulate((family.keys for family in self.families), initial=0)
        return tuple(map(slice, *zip(*pairwise(starts), strict=True)))

    @property
    def keys(self) -> int:
        """How many keys a document has in all."""
        return sum(family.keys for family in self.families)

    @cached_property
    def first_table(self) -> tuple[int, ...]:
        """Number of the first table of each family, and of all tables."""
        return tuple(accumulate((len(family.tables) for family in self.families), initial=0))

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Header:
        """Parse; raises `IndexCorrupted` or, for the format of another version, `IndexMismatch`."""
        with decoding("The header of the index"):
            fields = json.loads(data)
            version = int(fields["format"])
        if version != FORMAT:
            raise IndexMismatch(
                f"The index has format {version} and this version of scrapy-neardup knows format {FORMAT}: "
                "use the version that made it, another index, or reset it (NEARDUP_RESET, reset=True)."
            )
        with decoding("The header of the index"):
            kinds = [(_tables(**kind["tables"]), kind["keys"]) for kind in fields["families"]]
            fields["families"] = tuple(Family(*kind) for kind in kinds)
            fields["record"] = tuple((name, kind) for name, kind in fields["record"])
            header = cls(**fields)
            _require_possible(header)
            return header

    def require(self, wanted: Header, where: str, ignore: Collection[str] = ()) -> None:
        """Raise `IndexMismatch` with the differences unless this index can be used as *wanted*.

        Parameters to *ignore*, or that one of the two leaves empty, are not compared, nor are releases of an
        extractor: a page is signed anew when it is met.
        """
        differences = [
            "{}: index {}, now {}".format(name, *_differing(self.parameters.get(name), value))
            for name, value in wanted.parameters.items()
            if name not in ignore and value != "" and self.parameters.get(name) not in ("", value)
            if name != "extractor" or _without_releases(self.parameters.get(name)) != _without_releases(value)
        ]
        # Another scheme has other tables and records, too, which would say it less plainly.
        if not differences and self.families != wanted.families:
            differences = [f"tables: index {_show(self.families)}, now {_show(wanted.families)}"]
        if not differences and self.record != wanted.record:
            differences = ["its records have other fields"]
        if differences:
            raise IndexMismatch(
                f"The index in {where} was made with other parameters ({'; '.join(differences)}): "
                "use the same parameters, another index, or reset the index (NEARDUP_RESET, reset=True)."
            )


def _require_possible(header: Header) -> None:
    """Raise ValueError or TypeError for a *header* that no index has."""
    require_whole("seed", header.seed, 0, 2**32 - 1)
    for name in ("uuid", "created"):
        require_type(name, getattr(header, name), str, "text")
    require_type("parameters", header.parameters, dict, "an object")
    for family in header.families:
        require_whole("keys", family.keys, 1, _MOST_KEYS)
    tables = sum(comb(family.tables.blocks, family.tables.distance) for family in header.families)
    size = header.dtype.itemsize  # raises for records that NumPy cannot make
    if tables > _MOST_TABLES or header.keys > _MOST_KEYS or size > _MOST_BYTES or header.dtype.hasobject:
        raise ValueError(f"{tables} tables, {header.keys} keys, records of {size} bytes")


def _without_releases(extractor: object) -> str:
    return re.sub(r"(?<= )\d[\w.]*", "", str(extractor))


def _differing(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Return what differs in two values of a parameter: of two dicts, such as features, the entries."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return "none" if ours is None else ours, "none" if theirs is None else theirs
    names = [name for name in ours | theirs if ours.get(name) != theirs.get(name)]
    first, second = ({name: value[name] for name in names if name in value} for value in (ours, theirs))
    return first, second


def _show(families: tuple[Family, ...]) -> str:
    """Return how many tables each family has, and how many keys a document has in it if they are several."""
    return "+".join(f"{len(each.tables)}" + f"×{each.keys}" * (each.keys > 1) for each in families)

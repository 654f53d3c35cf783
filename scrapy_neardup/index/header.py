"""What an index was made with. Fingerprints made otherwise cannot be compared, so opening it so is refused."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch
from scrapy_neardup.tables import PermutedTables

if TYPE_CHECKING:
    from collections.abc import Collection

#: Version of the layout on disk.
FORMAT = 1


@dataclass(frozen=True)
class Header:
    """The identity of an index: how its keys are filed, what its records hold, what its parameters were."""

    #: One for each key of a document.
    families: tuple[PermutedTables, ...]
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
        """Type of a record."""
        return np.dtype(list(self.record))

    def to_json(self) -> bytes:
        """Serialise."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Header:
        """Parse; raises `IndexCorrupted` or, for the format of a newer version, `IndexMismatch`."""
        try:
            fields = json.loads(data)
            version = int(fields["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise IndexCorrupted(f"The header of the index cannot be read ({error}).") from error
        if version > FORMAT:
            raise IndexMismatch(
                f"The index has format {version} and this version of scrapy-neardup knows format {FORMAT}: "
                "upgrade scrapy-neardup, or use another directory."
            )
        try:
            fields["families"] = tuple(PermutedTables(**family) for family in fields["families"])
            fields["record"] = tuple((name, kind) for name, kind in fields["record"])
            return cls(**fields)
        except (ValueError, KeyError, TypeError) as error:
            raise IndexCorrupted(f"The header of the index cannot be read ({error}).") from error

    def require(self, wanted: Header, where: str, ignore: Collection[str] = ()) -> None:
        """Raise `IndexMismatch` with the differences unless this index can be used as *wanted*.

        Parameters to *ignore*, or that one of the two leaves empty, are not compared.
        """
        ours: dict[str, Any] = {"tables": self.families, "record": self.record, **self.parameters}
        theirs: dict[str, Any] = {"tables": wanted.families, "record": wanted.record, **wanted.parameters}
        differences = [
            f"{name}: index {_show(ours.get(name))}, now {_show(value)}"
            for name, value in theirs.items()
            if name not in ignore and value != "" and ours.get(name) not in ("", value)
        ]
        if differences:
            raise IndexMismatch(
                f"The index in {where} was made with other parameters ({'; '.join(differences)}): "
                "use the same parameters, another directory, or reset the index (NEARDUP_RESET = True)."
            )


def _show(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], PermutedTables):
        return "+".join(str(len(family)) for family in value)
    return str(value)

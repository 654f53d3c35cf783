"""The report file: one JSON line for each decision that was not "unique"."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from .verdict import Verdict

#: What was done with the document: nothing (``passed``), or what the policy says.
Action = Literal["passed", "tag", "drop_items", "drop_page", "drop_item"]


class Report:
    """Appends lines to a file, which is opened with the first one. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def write(self, what: Literal["page", "item"], url: str, verdict: Verdict, action: Action) -> None:
        """Append one decision."""
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "type": what,
            "url": url,
            "verdict": verdict.kind,
            "match": verdict.url,
            "distance": verdict.distance,
            "similarity": None if verdict.similarity is None else round(verdict.similarity, 4),
            "action": action,
        }
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8", buffering=1)
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

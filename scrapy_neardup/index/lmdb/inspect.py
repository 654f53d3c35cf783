"""The description of an index in numbers, for `scrapy-neardup index info`."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .data_file import DATA
from .offline import opened
from .reading import reading
from .traversal import count_documents, live_documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .environment import Environment
    from .snapshot import Snapshot


def describe(path: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return numbers and parameters of the index in *path*, by name, ready for JSON.

    *progress* is called with the documents read so far, and how many there are. Raises as `opened` does.
    """
    with opened(path) as (environment, header), reading(environment, header) as reader:
        documents = count_documents(reader)
        times = _times(reader, progress) if "time" in (header.dtype.names or ()) else (None, None)
        return {
            "path": str(path),
            "uuid": header.uuid,
            "format": header.format,
            "created": header.created,
            **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
            "tables": [len(family.tables) for family in header.families],
            "documents": documents,
            "oldest": times[0],
            "newest": times[1],
            "added": reader.state.next,
            "removed": len(reader.dead),
            "backlog": reader.state.next - reader.state.flushed,
            "runs": [
                {"id": run.id, "start": run.start, "stop": run.stop, "documents": run.documents}
                for run in reader.state.runs
            ],
            **_space(environment, documents),
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


def _times(reader: Snapshot, progress: Callable[[int, int], None]) -> tuple[str | None, str | None]:
    """Return when the oldest and the newest document were stored, in ISO 8601; None for an empty index."""
    oldest, newest = [], []
    for numbers, documents in live_documents(reader, progress):
        if len(numbers):
            oldest.append(int(documents.records["time"].min()))
            newest.append(int(documents.records["time"].max()))
    if not oldest:
        return None, None
    first, last = (
        datetime.fromtimestamp(time, timezone.utc).isoformat() for time in (min(oldest), max(newest))
    )
    return first, last


def _space(environment: Environment, documents: int) -> dict[str, Any]:
    """Return how many bytes of the file are used, and for what."""
    with environment.read() as transaction:
        used = {}
        for name, database in environment.databases.items():
            stat = transaction.stat(database)
            pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
            used[name] = pages * stat["psize"]
        size = environment.size()
    return {
        "bytes_used": size,
        "bytes_per_document": round(size / documents, 1) if documents else None,
        "bytes_log": used["log"],
        "bytes_documents": used["documents"],
        "bytes_tables": used["runs"],
        "bytes_reusable": max(0, size - sum(used.values())),
    }

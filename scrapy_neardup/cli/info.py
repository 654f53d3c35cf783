"""What an index is, in numbers."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_neardup.index.directory import DATA
from scrapy_neardup.index.maintenance import reading

from .documents import count_documents, live_documents
from .opening import opened
from .output import print_pairs, print_table, size

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.index.environment import Environment
    from scrapy_neardup.index.snapshot import Snapshot


def describe(path: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return what is known of the index in *path*, ready for JSON."""
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
            "backlog": reader.state.next - reader.state.folded,
            "runs": [
                {"id": run.id, "start": run.start, "stop": run.stop, "documents": run.documents}
                for run in reader.state.runs
            ],
            **_space(environment, documents),
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


def print_description(facts: dict[str, Any]) -> None:
    """Print what `describe` found."""
    features = facts["features"] or {}
    each = facts["bytes_per_document"]
    print_pairs(
        f"Index {facts['path']}",
        [
            ("identity", f"{facts['uuid']}, format {facts['format']}"),
            ("created", facts["created"]),
            ("scheme", facts["scheme"] or "bare fingerprints"),
            ("features", ", ".join(f"{name} {value}" for name, value in features.items()) or "none"),
            ("extractor", facts["extractor"] or "not recorded"),
            ("tables", " + ".join(map(str, facts["tables"]))),
            ("documents", f"{facts['documents']:,}"),
            ("oldest", facts["oldest"] or "unknown"),
            ("newest", facts["newest"] or "unknown"),
            ("added in all", f"{facts['added']:,}"),
            ("removed, still in tables", f"{facts['removed']:,}"),
            ("in the log, not yet in tables", f"{facts['backlog']:,}"),
            ("runs", len(facts["runs"])),
            ("space used", size(facts["bytes_used"]) + (f", {size(each)} a document" if each else "")),
            ("... by the log", size(facts["bytes_log"])),
            ("... by records and URLs", size(facts["bytes_documents"])),
            ("... by the tables", size(facts["bytes_tables"])),
            ("... free for reuse", size(facts["bytes_reusable"])),
            ("size of the file", size(facts["bytes_file"])),
            ("free on its disk", size(facts["bytes_disk_free"])),
        ],
    )
    if facts["runs"]:
        columns = ("run", "from document", "to before", "documents")
        print_table("Runs", columns, [[f"{value:,}" for value in run.values()] for run in facts["runs"]])


def _times(reader: Snapshot, progress: Callable[[int, int], None]) -> tuple[str | None, str | None]:
    """Return when the oldest and the newest document were stored."""
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
    """Return where the bytes of the file are."""
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

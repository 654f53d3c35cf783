"""What ``scrapy-neardup index info`` prints for people."""

from __future__ import annotations

from typing import Any

from .output import print_pairs, print_table, size


def made_with(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what an index was made with, on disk or on a server."""
    features = [f"{name} {value}" for name, value in (facts["features"] or {}).items() if value != ""]
    return [
        ("identity", f"{facts['uuid']}, format {facts['format']}"),
        ("created", facts["created"]),
        ("scheme", facts["scheme"] or "bare fingerprints"),
        ("features", ", ".join(features) or "none"),
        ("extractor", facts["extractor"] or "not recorded"),
        ("tables", " + ".join(map(str, facts["tables"]))),
    ]


def print_description(facts: dict[str, Any]) -> None:
    """Print what `describe` found."""
    each = facts["bytes_per_document"]
    print_pairs(
        f"Index {facts['path']}",
        [
            *made_with(facts),
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

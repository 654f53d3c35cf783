"""What an audit has counted, in the terminal."""

from __future__ import annotations

from typing import Any

from .output import print_pairs, print_table

#: Rows of the tables.
_HOSTS, _CLUSTERS = 10, 10


def print_totals(facts: dict[str, Any], title: str) -> None:
    """Print what a summary counts, and its first hosts and clusters."""
    totals = {"pages": facts["pages"], **facts["verdicts"]}
    totals |= {name: facts[name] for name in ("clusters", "problems")}
    totals |= {"repeats to fix": facts["handled"]["to_fix"]}
    print_pairs(
        title,
        [(name.replace("_", " "), f"{count:,}") for name, count in totals.items()],
    )
    shown = ("unique", "exact", "near", "part", "template", "wall", "too_short")
    print_table(
        "Hosts with the most duplicates",
        ["host", "pages", *(name.replace("_", " ") for name in shown)],
        [
            (row["host"] or "-", f"{row['pages']:,}", *(f"{row[name]:,}" for name in shown))
            for row in facts["hosts"][:_HOSTS]
        ],
    )
    if facts["largest_clusters"]:
        print_table(
            "Largest clusters",
            ["pages", "canonical page"],
            [(f"{row['size']:,}", row["canonical"]) for row in facts["largest_clusters"][:_CLUSTERS]],
        )

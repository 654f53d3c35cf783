"""The sizes and times that the documentation names are those that a crawl has."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_neardup.index.lmdb.tuning import DEFAULT

DOCS = Path(__file__).parents[2] / "docs"
HALF = {0.5: "half a second"}


@pytest.mark.parametrize(
    ("page", "named"),
    [
        (
            "index-format.md",
            f"at most {DEFAULT.group_documents:,} documents or {HALF[DEFAULT.group_seconds]}",
        ),
        ("api.md", f"{HALF[DEFAULT.group_seconds]} or {DEFAULT.group_documents} documents"),
        ("index-format.md", f"At {DEFAULT.flush_documents:,} documents the log is **flushed**"),
        ("index-format.md", f"transactions of some {DEFAULT.transaction_bytes >> 20} MB"),
        ("cli.md", f"up to {DEFAULT.flush_documents:,}"),
        ("performance.md", f"{DEFAULT.backlog_documents:,} if the disk cannot keep up"),
    ],
)
def test_the_docs_name_the_defaults(page: str, named: str) -> None:
    assert named in (DOCS / page).read_text("utf-8")

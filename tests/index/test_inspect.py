"""The description of an index says what is in it."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.index import Header, LmdbIndex
from scrapy_neardup.index.lmdb.commands import describe
from scrapy_neardup.index.lmdb.faults import DATA

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_700_000_000


def fill(path: Path, header: Header = HEADER) -> Header:
    """Three runs and a log; the oldest and the newest document are removed."""
    with closing(LmdbIndex(path, header, tuning=SMALL)) as index:
        for start, stop in ((0, 40), (40, 58), (58, 65)):
            numbers = range(start, stop)
            some = documents([number * 7919 for number in numbers], [f"u{n}" for n in numbers])
            some.records["time"] = [TIME + 60 * number for number in numbers]
            index.add(some)
        index.discard([0, 64])
        index.flush()
        return index.header


def test_what_is_in_it(tmp_path: Path) -> None:
    header = fill(tmp_path)
    steps: list[tuple[int, int]] = []
    found = describe(tmp_path, lambda done, total: steps.append((done, total)))
    space = {name: found.pop(name) for name in [*found] if name.startswith("bytes")}
    runs: list[dict[str, Any]] = found.pop("runs")
    assert found == {
        "path": str(tmp_path),
        "uuid": header.uuid,
        "format": header.format,
        "created": header.created,
        **dict.fromkeys(("scheme", "features", "extractor")),
        "tables": [4, 1],
        "documents": 63,
        "oldest": datetime.fromtimestamp(TIME + 60, timezone.utc).isoformat(),
        "newest": datetime.fromtimestamp(TIME + 60 * 63, timezone.utc).isoformat(),
        "added": 65,
        "removed": 2,
        "backlog": 7,
    }
    assert [(run["start"], run["stop"], run["documents"]) for run in runs] == [(0, 40, 40), (40, 58, 18)]
    assert len({run["id"] for run in runs}) == 2
    assert steps == sorted(steps)
    assert {total for _, total in steps} == {65}
    assert steps[-1] == (65, 65)
    assert min(done for done, _ in steps) > 0

    assert space["bytes_file"] == (tmp_path / DATA).stat().st_size >= space["bytes_used"]
    assert space["bytes_per_document"] == round(space["bytes_used"] / 63, 1)
    parts = [space[f"bytes_{name}"] for name in ("log", "documents", "tables", "reusable")]
    assert all(part > 0 and part % 4096 == 0 for part in parts)
    rest = space["bytes_used"] - sum(parts)  # the state and the removed documents, a page each
    assert rest == 2 * 4096
    assert space["bytes_tables"] > space["bytes_log"]
    assert space["bytes_disk_free"] > 0


def test_an_empty_one(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER)):
        pass
    found = describe(tmp_path, lambda *_: pytest.fail("there is nothing to read"))
    assert (found["documents"], found["oldest"], found["newest"]) == (0, None, None)
    assert found["bytes_per_document"] is None
    assert found["bytes_documents"] == found["bytes_log"] == found["bytes_tables"] == 0

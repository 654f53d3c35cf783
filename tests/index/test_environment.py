"""The file is opened with less address space, again, or not; its map moves at any moment of any use."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import lmdb
import pytest

from scrapy_neardup import Detector
from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.lmdb.environment import Environment, Tuning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


MAP = 1 << 26
BUSY = lmdb.InvalidParameterError("Invalid argument")


def opened(path: Path, least: int) -> Environment:
    return Environment(path, Tuning(map_bytes=MAP, min_map_bytes=least))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Let LMDB fail to open a file with these errors in turn; returns the sizes of maps that were tried."""
    real = lmdb.open

    def use(*errors: Exception) -> list[int]:
        left, sizes = [*errors], []

        def fail_first(*arguments: Any, **options: Any) -> Any:
            sizes.append(options["map_size"])
            if left:
                raise left.pop(0)
            return real(*arguments, **options)

        monkeypatch.setattr(lmdb, "open", fail_first)
        return sizes

    return use


def test_others_that_open_or_close_it_at_the_same_moment_are_waited_for(
    tmp_path: Path, failing: Callable[..., list[int]]
) -> None:
    sizes = failing(*[BUSY] * 50)
    with closing(opened(tmp_path, MAP)):
        assert sizes == [MAP] * 51
    sizes = failing(*[BUSY] * 51)
    with pytest.raises(IndexUnavailable, match=r"cannot be opened \(Invalid argument\)"):
        opened(tmp_path, MAP)
    assert sizes == [MAP] * 51


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    for kind in ("unique", "exact"):
        with Detector.open(path) as detector:
            text = " ".join(f"word{number}" for number in range(100))
            assert detector.add(text, url=f"https://{kind}-site.com/").kind == kind

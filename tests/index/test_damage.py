"""Pages flipped, zeroed, exchanged, overwritten, cut off: an error or the right answer, never a crash."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from scrapy_neardup.errors import IndexCorrupted, NearDupError
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check
from torture.children import isolated

from .small import HEADER, numbered

PAGE = os.sysconf("SC_PAGESIZE")
KEYS = np.arange(300, dtype=np.uint64)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with two runs and a log, and removed documents in each."""
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        for start in (0, 100, 200):
            index.add(numbered(range(start, start + 100)))
            index.discard([start + 3, start + 50])
            if start < 200:
                index.compact()
    return path


def damaged(whole: bytes, dice: random.Random) -> bytes:
    """Change a file from its third page on: the first two are verified before it is opened."""
    data, pages = bytearray(whole), len(whole) // PAGE
    start, other = (dice.randrange(2, pages) * PAGE for _ in range(2))
    kind = dice.choice(("bit", "bit", "bits", "zeros", "noise", "page"))
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 20):
            data[dice.randrange(2 * PAGE, len(data))] ^= 1 << dice.randrange(8)
    else:  # the last is a page in the place of another
        changed = {"zeros": bytes(PAGE), "noise": dice.randbytes(PAGE), "page": data[other : other + PAGE]}
        data[start : start + PAGE] = changed[kind]
    return bytes(data)


def contents(index: LmdbIndex) -> list[object]:
    found, near = index.search(1, KEYS), index.search(0, KEYS, 3)
    urls, records = index.fetch(found.document).urls, index.fetch(found.document).records.tobytes()
    lists = [each.tolist() for each in (found.query, near.query, near.document)]
    return [*lists, urls, records, index.gauges()["documents"]]


def use(path: Path, whole: list[object]) -> list[str]:
    """Call everything; returns what was wrong but is no error of ours."""
    try:
        index = LmdbIndex(path, None)
    except NearDupError:
        return []
    wrong: list[str] = []
    sound, answers = [False], [whole]
    calls: list[Callable[[], object]] = [
        lambda: answers.append(contents(index)),
        lambda: sound.append(not [*check(index)]),
        *(index.flush, lambda: index.discard([5]), index.flush, index.compact, index.close),
    ]
    for call in calls:
        try:
            with contextlib.suppress(NearDupError):
                call()
        except BaseException as error:  # noqa: BLE001, PERF203
            wrong.append(repr(error))
    if sound[-1] and answers[-1] != whole:
        wrong.append("check is silent, and answers are others")
    return wrong


@pytest.mark.slow
def test_damaged_anywhere(path: Path, tmp_path: Path) -> None:
    """Where `check` is silent, all answers are right. In processes of their own, which LMDB could end."""
    whole = isolated(lambda: contents(LmdbIndex(path, None))).result
    data = (path / "data.mdb").read_bytes()
    for seed in range(40):
        copy = tmp_path / str(seed)
        shutil.copytree(path, copy)
        (copy / "data.mdb").write_bytes(damaged(data, random.Random(seed)))
        assert isolated(partial(use, copy, whole)).wrong == [], seed
        shutil.rmtree(copy)


def test_truncated_anywhere(path: Path) -> None:
    """A read past the end of the file would be a SIGBUS."""
    data = (path / "data.mdb").read_bytes()
    sizes = sorted({*range(0, len(data), PAGE), *range(0, 3 * PAGE, 997), len(data) - 1})
    assert len(sizes) > 20
    for size in sizes:
        (path / "data.mdb").write_bytes(data[:size])
        with pytest.raises(IndexCorrupted):
            LmdbIndex(path, None)
    (path / "data.mdb").write_bytes(data)
    LmdbIndex(path, None).close()

"""Use damaged or cut copies of an index, each in a child: damage_each.py INDEX FOLDER SEED|cut:SIZE ..."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from scrapy_neardup.errors import NearDupError
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check

PAGE = 4096
KEYS = np.arange(300, dtype=np.uint64)


def damage(data: bytearray, dice: random.Random) -> str:
    """Change a file from its third page on: the first two are verified before it is opened."""
    pages = len(data) // PAGE
    start = dice.randrange(2, pages) * PAGE
    kind = dice.choice(("bit", "bit", "bits", "zeros", "noise", "page"))
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 20):
            data[dice.randrange(2 * PAGE, len(data))] ^= 1 << dice.randrange(8)
    elif kind == "zeros":
        data[start : start + PAGE] = bytes(PAGE)
    elif kind == "noise":
        data[start : start + PAGE] = dice.randbytes(PAGE)
    else:  # a page in the place of another
        other = dice.randrange(2, pages) * PAGE
        data[start : start + PAGE] = data[other : other + PAGE]
    return kind


def contents(index: LmdbIndex) -> list[object]:
    found = index.search(1, KEYS)
    near = index.search(0, KEYS, 3)
    stored = index.fetch(found.document)
    return [
        found.query.tolist(), stored.urls, stored.records.tobytes().hex(), near.query.tolist(),
        near.document.tolist(), index.gauges()["documents"],
    ]  # fmt: skip


def use(path: Path, whole: list[object]) -> list[str]:
    """Call everything; returns what was wrong but is no error of ours."""
    wrong, sound, answers = [], False, None
    try:
        index = LmdbIndex(path, None)
    except NearDupError as error:
        return [type(error).__name__] if path.name.startswith("cut") else []

    def answer() -> None:
        nonlocal answers
        answers = contents(index)

    def verify() -> None:
        nonlocal sound
        sound = list(check(index)) == []

    for call in (
        answer,
        verify,
        index.flush,
        lambda: index.discard([5]),
        index.flush,
        index.compact,
        index.close,
    ):
        try:
            with contextlib.suppress(NearDupError):
                call()
        except BaseException as error:  # noqa: BLE001, PERF203
            wrong.append(repr(error))
    if sound and answers is not None and answers != whole:
        wrong.append("check is silent, and answers are others")
    return wrong


def main() -> None:
    source, folder, *seeds = sys.argv[1:]
    opened = LmdbIndex(Path(source), None)
    whole = contents(opened)
    opened.close()
    data = (Path(source) / "data.mdb").read_bytes()
    for seed in seeds:
        copy = Path(folder) / seed
        shutil.copytree(source, copy)
        broken = bytearray(data)
        if seed.startswith("cut"):
            kind = "cut"
            del broken[int(seed[4:]) :]
        else:
            kind = damage(broken, random.Random(int(seed)))
        (copy / "data.mdb").write_bytes(broken)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(20)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(writing, json.dumps(use(copy, whole)).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            said = answer.read()
        _, status = os.waitpid(child, 0)
        shutil.rmtree(copy)
        outcome = f"killed by {os.WTERMSIG(status)}" if status else json.loads(said)
        print(json.dumps((seed, kind, outcome)), flush=True)


if __name__ == "__main__":
    main()

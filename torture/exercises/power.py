"""Power cuts: what a workload wrote and synced is recorded, and files are made as a cut could leave them."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import compact
from tests.index.small import HEADER, SMALL, documents
from torture import shim
from torture.children import isolated
from torture.exercise import Exercise, Round, in_time
from torture.kills.index import problems, remove, store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE, SECTOR = 4096, 512


class Disk:
    """What is on a disk for certain, and what was written but not synced."""

    def __init__(self) -> None:
        self.synced: dict[int, bytearray] = {}
        self.unsynced: dict[int, list[shim.Call]] = {}
        #: The files by name, as far as that is on disk, and changes of names since.
        self.names: dict[str, int] = {}
        self.renamed: list[shim.Call] = []
        self.marks = b""

    def take(self, call: shim.Call, marks: int) -> None:
        """Do *call*; *marks* is the file that the workload notes in, which no cut touches."""
        if call.kind == shim.OPEN:
            self.synced[call.file], self.unsynced[call.file] = bytearray(), []
            self.renamed.append(call)
        elif call.kind == shim.NAME:
            self.renamed.append(call)
        elif call.file == marks:
            self.marks += call.data
        elif call.kind == shim.SYNC:
            # File systems write the names of files together with what they sync, in the order of the changes.
            for change in self.renamed:
                _rename(self.names, change)
            self.renamed.clear()
            for write in self.unsynced.pop(call.file, []):
                _write(self.synced[call.file], write)
            self.unsynced[call.file] = []
        else:
            self.unsynced[call.file].append(call)

    def rebuild(self, dice: random.Random, image: Path, world: Path) -> list[dict[str, Any]]:
        """Write the files as a cut may leave them to *image*; returns what was acknowledged before."""
        names = dict(self.names)
        for change in self.renamed[: dice.randint(0, len(self.renamed))]:
            _rename(names, change)
        (image / "index").mkdir(parents=True)
        share, size = dice.choice((0.0, 0.1, 0.5, 0.5, 0.9, 1.0)), dice.choice((SECTOR, PAGE, 1 << 40))
        for name, file in names.items():
            data = bytearray(self.synced.get(file, b""))
            for write in self.unsynced.get(file, []):
                for piece in _pieces(write, size):
                    if dice.random() < share:
                        _write(data, piece)
            target = image / os.path.relpath(name, world)
            if not target.name.endswith(".lock"):
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
        file = names.get(str(world / "index" / "data.mdb"), -1)
        said = [json.loads(line) for line in self.marks.splitlines()]
        return [{**mark, "same": mark.get("file") == file} for mark in said]


def cuts(calls: list[shim.Call], dice: random.Random, count: int) -> Iterator[tuple[int, Disk]]:
    """Yield *count* places of *calls* in ascending order, each with what is on the disk there."""
    disk, marks = Disk(), next(call.file for call in calls if call.data.startswith(b'{"commit"'))
    wanted = sorted(dice.choices(range(len(calls) + 1), k=count))
    done = 0
    for place in wanted:
        for call in calls[done:place]:
            disk.take(call, marks)
        done = place
        yield place, disk


def _rename(names: dict[str, int], change: shim.Call) -> None:
    old, new = change.data.decode().split("\0")[:2]
    if change.kind == shim.OPEN:
        names[old] = change.file
    elif (file := names.pop(old, None)) is not None and new:
        names[new] = file


def _pieces(call: shim.Call, size: int) -> Iterator[shim.Call]:
    """Cut a call where a disk may write one part of it and not the other."""
    start, stop = call.offset, call.offset + len(call.data)
    if call.kind != shim.WRITE:
        yield call
    while start < stop:
        end = min(stop, (start // size + 1) * size)
        yield call._replace(offset=start, data=call.data[start - call.offset : end - call.offset])
        start = end


def _write(data: bytearray, call: shim.Call) -> None:
    if call.kind == shim.TRUNCATE:
        size = call.offset
        data[size:] = bytes(max(0, size - len(data)))
        return
    data.extend(bytes(max(0, call.offset - len(data))))
    data[call.offset : call.offset + len(call.data)] = call.data


#: So many cuts of a workload of so many steps; so many are tried by one process.
CUTS, STEPS, TOGETHER = 600, 70, 20


def run(seed: int, folder: Path) -> Round:
    if remark := shim.without():
        return remark
    dice, outcome = random.Random(seed), Round()
    world, log = folder / "world", folder / "log"
    world.mkdir()
    worked = isolated(lambda: work(world, log, random.Random(seed)), 60)
    if worked.died:
        return Round(violations=[f"the workload failed: {worked.died}"])
    calls = list(shim.recorded(log))
    outcome.counts["calls recorded"] += len(calls)
    waiting: list[tuple[int, Path, list[dict[str, Any]]]] = []
    for number, (cut, disk) in enumerate(in_time(cuts(calls, dice, CUTS), EXERCISE.seconds)):
        image = folder / f"image{cut}-{number}"
        waiting.append((cut, image, disk.rebuild(dice, image, world)))
        if len(waiting) == TOGETHER:
            examine(waiting, len(calls), outcome)
            waiting.clear()
    return outcome


def examine(waiting: list[tuple[int, Path, list[dict[str, Any]]]], calls: int, outcome: Round) -> None:
    """Recover from cuts in another process: their places, the files, what was acknowledged."""

    def each() -> None:
        for _, image, said in waiting:
            (image / "wrong").write_text(json.dumps(recover(image / "index", said)))

    died = isolated(each, 60).died
    for cut, image, _ in waiting:
        done = (image / "wrong").exists()
        if done or died:
            outcome.counts["power cuts"] += 1
            for what in json.loads((image / "wrong").read_text()) if done else [died]:
                outcome.violations.append(f"cut after call {cut} of {calls}: {what}")
        died = died if done else ""  # those after it were not tried
        shutil.rmtree(image)


def work(world: Path, log: Path, dice: random.Random) -> None:
    """Change an index in all ways, and note in the file ``marks`` what was acknowledged, and when."""
    marks = os.open(world / "marks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    shim.arm(world, log=os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND))
    path, number = world / "index", 0
    tuning = replace(SMALL, group_seconds=60.0, map_bytes=1 << 26)
    index = LmdbIndex(path, HEADER, tuning=tuning)
    held: list[int] = []
    for _ in range(STEPS):
        act, kept, gone = dice.random(), [], []
        if act < 0.55:
            size = dice.choice((1, 2, 4, 9))
            for _ in range(size):
                number += 1
                store(index, number, dice.getrandbits(64))
                kept.append(number)
            index.flush()
        elif act < 0.8:
            size = dice.choice((1, 5, 30))
            kept = list(range(number + 1, number + size + 1))
            number += size
            index.add(documents([dice.getrandbits(64) for _ in kept], [f"u{each}" for each in kept]))
        elif act < 0.9 and held:
            gone = dice.sample(held, min(len(held), dice.choice((1, 10))))
            os.write(marks, json.dumps({"going": gone}).encode() + b"\n")
            remove(index, gone)
            index.flush()
        elif act < 0.94:
            index.compact()
        else:
            index.close()
            if act > 0.97:
                compact(path)
            index = LmdbIndex(path, HEADER, tuning=tuning)
        held = [each for each in held if each not in set(gone)] + kept
        # What is noted after a compaction is in a new file, whose commits are counted anew.
        mark = {"commit": index._environment.last_commit(), "kept": kept, "gone": gone}
        mark["file"] = (path / "data.mdb").stat().st_ino
        os.write(marks, json.dumps(mark).encode() + b"\n")
    index.close()


def recover(path: Path, said: list[dict[str, Any]]) -> list[str]:
    """Open the index after a cut; returns what was promised and is not so. *said* was acknowledged."""
    wrong = []
    data = path / "data.mdb"
    if not data.exists() and said:
        return ["the file of an index in which documents were acknowledged is gone"]
    found = commit(data.read_bytes()) if data.exists() else 0
    newest = max((int(mark["commit"]) for mark in said if "commit" in mark and mark["same"]), default=0)
    if found < newest - 1:
        wrong.append(f"commit {found} is the last, and {newest} was acknowledged")
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        expected: dict[int, bool] = {}
        for mark in said:
            for number in mark.get("going", ()):
                expected.pop(number, None)
            if "going" in mark:
                continue
            sure = not mark["same"] or int(mark["commit"]) <= found
            for names, there in (("kept", True), ("gone", False)):
                for number in mark[names]:
                    if sure:
                        expected[number] = there
                    else:
                        expected.pop(number, None)
        kept = {number for number, there in expected.items() if there}
        return wrong + problems(index, kept, {*expected} - kept)


def commit(data: bytes) -> int:
    """Return the number of the last commit in a file of LMDB: the larger one of its two meta pages."""
    size = struct.unpack_from("=I", data, 40)[0] if len(data) >= 152 else 0
    places = (place for place in (144, size + 144) if size and len(data) >= place + 8)
    return max((struct.unpack_from("=Q", data, place)[0] for place in places), default=0)


EXERCISE = Exercise(
    name="power",
    promise="A power cut corrupts no index, and undoes its last commit at most.",
    how="All writes and syncs of a workload are recorded. Files are made of the calls up to any place, with "
    "any of the writes that were not synced there, whole or by pages or sectors, and opened in another "
    "process: the check finds nothing, all that was acknowledged is there, but for the last commit.",
    run=run,
    seconds=40,
)

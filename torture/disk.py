"""What a power cut leaves on a disk: all that was synced, and any part of the rest."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import shim

if TYPE_CHECKING:
    import random
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

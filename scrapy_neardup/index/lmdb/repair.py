"""Repairing a damaged index: what is left of it goes into a new file, which takes the place of the old one.

A damaged page may end the process that reads it. So that is done in other processes, on a copy of the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb

from scrapy_neardup.errors import IndexCorrupted, NearDupError

from .creation import read_header
from .data_file import DATA, corrupted, make_newest, newest_pages, whole_size
from .directory import LOCK, write_sidecar
from .environment import Environment
from .faults import translated
from .index import LmdbIndex
from .offline import alone, environment_of, require_sound
from .salvage import Salvage
from .shrink import take_place

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Stored

    Derive = Callable[[Header], Callable[[Stored], dict[int, NDArray[np.uint64]]]]

#: The name of a directory for a new file begins so; the damaged file is kept under a name that begins so.
PREFIX, KEPT = "repair-", "damaged-"
#: A process that reads the index is started again so often after a page that has ended it.
TRIES = 50


@dataclass(frozen=True)
class Repaired:
    """What a repair has kept and lost, in numbers of documents."""

    documents: int
    gone: int
    #: The first and the last number of each range of documents that are gone.
    ranges: list[tuple[int, int]]
    #: Documents that some of their keys no longer find.
    weaker: int
    #: Whether documents that were removed are back.
    revived: bool
    #: Where the damaged file is now.
    kept: Path


def repair(path: Path, command: list[str]) -> Repaired:
    """Put what is left of the index in *path* into a new file, and that into the place of the old one.

    *command* starts a process that calls `salvage` with the two directories and the file that follow it. The
    old file is kept under another name. Raises `IndexUnavailable` while others use the index, and
    `IndexCorrupted` if nothing can be saved; then all stays as it is.
    """
    with translated(path, "repaired"), alone(path):
        for left in path.glob(f"{PREFIX}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=path) as folder:
            found, target = _salvage_newest(command, Path(folder), path)
            with environment_of(target) as (environment, header):
                require_sound(environment, header, lambda *_: None)
            kept = _spare_name(path)
            os.link(path / DATA, kept)
            take_place(target / DATA, path / DATA)
            write_sidecar(path, header.uuid, found["documents"])
        (path / LOCK).unlink(missing_ok=True)  # it describes the old file
        found["ranges"] = [tuple(pair) for pair in found["ranges"]]
        return Repaired(**found, kept=kept)


def salvage(
    source: Path,
    target: Path,
    notes: Path,
    derive: Derive,
) -> None:
    """Copy what is left of the index in *source* to a new one in *target*, and say in *notes* what is lost.

    Each line of the file *notes* names something that has ended an earlier process when it was read, and that
    is passed over. What is about to be read is named in the last line. In the end a JSON object takes the
    place of all lines. *derive* makes of a header what `Salvage` needs.
    """
    shutil.rmtree(target, ignore_errors=True)
    skip = notes.read_text("utf-8").splitlines() if notes.exists() else []
    with notes.open("a", encoding="utf-8") as file:
        end = file.tell()

        def at(what: str) -> None:
            file.seek(end)
            file.truncate()
            file.write(f"{what}\n")
            file.flush()

        at("the file")
        environment = Environment(source)
        at("the header")
        with environment.read() as transaction:
            header = read_header(environment, transaction)
        if header is None:
            raise IndexCorrupted("It has no header")
        left = Salvage(environment, header, derive(header), at, frozenset(skip))
        with contextlib.closing(LmdbIndex(target, header)) as index:
            for documents in left.documents():
                index.add(documents)
            count = index.gauges()["documents"]
        at("the end")
    losses = {
        "documents": count,
        "gone": len(set(left.losses.gone)),
        "ranges": left.losses.ranges(),
        "weaker": left.losses.weaker,
        "revived": left.losses.revived,
    }
    notes.write_text(json.dumps(losses), "utf-8")


def main(derive: Derive) -> None:
    """Be the process that reads: its arguments are those of `salvage`. Prints why nothing can be saved."""
    try:
        source, target, notes = map(Path, sys.argv[1:])
        salvage(source, target, notes, derive)
    except (NearDupError, lmdb.Error, OSError) as error:
        sys.stdout.write(" ".join(str(error).split()))
        sys.exit(2)


def _salvage_newest(command: list[str], folder: Path, path: Path) -> tuple[dict[str, Any], Path]:
    """Salvage the index in *path* into a directory in *folder*; returns what was noted, and the directory.

    If it is not clear which of the two meta pages is the newer one, both are tried. What leads to more
    documents is taken; what the last commit has removed may be back then.
    """
    pages = newest_pages(path / DATA)
    best: tuple[dict[str, Any], Path] | None = None
    for page in pages:
        source, target, notes = (folder / f"{name}-{page}" for name in ("source", "target", "notes"))
        source.mkdir()
        shutil.copyfile(path / DATA, source / DATA)
        if len(pages) > 1:
            make_newest(source / DATA, page)
        # What is missing at the end has to read as zeros: beyond the end of a file, processes die.
        size = whole_size(source / DATA)
        if size > (source / DATA).stat().st_size:
            os.truncate(source / DATA, size)
        try:
            found = _salvage(command, source, target, notes, path)
        except IndexCorrupted:
            if best is None and page == pages[-1]:
                raise
            continue
        found["revived"] |= len(pages) > 1
        if best is None or found["documents"] > best[0]["documents"]:
            best = found, target
    assert best is not None
    return best


def _salvage(command: list[str], source: Path, target: Path, notes: Path, path: Path) -> dict[str, Any]:
    """Run `salvage` in processes, until one comes to its end; returns what that has noted."""
    seen = None
    for _ in range(TRIES):
        done = subprocess.run(  # noqa: S603  # an interpreter
            [*command, str(source), str(target), str(notes)], capture_output=True, text=True, check=False
        )
        if not done.returncode:
            found: dict[str, Any] = json.loads(notes.read_text("utf-8"))
            return found
        if done.returncode > 0:
            raise corrupted(path / DATA, f"nothing can be saved: {(done.stdout or done.stderr)[-300:]}")
        # It may have ended before it could write anything.
        last = notes.read_text("utf-8").splitlines()[-1:] if notes.exists() else []
        if not last or last == seen:
            break
        seen = last
    raise corrupted(path / DATA, "nothing can be saved: reading it ends the process")


def _spare_name(path: Path) -> Path:
    number = 1
    while (kept := path / f"{KEPT}{number}.mdb").exists():
        number += 1
    return kept

"""Damaged files: bits, pages and ends of the file of an index, and what is made of them."""

from __future__ import annotations

import logging
import random
import shutil
import struct
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup import Detector
from scrapy_neardup.errors import IndexCorrupted, NearDupError
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.check import check
from scrapy_neardup.index.lmdb.rebuild import rebuild
from scrapy_neardup.matching.records import derived_keys
from tests.index.damage_each import contents, use
from tests.index.small import HEADER, documents
from tests.promises.site import story
from torture.children import isolated
from torture.exercise import Exercise, Round, in_time

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096
DAMAGES, STORIES = 100, 40
#: One in so many damaged indexes is repaired, which needs a process that imports all.
REPAIRED = 20
#: What the flags of a page of LMDB say. Of large values only the first page has flags.
KINDS = {1: "branch", 2: "leaf", 4: "overflow", 8: "meta"}
#: Where the number of its commit is in a meta page.
COMMIT = 144
#: How a sentence begins which says that something is not found, and that the check finds nothing.
SILENT = ("check is silent", "silent miss")


def run(seed: int, folder: Path) -> Round:
    logging.disable()
    dice, outcome, made = random.Random(seed), Round(), folder / "made"
    pages = seed % 2 == 0
    answers = isolated(partial(make_pages if pages else make, made, dice))
    if answers.died:
        return Round(violations=[f"no index could be made: {answers.died}"])
    data = (made / "data.mdb").read_bytes()
    for number in in_time(range(DAMAGES), EXERCISE.seconds):
        path = folder / "index"
        shutil.copytree(made, path)
        broken, where, kind = damage(data, dice)
        (path / "data.mdb").write_bytes(broken)
        outcome.counts["damages"] += 1
        outcome.counts[f"damages of {where} pages"] += 1
        name = f"damage {number}, {kind} in a {where} page"
        seen = isolated(partial(judge if pages else use, path, answers.result), 30)
        if not seen.died:
            wrong = seen.result
            if any(what.startswith(SILENT) for what in wrong) and undoes_a_commit(data, broken):
                # LMDB takes the commit before the last one for the newest, as after a power cut.
                outcome.counts["commits undone by a meta page, declared"] += 1
                wrong = [what for what in wrong if not what.startswith(SILENT)]
            outcome.violations += [f"{name}: {what}" for what in wrong]
        elif seen.died.startswith("killed by SIG") and where != "value":
            # LMDB follows what the pages of its trees say; nobody can look at each before it does.
            outcome.counts["ends of the process by LMDB, declared"] += 1
        else:
            outcome.violations.append(f"{name}: {seen.died}")
        if number % REPAIRED == 0 and not pages:
            (path / "data.mdb").write_bytes(broken)
            (path / "lock.mdb").unlink(missing_ok=True)
            seen = isolated(partial(mend, path), 60)
            outcome.violations += [f"{name}, repaired: {what}" for what in seen.wrong]
            outcome.counts["repairs"] += 1
        shutil.rmtree(path)
    return outcome


def make(path: Path, dice: random.Random) -> list[object]:
    """Make an index of bare fingerprints in runs and a log; returns what it answers."""
    size = dice.choice((40, 120, 400))
    with closing(LmdbIndex(path, HEADER)) as index:
        for start in range(0, 3 * size, size):
            numbers = range(start, start + size)
            index.add(documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers]))
            index.discard([start + 3, start + 30])
            if start < 2 * size:
                index.compact()
    with closing(LmdbIndex(path, None)) as index:
        return contents(index)


def make_pages(path: Path, dice: random.Random) -> list[object]:
    """Make an index of stories, as a crawl does."""
    with Detector.open(path) as detector:
        for number in range(STORIES):
            detector.add(story(number), url=f"https://a.example/{number}")
            if number == dice.randrange(STORIES):
                detector.index.compact()  # type: ignore[attr-defined]
        detector.index.compact()  # type: ignore[attr-defined]
    return []


def damage(data: bytes, dice: random.Random) -> tuple[bytes, str, str]:
    """Return a damaged copy of a file, which kind of page was hit, and how."""
    broken, places = bytearray(data), kinds(data)
    where = dice.choice(sorted({*places}))
    number = dice.choice([page for page, kind in enumerate(places) if kind == where])
    start = number * PAGE
    kind = dice.choice(("bit", "bit", "bits", "zeros", "noise", "page", "swap", "sector", "end"))
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 20):
            broken[start + dice.randrange(PAGE)] ^= 1 << dice.randrange(8)
    elif kind == "zeros":
        broken[start : start + PAGE] = bytes(PAGE)
    elif kind == "noise":
        broken[start : start + PAGE] = dice.randbytes(PAGE)
    elif kind == "sector":
        sector = start + 512 * dice.randrange(8)
        broken[sector : sector + 512] = dice.randbytes(512)
    elif kind == "end":
        del broken[start + dice.randrange(PAGE) :]
    else:
        other = dice.randrange(len(places)) * PAGE
        broken[start : start + PAGE] = data[other : other + PAGE]
        if kind == "swap":
            broken[other : other + PAGE] = data[start : start + PAGE]
    return bytes(broken), where, kind


def kinds(data: bytes) -> list[str]:
    """Return the kind of each page, by its flags; "value" is the inside of a large value."""
    found: list[str] = []
    while len(found) < len(data) // PAGE:
        _, flags, pages = struct.unpack_from("<QxxHI", data, len(found) * PAGE)
        kind = KINDS.get(flags & 15, "free")
        found.append(kind)
        found += ["value"] * (pages - 1 if kind == "overflow" else 0)
    return found[: len(data) // PAGE]


def undoes_a_commit(data: bytes, broken: bytes) -> bool:
    """Return whether two meta pages look as they should, and the other one than before is the newer one."""
    before, after = (
        [struct.unpack_from("<Q", some, page * PAGE + COMMIT)[0] for page in range(2)]
        for some in (data, broken)
    )
    fit = after[0] % 2 == 0 and after[1] % 2 == 1 and abs(after[0] - after[1]) == 1
    return bool(fit and (before[0] < before[1]) != (after[0] < after[1]))


def judge(path: Path, _: list[object]) -> list[str]:
    """Ask for copies and for new stories; returns wrong drops, silent misses and raw errors."""
    missed, wrong = [], []
    try:
        detector = Detector.open(path)
    except NearDupError:
        return []
    with suppress(NearDupError), detector:
        for number in range(0, 2 * STORIES, 3):
            try:
                verdict = detector.check(story(number), url=f"https://b.example/{number}")
            except NearDupError:
                continue
            if number >= STORIES and verdict.kind in ("exact", "near"):
                wrong.append(f"wrong drop: story {number} is {verdict.kind} of {verdict.url}")
            if number < STORIES and verdict.kind == "unique":
                missed.append(number)
        if missed and not list(check(detector.index)):  # type: ignore[arg-type]
            wrong.append(f"silent miss: stories {missed[:5]} are not found, and check finds nothing")
    return wrong


def mend(path: Path) -> list[str]:
    """Repair an index of `make`; returns what is wrong with what is left, and with what is said of it."""
    before = (path / "data.mdb").read_bytes()
    try:
        found = rebuild(path, derived_keys)
    except IndexCorrupted:
        return ["the file has changed"] * ((path / "data.mdb").read_bytes() != before)
    wrong = ["the damaged file was not kept"] * (found.kept.read_bytes() != before)
    with closing(LmdbIndex(path, HEADER)) as index:
        wrong += [f"check: {problem.where}: {problem.what}" for problem in check(index)]
        numbers = np.arange(1200, dtype=np.uint64)
        matches = index.search(1, numbers)
        stored = index.fetch(matches.document)
        keys = matches.query.astype(np.uint64)
        if not (stored.records["tag"] == (keys * np.uint64(7919)) ^ keys).all():
            wrong.append("documents have keys of others")
        # Those whose keys here are lost count as weaker: nothing that is stored of them tells these keys.
        if not found.documents - found.weaker <= len(stored.urls) <= found.documents:
            wrong.append(
                f"{found.documents} documents are said to be saved, {found.weaker} of them weaker, and "
                f"{len(stored.urls)} are found"
            )
        removed = {int(url[1:]) for url in stored.urls} & {3, 30}
        if removed and not found.revived:
            wrong.append(f"removed documents {sorted(removed)} are back, and nobody says so")
    return wrong


EXERCISE = Exercise(
    name="damage",
    promise="A damaged index drops no page wrongly and misses none silently: each call answers right or "
    "raises an error of the package, and where an answer is wrong `index check` finds it. `index repair` "
    "keeps nothing that is wrong, and says what is gone.",
    how="Bits, sectors and pages of each kind are flipped, zeroed, overwritten, swapped, or the file is cut "
    "short; then all calls are made, pages are judged, and some are repaired. A damaged tree of LMDB may end "
    "the process, and a damaged number of a commit may undo the last one; that is counted, and no violation.",
    goals={"damages": 5_000},
    run=run,
    seconds=60,
)

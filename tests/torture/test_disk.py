"""What a power cut may leave, as the exercise simulates it: all that was synced, any part of the rest."""

import random
from pathlib import Path

from torture.exercises.power import Disk, cuts
from torture.shim import NAME, OPEN, SYNC, TRUNCATE, WRITE, Call

WORLD = Path("/world")
FILE, MARKS = 7, 8


def calls() -> list[Call]:
    """A file is made, gets two pages, is synced, gets two more and another name."""
    name = f"{WORLD}/index/data.mdb"
    return [
        Call(OPEN, MARKS, 0, f"{WORLD}/marks\0\0".encode()),
        Call(OPEN, FILE, 0, f"{name}\0\0".encode()),
        Call(WRITE, FILE, 0, b"a" * 4096 + b"b" * 4096),
        Call(SYNC, FILE, 0, b""),
        Call(WRITE, MARKS, 0, b'{"commit": 1, "file": 7}\n'),
        Call(WRITE, FILE, 4096, b"B" * 4096),
        Call(WRITE, FILE, 8192, b"c" * 4096),
        Call(NAME, 0, 0, f"{name}\0{WORLD}/index/old.mdb\0".encode()),
    ]


def left(done: int, folder: Path) -> set[tuple[str, bytes]]:
    """What a cut after so many calls may leave: names and the first byte of each page."""
    disk, found = Disk(), set()
    for call in calls()[:done]:
        disk.take(call, MARKS)
    for seed in range(60):
        image = folder / str(seed)
        disk.rebuild(random.Random(seed), image, WORLD)
        for path in (image / "index").iterdir():
            data = path.read_bytes()
            found.add((path.name, bytes(data[page] for page in range(0, len(data), 4096))))
    return found


def test_what_was_synced_is_there_whatever_comes(tmp_path: Path) -> None:
    assert left(4, tmp_path) == {("data.mdb", b"ab")}


def test_what_was_not_synced_may_be_there_or_not(tmp_path: Path) -> None:
    assert left(3, tmp_path / "new") >= {("data.mdb", b""), ("data.mdb", b"ab"), ("data.mdb", b"\0b")}
    later = {pages for _, pages in left(7, tmp_path / "later")}
    assert later >= {b"ab", b"aB", b"abc", b"aBc"}
    assert {pages[:1] for pages in later} == {b"a"}


def test_a_name_is_there_or_not(tmp_path: Path) -> None:
    assert {name for name, _ in left(8, tmp_path)} == {"data.mdb", "old.mdb"}


def test_what_was_acknowledged_is_known_at_each_cut() -> None:
    seen = {place: disk.marks for place, disk in cuts(calls(), random.Random(1), 600)}
    assert {bool(marks) for place, marks in seen.items() if place < 5} == {False}
    assert {bool(marks) for place, marks in seen.items() if place >= 5} == {True}


def test_a_file_that_was_cut_shorter(tmp_path: Path) -> None:
    disk = Disk()
    for call in [*calls()[:4], Call(TRUNCATE, FILE, 4096, b""), Call(SYNC, FILE, 0, b"")]:
        disk.take(call, MARKS)
    assert disk.synced[FILE] == bytearray(b"a" * 4096)

"""The bytes of an index are what docs/index-format.md says: a reader that knows only that page finds it all.

Nothing of the package is used to read. So a change by which older indexes could not be read fails here.
"""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import lmdb
import numpy as np
import pytest

from scrapy_neardup.index import Documents, LmdbIndex

from .small import HEADER, SMALL, documents, note_of

if TYPE_CHECKING:
    from pathlib import Path

RECORD = np.dtype([("time", "<u4"), ("tag", "<u8")])
#: A family of four permuted tables of blocks of 16 bits, and one of equal keys.
KEYS, TABLES = 2, 5
COUNT, LOGGED = 1500, 40
GONE = [5, 700, COUNT + 3]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[bytes, bytes]]:
    """All databases of an index of a run, a log and tombstones in both."""
    path = tmp_path_factory.mktemp("format") / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        index.add(some(0, COUNT))
        index.compact()
        index.add(some(COUNT, COUNT + LOGGED))
        index.discard(GONE)
        index.flush()
    return databases(path)


def some(start: int, stop: int) -> Documents:
    """Documents with fingerprints all over the range, and few distinct bytes in the upper half of a time."""
    made = documents(
        [fingerprint(number) for number in range(start, stop)], [f"u{n}" for n in range(start, stop)]
    )
    made.records["time"] = 1_700_000_000 + np.arange(start, stop)
    return Documents(made.keys, made.records, [url(number) for number in range(start, stop)], made.notes)


def fingerprint(number: int) -> int:
    return number * 0x9E3779B97F4A7C15 % (1 << 64)


def url(number: int) -> str:
    return "" if 64 <= number < 96 else f"https://a.example/{number}"


def databases(path: Path) -> dict[str, dict[bytes, bytes]]:
    with lmdb.open(str(path), max_dbs=5, readonly=True, lock=False, lib_version=0) as environment:
        found = {}
        for name in ("meta", "log", "documents", "runs", "dead"):
            database = environment.open_db(name.encode(), create=False)
            with environment.begin(db=database) as transaction, transaction.cursor() as cursor:
                found[name] = {bytes(key): bytes(value) for key, value in cursor}
        return found


class Block(NamedTuple):
    keys: list[list[int]]
    records: list[tuple[int, int]]
    urls: list[str]
    notes: list[bytes]


def read_block(data: bytes, *, logged: bool) -> Block:
    count, checksum = struct.unpack_from("<II", data)
    assert checksum == zlib.crc32(data[8:])
    place = 8
    keys = []
    for _ in range(KEYS if logged else 0):
        keys.append([*struct.unpack_from(f"<{count}Q", data, place)])
        place += 8 * count
    bits = "".join(f"{byte:08b}" for byte in data[place : place + 2])[: RECORD.itemsize]
    place += 2
    first = data[place : place + RECORD.itemsize]
    place += RECORD.itemsize
    rows = []
    for _ in range(count):
        row = bytearray(first)
        for at, bit in enumerate(bits):
            if bit == "1":
                row[at] = data[place]
                place += 1
        rows.append(struct.unpack("<IQ", row))
    chunks = (count + 31) // 32
    ends = struct.unpack_from(f"<{chunks}I", data, place)
    place += 4 * chunks
    urls: list[str] = []
    for number in range(chunks):
        chunk = data[place + (ends[number - 1] if number else 0) : place + ends[number]]
        urls += [u.decode() for u in zlib.decompress(chunk).split(b"\xff")] if chunk else [""] * 32
    place += ends[-1] if ends else 0
    if place == len(data):
        return Block(keys, rows, urls[:count], [b""] * count)
    ends = (0, *struct.unpack_from(f"<{count}I", data, place))
    place += 4 * count
    assert place + ends[-1] == len(data)
    notes = [data[place + start : place + end] for start, end in itertools.pairwise(ends)]
    return Block(keys, rows, urls[:count], notes)


def read_table(runs: dict[bytes, bytes], run: int, table: int, cut: int) -> list[tuple[int, int]]:
    """Return the entries (key, document) of one table of a run that is cut by *cut* bits."""
    found: list[tuple[int, int]] = []
    for partition in range(1 << cut):
        data = runs.pop(struct.pack(">IHI", run, table, partition))
        size, checksum = struct.unpack("<II", data[-8:])
        assert checksum == zlib.crc32(data[:-4])
        keys = struct.unpack_from(f"<{size}Q", data)
        numbers = struct.unpack_from(f"<{size}I", data, 8 * size)
        b = (size // 16).bit_length()
        directory = struct.unpack_from(f"<{(1 << b) + 1}I", data, 12 * size)
        assert 12 * size + 4 * ((1 << b) + 1) + 8 == len(data)
        for place in range(1 << b):
            for row in range(directory[place], directory[place + 1]):
                assert f"{keys[row]:064b}"[cut : cut + b] == (f"{place:0{b}b}" if b else "")
                assert f"{keys[row]:064b}"[:cut] == (f"{partition:0{cut}b}" if cut else "")
        assert (directory[0], directory[-1]) == (0, size)
        found += zip(keys, numbers, strict=True)
    return found


def rotated(value: int, table: int) -> int:
    """Return *value* with its block *table* before the others, which stay in their order."""
    blocks = [value >> shift & 0xFFFF for shift in (48, 32, 16, 0)]
    blocks.insert(0, blocks.pop(table))
    return int("".join(f"{block:04x}" for block in blocks), 16)


def test_the_header_and_the_state(file: dict[str, dict[bytes, bytes]]) -> None:
    meta = file["meta"]
    header = json.loads(meta[b"header"])
    assert header["format"] == 2
    assert {"families", "record", "parameters", "seed", "uuid", "created"} < header.keys()
    assert header["record"] == [["time", "<u4"], ["tag", "<u8"]]
    assert [family["keys"] for family in header["families"]] == [1, 1]
    assert meta[b"checksum"] == f"{zlib.crc32(meta[b'header']):08x}".encode()
    state = json.loads(meta[b"state"])
    (run,) = state["runs"]
    assert (state["next"], state["folded"]) == (COUNT + LOGGED, COUNT)
    assert (run["start"], run["stop"], run["documents"]) == (0, COUNT, COUNT)
    assert run["id"] < state["next_run"]
    removed = json.loads(meta[b"removed"])
    assert (removed["removals"], removed["count"]) == (state["removals"], len(GONE))


def test_the_blocks(file: dict[str, dict[bytes, bytes]]) -> None:
    for name, start, stop in (("documents", 0, COUNT), ("log", COUNT, COUNT + LOGGED)):
        number = start
        for key, value in sorted(file[name].items()):
            block = read_block(value, logged=name == "log")
            assert struct.unpack(">I", key) == (number,)
            numbers = range(number, number + len(block.urls))
            assert block.urls == [url(each) for each in numbers]
            assert block.notes == [note_of(f"u{each}") for each in numbers]
            assert block.records == [(1_700_000_000 + each, fingerprint(each) ^ each) for each in numbers]
            if name == "log":
                assert block.keys == [[fingerprint(each) for each in numbers], [*numbers]]
            number += len(block.urls)
        assert number == stop


def test_the_tables(file: dict[str, dict[bytes, bytes]]) -> None:
    (run,) = json.loads(file["meta"][b"state"])["runs"]
    runs = dict(file["runs"])
    held = zlib.decompress(runs.pop(struct.pack(">IHI", run["id"], 65535, 0)))
    assert [held[number >> 3] >> (number & 7) & 1 for number in range(COUNT)] == [1] * COUNT
    for table in range(TABLES):
        expected: list[tuple[int, int]] = [
            (rotated(fingerprint(number), table) if table < TABLES - 1 else number, number)
            for number in range(COUNT)
        ]
        assert read_table(runs, run["id"], table, run["bits"]) == sorted(expected)
    assert not runs


def test_the_tombstones(file: dict[str, dict[bytes, bytes]]) -> None:
    assert file["dead"] == {bytes(3): struct.pack(f"<{len(GONE)}H", *GONE)}


def test_a_table_of_several_partitions(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        index.add(some(0, 200))
        index.compact()
    found = databases(tmp_path)
    (run,) = json.loads(found["meta"][b"state"])["runs"]
    assert run["bits"] == 4  # 200 // 16 has so many: about 16 entries are in a partition
    for table in range(TABLES - 1):
        entries = read_table(found["runs"], run["id"], table, run["bits"])
        assert entries == sorted((rotated(fingerprint(number), table), number) for number in range(200))


def test_high_numbers_have_tombstones_of_their_own(tmp_path: Path) -> None:
    most = (1 << 14) + 2
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        index.add(some(0, most))
        index.discard([1, most - 1])
        index.flush()
    found: Any = databases(tmp_path)["dead"]
    assert found == {bytes(3): struct.pack("<H", 1), bytes((0, 0, 1)): struct.pack("<H", 1)}

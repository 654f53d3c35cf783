"""The bytes of an index are what docs/index-format.md says: a reader that knows only that page finds it all.

Nothing of the package is used to read. So a change by which older indexes could not be read fails here.
"""

from __future__ import annotations

import io
import itertools
import json
import struct
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import numpy as np
import pytest

from scrapy_neardup.index import Documents, LmdbIndex
from scrapy_neardup.index.lmdb.environment import Tuning

from .small import HEADER, documents, note_of

RECORD = np.dtype([("time", "<u4"), ("tag", "<u8")])
#: A family of four permuted tables of blocks of 16 bits, and one of equal keys.
KEYS, TABLES = 2, 5
COUNT, LOGGED = 1500, 40
GONE = [5, 700, COUNT + 3]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[bytes, bytes]]:
    """All databases of an index of a run, a log and tombstones in both."""
    path = tmp_path_factory.mktemp("format") / "index"
    tuning = Tuning(partition_entries=100)  # so that a table has several partitions
    with closing(LmdbIndex(path, HEADER, tuning=tuning)) as index:
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


def read_block(key: bytes, data: bytes, *, logged: bool) -> Block:
    checksum, count, size = struct.unpack_from("<III", data)
    assert checksum == zlib.crc32(key + data[4:])
    ends = (0, *struct.unpack_from(f"<{-(-count // size)}I", data, 12))
    first = 12 + 4 * (len(ends) - 1)
    assert first + ends[-1] == len(data)
    block = Block([[] for _ in range(KEYS if logged else 0)], [], [], [])
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        chunk, n = zlib.decompress(data[first + start : first + end]), min(size, count - number * size)
        place = 0
        for keys in block.keys:
            keys += struct.unpack_from(f"<{n}Q", chunk, place)
            place += 8 * n
        columns = [chunk[place + n * byte : place + n * (byte + 1)] for byte in range(RECORD.itemsize)]
        block.records.extend(struct.unpack("<IQ", bytes(row)) for row in zip(*columns, strict=True))
        place += n * RECORD.itemsize
        lengths = struct.unpack_from(f"<{2 * n}I", chunk, place)
        texts = io.BytesIO(chunk[place + 8 * n :])
        block.urls.extend(texts.read(length).decode() for length in lengths[:n])
        block.notes.extend(texts.read(length) for length in lengths[n:])
        assert not texts.read()
    return block


def read_table(runs: dict[bytes, bytes], run: int, table: int, cut: int) -> list[tuple[int, int]]:
    """Return the entries (key, document) of one table of a run that is cut by *cut* bits."""
    found: list[tuple[int, int]] = []
    for partition in range(1 << cut):
        key = struct.pack(">IHI", run, table, partition)
        data = runs.pop(key)
        size, checksum = struct.unpack("<II", data[-8:])
        assert checksum == zlib.crc32(key + data[:-4])
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


def read_json(data: bytes) -> Any:
    assert data[:8] == f"{zlib.crc32(data[8:]):08x}".encode()
    return json.loads(data[8:])


def test_the_header_and_the_state(file: dict[str, dict[bytes, bytes]]) -> None:
    meta = file["meta"]
    assert {*meta} == {b"header", b"state"}
    header = read_json(meta[b"header"])
    assert header["format"] == 4
    assert {"families", "record", "parameters", "seed", "uuid", "created"} < header.keys()
    assert header["record"] == [["time", "<u4"], ["tag", "<u8"]]
    assert [family["keys"] for family in header["families"]] == [1, 1]
    state = read_json(meta[b"state"])
    (run,) = state["runs"]
    assert (state["next"], state["flushed"], state["removed"]) == (COUNT + LOGGED, COUNT, 1)
    names = ("start", "stop", "documents", "bits", "newest", "removed")
    assert tuple(run[name] for name in names) == (
        0,
        COUNT,
        COUNT,
        4,
        1_700_000_000 + COUNT - 1,
        len(GONE) - 1,
    )


def test_the_blocks(file: dict[str, dict[bytes, bytes]]) -> None:
    for name, start, stop in (("documents", 0, COUNT), ("log", COUNT, COUNT + LOGGED)):
        number = start
        for key, value in sorted(file[name].items()):
            block = read_block(key, value, logged=name == "log")
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
    (run,) = read_json(file["meta"][b"state"])["runs"]
    runs = dict(file["runs"])
    for table in range(TABLES):
        expected: list[tuple[int, int]] = [
            (rotated(fingerprint(number), table) if table < TABLES - 1 else number, number)
            for number in range(COUNT)
        ]
        assert read_table(runs, run["id"], table, run["bits"]) == sorted(expected)
    assert not runs


def test_the_tombstones(file: dict[str, dict[bytes, bytes]]) -> None:
    bits = sum(1 << number for number in GONE).to_bytes(2048, "little")
    assert file["dead"] == {bytes(4): bits + struct.pack("<I", zlib.crc32(bytes(4) + bits))}

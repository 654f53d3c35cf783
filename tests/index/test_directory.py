"""What is no whole, local, matching index is refused with one clear error; it never kills Python."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import lmdb
import numpy as np
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import directory
from scrapy_neardup.index.lmdb.directory import DATA, MERGE, check_data_file, file_lock, require_index
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import create
from torture.children import Child

from .flaky import Flaky
from .small import HEADER, numbered, store, wait


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed index of 500 documents in several blocks."""
    where = tmp_path / "index"
    with closing(LmdbIndex(where, HEADER)) as index:
        for start in range(0, 500, 100):
            index.add(numbered(range(start, start + 100)))
        index.compact()
    return where


def test_a_new_data_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path, flaky: Flaky) -> None:
    (tmp_path / "data.mdb.new").write_bytes(b"x")  # of a process that was killed
    calls: list[tuple[str, bool]] = []
    flaky.hook = lambda call: calls.append((call, (tmp_path / DATA).exists()))
    LmdbIndex(tmp_path, HEADER).close()
    flaky.hook = None
    assert [there for call, there in calls if call in ("open", "commit")][:4] == [False, False, False, True]
    assert not (tmp_path / "data.mdb.new").exists()


@pytest.mark.parametrize("emptied", [False, True], ids=["missing", "empty"])
def test_a_lost_data_file(path: Path, emptied: bool) -> None:
    """One that is empty is damaged. One that is missing is made anew for a crawl, and missed by commands."""
    (path / DATA).unlink()
    if emptied:
        (path / DATA).touch()
    with pytest.raises(IndexCorrupted, match=r"should hold an index.*NEARDUP_RESET"):
        LmdbIndex(path, HEADER if emptied else None)
    with closing(LmdbIndex(path, HEADER, reset=emptied)) as index:
        assert index.gauges()["documents"] == 0


def test_garbage(path: Path) -> None:
    whole = (path / DATA).read_bytes()
    for garbage in (
        *(b"not mine", b"\1" + bytes(8191), np.random.default_rng(1).bytes(len(whole))),
        *(bytes(len(whole)), b"SQLite format 3\0" * 512, whole[: len(whole) // 8192 * 4096]),
    ):
        (path / DATA).write_bytes(garbage)
        with pytest.raises(IndexCorrupted, match=r"damaged \(.*\): restore it from a copy"):
            LmdbIndex(path, HEADER)
        assert (path / DATA).read_bytes() == garbage


def test_numbers_of_commits_that_cannot_be(path: Path) -> None:
    """LMDB would take the older of its two meta pages for the newer one, and forget the last commit.

    Each bit of both numbers is flipped. Only what looks like another order of the last commits is opened.
    """
    whole = (path / "data.mdb").read_bytes()
    places = [page * os.sysconf("SC_PAGESIZE") + 144 for page in range(2)]
    numbers = [struct.unpack_from("=Q", whole, place)[0] for place in places]
    opened = []
    for place, number in zip(places, numbers, strict=True):
        for bit in range(64):
            data = bytearray(whole)
            struct.pack_into("=Q", data, place, number ^ 1 << bit)
            (path / "data.mdb").write_bytes(data)
            try:
                check_data_file(path / "data.mdb")
            except IndexCorrupted as error:
                assert "meta pages" in str(error)  # noqa: PT017
            else:
                opened.append((number, number ^ 1 << bit))
    assert all(abs(before - after) == 2 for before, after in opened), opened


def test_garbage_beside_the_data_file_does_no_harm(path: Path) -> None:
    (path / "lock.mdb").write_bytes(b"x" * 8192)
    (path / "notes.txt").write_text("mine")
    with closing(LmdbIndex(path, HEADER)) as index:
        assert index.gauges()["documents"] == 500


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    for where in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(IndexUnavailable, match=r"cannot be opened .*: name a directory"):
            LmdbIndex(where, HEADER)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has /proc.")
def test_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert directory.file_system(Path("/proc/self")) == "proc"
    assert directory.file_system(Path("/")) not in ("", "proc")
    monkeypatch.setattr(directory, "file_system", lambda path: "nfs4")
    with pytest.raises(IndexUnavailable, match=r"network file system \(nfs4\).*local disk"):
        LmdbIndex(tmp_path, HEADER)
    assert not (tmp_path / "data.mdb").exists()


def test_address_space_limit(tmp_path: Path) -> None:
    """Where 64 GiB of address space cannot be had, less has to do."""
    code = (
        "import resource, sys; from contextlib import closing; from pathlib import Path; import numpy\n"
        "from scrapy_neardup.index import FingerprintIndex\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "with FingerprintIndex.open(sys.argv[1]) as index: print(index.add([1, 2]).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.stdout.strip(), done.returncode) == ("[0, 1]", 0), done.stderr


def test_reset_while_another_process_uses_it_is_refused(path: Path) -> None:
    def use() -> None:
        with closing(LmdbIndex(path, None)):
            (path / "open").touch()
            time.sleep(60)

    other = Child(use)
    wait((path / "open").exists)
    with pytest.raises(IndexUnavailable, match="in use and cannot be reset"):
        LmdbIndex(path, HEADER, reset=True)
    other.kill()  # its lock goes with it
    with closing(LmdbIndex(path, HEADER, reset=True)) as index:
        assert index.gauges()["documents"] == 0


def test_the_file_of_another_program_is_no_index_and_stays_what_it_is(tmp_path: Path) -> None:
    with (
        lmdb.open(str(tmp_path), max_dbs=2) as environment,
        environment.begin(write=True, db=environment.open_db(b"meta")) as write,
    ):
        write.put(b"header", b"[]")
    before = (tmp_path / DATA).read_bytes()
    with pytest.raises(IndexUnavailable, match="There is no index"):
        require_index(tmp_path)
    with pytest.raises(IndexCorrupted, match="damaged"):
        LmdbIndex(tmp_path, HEADER)
    assert (tmp_path / DATA).read_bytes() == before


def test_a_file_whose_last_pages_were_never_written_gets_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LMDB leaves out pages that a transaction has taken from the end and given back."""
    truncate, lengthened = os.truncate, []

    def note(path: Path, size: int) -> None:
        lengthened.append((path.stat().st_size, size))
        truncate(path, size)

    monkeypatch.setattr(os, "truncate", note)
    with closing(Environment(tmp_path, create=partial(create, HEADER))) as environment:
        database = environment.databases["log"]
        environment.write(
            lambda transaction: (
                transaction.put(b"key", bytes(9000), db=database),
                transaction.delete(b"key", db=database),
            )
        )
    ((before, after),) = lengthened
    assert before < after == (tmp_path / DATA).stat().st_size
    check_data_file(tmp_path / DATA)
    LmdbIndex(tmp_path, HEADER).close()


def test_others_that_open_or_close_it_at_the_same_moment_are_waited_for(tmp_path: Path, flaky: Flaky) -> None:
    tries = [0]

    def busy(call: str) -> None:
        tries[0] += call == "open"
        if call == "open" and tries[0] <= 51:
            raise lmdb.InvalidParameterError("Invalid argument")

    LmdbIndex(tmp_path, HEADER).close()
    flaky.hook = busy
    with pytest.raises(IndexUnavailable, match=r"cannot be opened \(Invalid argument\)"):
        LmdbIndex(tmp_path, HEADER)
    tries[0] = 1  # one fewer
    LmdbIndex(tmp_path, HEADER).close()


def test_it_is_opened_while_another_merges(path: Path) -> None:
    """Which may take minutes, and a crawl waits for its index."""
    opening = threading.Thread(target=lambda: LmdbIndex(path, HEADER).close(), daemon=True)
    with file_lock(path / MERGE, wait=True):
        opening.start()
        opening.join(10)
        assert not opening.is_alive()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    for expected in (0, 1):
        with closing(LmdbIndex(tmp_path / os.fsdecode(b"caf\xe9"), HEADER)) as index:
            assert index.gauges()["documents"] == expected
            store(index, 1)

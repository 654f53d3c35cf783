"""What the two meta pages of a file say: how long it is, if it was just begun."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.directory import META_BYTES, SIDECAR, is_unfinished, whole_size
from scrapy_neardup.index.lmdb.faults import DATA

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096


def meta(commit: int, last_page: int, page: int = PAGE, magic: int = 0xBEEFC0DE, version: int = 1) -> bytes:
    """A meta page of LMDB 0.9."""
    head = bytes(16) + struct.pack("=II", magic, version) + bytes(16) + struct.pack("=I", page)
    return (head.ljust(136, b"\x07") + struct.pack("=QQ", last_page, commit)).ljust(page, b"\x07")


def write(path: Path, *pages: bytes) -> Path:
    path.write_bytes(b"".join(pages))
    return path


@pytest.mark.parametrize("page", [256, 4096, 65536])
def test_a_whole_file_ends_with_the_last_page_of_the_newer_meta_page(page: int, tmp_path: Path) -> None:
    data = write(tmp_path / DATA, meta(4, 7, page), meta(3, 8, page))
    assert whole_size(data) == 8 * page
    data = write(tmp_path / DATA, meta(4, 7, page), meta(5, 8, page))
    assert whole_size(data) == 9 * page


@pytest.mark.parametrize(
    "pages",
    [
        (),
        (meta(0, 1)[:151],),
        (meta(0, 1), meta(0, 1)[:-1]),
        (meta(0, 1, magic=0xBEEFC0DF), meta(0, 1)),
        (meta(0, 1, version=2), meta(0, 1)),
        (meta(0, 1, page=255), meta(0, 1)),
        (meta(0, 1, page=128), meta(0, 1)),
        (meta(0, 1, page=PAGE + 1), meta(0, 1)),
        (meta(0, 1, page=1 << 17), meta(0, 1, page=1 << 17)),
        (meta(2, (1 << 44) // PAGE), meta(1, 1)),  # no file is so large
    ],
)
def test_what_is_no_head_of_a_file(pages: tuple[bytes, ...], tmp_path: Path) -> None:
    data = write(tmp_path / DATA, *pages)
    with pytest.raises(IndexCorrupted):
        whole_size(data)


BEGUN = {
    "two meta pages": (meta(0, 1), meta(0, 1)),
    "of a first commit": (meta(0, 1), meta(1, 1)),
    "one meta page": (meta(0, 1),),
    "cut in the second": (meta(0, 1), meta(0, 1)[:140]),
    "cut in the first": (meta(0, 1)[:40],),
    "cut before the number of the commit": (meta(0, 1)[:151],),
    "a zero": (b"\0",),
    "zeros": (bytes(META_BYTES),),
}
HELD = {
    "empty": (),
    "more zeros": (bytes(META_BYTES + 1),),
    "a third page": (meta(0, 1), meta(0, 1), b"\0"),
    "a page in use": (meta(0, 1), meta(0, 2)),
    "a page in use by the first": (meta(0, 2), meta(0, 1)),
    "a second commit": (meta(2, 1), meta(1, 1)),
    "of something else": (b"x" * 100,),
    "of another magic": (meta(0, 1, magic=0xBEEFC0DF), meta(0, 1)),
    "of another version": (meta(0, 1, version=2), meta(0, 1)),
    "cut behind the number of the commit": (meta(2, 1)[:152],),
}


@pytest.mark.parametrize("name", BEGUN)
def test_a_file_that_was_begun_is_unfinished_unless_something_was_noted(name: str, tmp_path: Path) -> None:
    write(tmp_path / DATA, *BEGUN[name])
    assert is_unfinished(tmp_path)
    (tmp_path / SIDECAR).touch()
    assert not is_unfinished(tmp_path)


@pytest.mark.parametrize("name", HELD)
def test_a_file_that_may_hold_something_is_not_unfinished(name: str, tmp_path: Path) -> None:
    write(tmp_path / DATA, *HELD[name])
    assert not is_unfinished(tmp_path)
    assert not is_unfinished(tmp_path / "nowhere")

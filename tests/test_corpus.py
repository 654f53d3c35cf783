"""Each input that once broke something goes through everything that reads such a thing, within limits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scrapy_neardup import NearDupError
from tests.helpers.readers import CORPUS, inputs, readers
from tests.helpers.sound import sound_inputs

#: Seconds of the processor's time that an input may take: most take a millisecond, some wait for pages.
SECONDS = 10
#: Bytes of all inputs together.
SIZE = 340_000

PAIRS = [
    pytest.param(name, path, id=f"{name}, {path.relative_to(CORPUS)}")
    for name, reader in readers().items()
    for path in inputs(reader.kind)
]


@pytest.mark.parametrize(("name", "path"), PAIRS)
def test_input_that_once_broke_something(name: str, path: Path, tmp_path: Path) -> None:
    """It is read or refused in a sentence, in time, and the second answer is the first."""
    started = time.process_time()
    answers = [_answer(name, path.read_bytes(), tmp_path) for _ in range(2)]
    assert answers[0] == answers[1]
    assert time.process_time() - started < SECONDS


def _answer(name: str, data: bytes, folder: Path) -> str:
    try:
        return repr(readers()[name].read(data, folder))
    except NearDupError as error:
        return f"{type(error).__name__}: {error}"


def test_sound_inputs_are_read(tmp_path: Path) -> None:
    read = set()
    for kind, data in sound_inputs():
        for name, reader in readers().items():
            if reader.kind == kind and name not in read and "Error" not in _answer(name, data, tmp_path):
                read.add(name)
    assert read == readers().keys()


def test_the_table_says_what_each_input_broke() -> None:
    table = (CORPUS / "README.md").read_text(encoding="utf-8")
    files = [
        path
        for path in CORPUS.rglob("*")
        if path.is_file() and path.name not in ("README.md", ".gitattributes")
    ]
    assert files
    for path in files:
        assert f"| `{path.relative_to(CORPUS)}` |" in table
    assert table.count("\n| `") == len(files)
    assert sum(path.stat().st_size for path in files) < SIZE

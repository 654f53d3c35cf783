"""The shim between a process and the C library (shim.c): compiled, put into a process, told what to do."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .exercise import Round

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).with_name("shim.c")
#: Kinds of calls.
WRITE, SYNC, TRUNCATE, OPEN, NAME, READ = (1 << bit for bit in range(6))
#: In the place of an error: a call writes half of what it should.
SHORT = -1
_RECORD = struct.Struct("<QQQQ")


class Call(NamedTuple):
    """A call that was recorded: what it did to which file.

    *data* is what was written at *offset*. Of an OPEN that made a file it is the path, of a change of a NAME
    the old path and the new one, which is empty if the file was deleted; both end in a zero byte.
    """

    kind: int
    file: int
    offset: int
    data: bytes


def without() -> Round | None:
    """Put the shim into this process, by starting its program again; a remark if that cannot be done."""
    if "torture-shim" in os.environ.get("LD_PRELOAD", ""):
        return None
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or compiler is None:
        return Round(remarks=["needs Linux and a C compiler (cc), so it was not done here"])
    folder = Path(sys.argv[-1])  # that of the round, see round.py
    library = folder / "torture-shim.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"],
        check=True,
        timeout=60,
    )
    clock = folder / "clock"
    clock.write_bytes(bytes(8))
    environment = {**os.environ, "LD_PRELOAD": str(library), "TORTURE_CLOCK": str(clock)}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    raise AssertionError  # another program has taken its place


def arm(folder: Path, *, log: int = -1, at: int = -1, times: int = 1, error: int = 0, kinds: int = 0) -> None:
    """Watch all files of this process in *folder*: record calls, or have some fail; see `shim_arm`."""
    library = ctypes.CDLL(None)
    whole = ctypes.c_int
    library.shim_arm.argtypes = [ctypes.c_char_p, whole, ctypes.c_long, whole, whole, whole]
    library.shim_arm(os.fsencode(folder), log, at, times, error, kinds)


def disarm() -> int:
    """Watch no more files; returns how many calls of the kinds there were."""
    library = ctypes.CDLL(None)
    library.shim_calls.restype = ctypes.c_long
    calls = int(library.shim_calls())
    library.shim_arm(b"", -1, -1, 0, 0, 0)
    return calls


def set_clock(seconds: float) -> None:
    """Have the clocks of this process and its children go so many *seconds* before that of the machine."""
    with Path(os.environ["TORTURE_CLOCK"]).open("r+b") as file:
        file.write(struct.pack("<d", seconds))


def recorded(log: Path) -> Iterator[Call]:
    """Yield the calls in *log*, in the order in which they took effect."""
    data, place = log.read_bytes(), 0
    while place < len(data):
        kind, file, offset, size = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        yield Call(kind, file, offset, data[place : place + size])
        place += size

"""Processes: the command line as one, which ones others have started and whether they run, free ports."""

import contextlib
import socket
import sys
import time
from pathlib import Path

_PROGRAM = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
from scrapy_neardup.cli import main

main()
"""
#: ``scrapy-neardup``, which heeds Ctrl-C even where the tests are a job in the background, which ignores it.
COMMAND = [sys.executable, "-c", _PROGRAM]


def children(pid: int) -> set[int]:
    """Return the processes that *pid* has started, directly or not, but for Python's own resource tracker."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(Path(entry, "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has just ended
                continue
    found, new = set[int](), {pid}
    while new := {child for child, parent in parents.items() if parent in new} - found:
        found |= new
    return {each for each in found if b"resource_tracker" not in command(each)}


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def running(pids: set[int]) -> set[int]:
    """Return those that have not ended; a zombie has."""
    found = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.add(pid)
    return found


def wait_for_none(pids: set[int], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while running(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(pids)


def free_ports(count: int) -> int:
    """Return the first of *count* consecutive free ports."""
    for first in range(18731, 28731, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as sockets:
            for port in range(first, first + count):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError("no free ports")

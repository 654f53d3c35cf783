"""A Redis server of the tests' own on a free port of this machine, or what says why there is none."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: The first of these that the system has is used.
PROGRAMS = ("redis-server", "valkey-server")
START_SECONDS = 20.0


def server_program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class RedisServer:
    """A server whose data are in *directory*. It may be killed and started again on its port."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.options = options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, name: str = "test") -> str:
        return f"redis://127.0.0.1:{self.port}/0?name={name}"

    def start(self) -> None:
        program = server_program()
        assert program is not None
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir"]
        self.process = subprocess.Popen(
            [*command, str(self.directory), "--maxmemory-policy", "noeviction", *self.options],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while self.send("PING") != b"+PONG\r\n":
            assert time.monotonic() < deadline, "the server does not start"
            assert self.process.poll() is None, "the server has ended"
            time.sleep(0.02)

    def send(self, command: str) -> bytes:
        """Send a command in plain text; return the beginning of the answer, nothing if there is no server."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(command.encode() + b"\r\n")
                return connection.recv(65536)
        except OSError:
            return b""

    def kill(self) -> None:
        """Kill it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None


@contextmanager
def running(directory: Path, *options: str) -> Iterator[RedisServer]:
    """Yield a server; skip the test where there is none, unless REDIS_REQUIRED is set."""
    if server_program() is None:
        assert not os.environ.get("REDIS_REQUIRED"), "redis-server is missing: install it"
        pytest.skip("there is no redis-server here: apt install redis-server")
    server = RedisServer(directory, *options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def until(done: Callable[[], object], *away: type[Exception], seconds: float = 30.0) -> None:
    """Wait at most so many *seconds* until *done* returns something true; it may raise *away* meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(*away):
            if done():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)

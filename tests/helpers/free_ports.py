"""Ports of this machine that nobody listens on."""

from __future__ import annotations

import contextlib
import socket


def free_ports(count: int) -> int:
    """Return the first of *count* consecutive free ports."""
    for first in range(18731, 28731, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as sockets:
            for port in range(first, first + count):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError("no free ports")

"""Messages between two processes over a socket: each takes one call of the system to send."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

#: Bytes of the pickled object, and of the body.
_SIZES = struct.Struct("<QQ")
#: Bytes that are received at first: all of most messages without a body.
_FIRST = 4096


class Channel:
    """One end of a connected stream *socket*. One thread uses it, and no message is sent before an answer."""

    def __init__(self, connection: socket.socket) -> None:
        # The program may have set a default time-out for all its sockets.
        connection.settimeout(None)
        self._socket = connection

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._socket.fileno()

    def send(self, message: object, body: bytes = b"") -> None:
        """Send an object that can be pickled, and a *body*, which pickling would copy. Raises OSError."""
        pickled = pickle.dumps(message)
        head = _SIZES.pack(len(pickled), len(body)) + pickled
        sent = self._socket.sendmsg([head, body])
        if sent < len(head) + len(body):  # a signal came in between
            self._socket.sendall((head + body)[sent:])

    def receive(self) -> tuple[Any, bytes]:
        """Return a message and its body. Raises EOFError if the other end is closed, OSError."""
        data = self._socket.recv(_FIRST)
        data += self._exactly(_SIZES.size - len(data))
        pickled, body = _SIZES.unpack_from(data)
        start = _SIZES.size + pickled
        data += self._exactly(start + body - len(data))
        return pickle.loads(data[_SIZES.size : start]), data[start:]  # noqa: S301 - from a process of ours

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        """Return so many bytes, none if *size* is not above 0."""
        parts = []
        while size > 0:
            part = self._socket.recv(size, socket.MSG_WAITALL)  # fewer if a signal came in between
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

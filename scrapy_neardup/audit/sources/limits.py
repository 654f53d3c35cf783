"""Limits on what is read from a source, so that hostile or broken input takes bounded time and memory."""

from __future__ import annotations

#: Bytes of one record, one row, one page, after decompression.
MAX_RECORD = 1 << 26
#: Bytes read from a file since its last document: what follows is not looked at.
MAX_BARREN = 1 << 28
#: Broken records of a file since its last document.
MAX_PROBLEMS = 100_000
#: Brackets and commas of one JSON record: an empty list takes 2 bytes there, and 56 in memory.
MAX_ELEMENTS = 2_000_000
#: Brackets within brackets; Python's parser gives up earlier.
MAX_DEPTH = 1000
#: Bytes of memory that decompressing a file of its own may ask for: 64 MiB is the most that ``xz -9`` does.
MAX_DICTIONARY = 1 << 27
#: Bytes of HTTP headers, or of the other small files of a cache.
MAX_HEADERS = 1 << 16
#: Characters of a URL.
MAX_URL = 1 << 16


class Unreadable(Exception):
    """A record, or the rest of a file, cannot be read; the message says why."""


def megabytes(count: int) -> str:
    """Write a limit for people."""
    return f"{count >> 20} MiB"

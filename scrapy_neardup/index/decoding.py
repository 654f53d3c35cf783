"""Reading stored bytes, which may be damaged: whatever that raises becomes `IndexCorrupted`."""

from __future__ import annotations

import struct
import zlib

from scrapy_neardup.errors import IndexCorrupted

#: The errors that reading a damaged value may raise.
UNREADABLE = (
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    SyntaxError,  # of a description of records
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


class decoding:  # noqa: N801  # as a generator it would make each search slower
    """A block in which errors of reading a stored value become `IndexCorrupted`.

    *what* begins the sentence.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UNREADABLE):
            raise IndexCorrupted(
                f"{self._what} cannot be read ({error}): run `scrapy-neardup index check`."
            ) from error

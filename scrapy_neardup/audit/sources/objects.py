"""Cutting a stream of JSON into its outermost objects, without parsing it or holding more than one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .limits import MAX_DEPTH, MAX_ELEMENTS, MAX_RECORD, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: What stands between objects: white space, commas and the brackets of arrays.
_GAP = re.compile(rb"[\s,\[\]]*")
#: The inside of a string, as far as there is no line break in it: what JSON strings are made of between
#: quotes.
_STRING = re.compile(rb'[^"\\\n]*(?:\\[^\n][^"\\\n]*)*')
#: Whole strings, and what is between them other than brackets and braces.
_FLAT = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*")*')
_BRACE, _QUOTE, _BACKSLASH, _LINE_BREAK = b'{"\\\n'
_OPENING = b"{["
_BOM = b"\xef\xbb\xbf"


def split_objects(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes | str]]:
    """Yield the outermost objects of *chunks*, numbered from 1; a str tells what is wrong with one.

    Arrays around them may be open, closed and many, as crawls leave them that were killed and append to a
    feed. An object that breaks off within a string ends with the line, since strings have no line breaks; so
    does one that is too complex.
    """
    splitter = _Splitter()
    first = True
    for chunk in chunks:
        yield from splitter.feed(chunk.removeprefix(_BOM) if first else chunk)
        first = False
    yield from splitter.finish(empty=first)


class _Splitter:
    """Where a stream of JSON stands: between objects, in one, in a string of it, or in what is no JSON."""

    def __init__(self) -> None:
        self._chunk = b""
        #: Places in the chunk: what comes next, and where the part of the current object in it starts.
        self._at = self._start = 0
        #: Number of the current object, from 1; and of the arrays that are open around it, less those closed.
        self._number = self._arrays = 0
        #: How many brackets of the current object are open; 0 between objects.
        self._depth = 0
        #: Brackets of the current object; quotes in those chunks that it does not end in.
        self._brackets = self._quotes = 0
        self._in_string = self._escaped = self._in_junk = self._in_bad_line = False
        #: Parts of the current object from earlier chunks, and its bytes so far.
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes | str]]:
        """Yield the objects that end in *chunk*, which follows the chunks before, and the faults in it."""
        self._chunk, self._at, self._start = chunk, 0, 0
        while self._at < len(chunk):
            found = self._step()
            if found is not None:
                yield self._number, found
        if self._depth:
            fault = self._carry_over()
            if fault is not None:
                yield self._number, fault

    def finish(self, *, empty: bool) -> Iterator[tuple[int, str]]:
        """Yield what is missing at the end of the stream; *empty* says that it had no chunk at all."""
        if self._depth:
            yield self._number, "the file ends in the middle of it"
        elif self._arrays > 0 or empty:
            yield self._number + 1, "the file ends without the end of its array"

    # Each of the following goes on from self._at, and returns an object that is complete, or a fault, if it
    # finds one.

    def _step(self) -> bytes | str | None:
        """Go past what comes next, which depends on where the stream stands."""
        if self._in_bad_line:
            self._skip_bad_line()
            return None
        if not self._depth:
            return self._enter_object()
        if self._in_string:
            return self._skip_string()
        return self._go_on_in_object()

    def _carry_over(self) -> str | None:
        """Keep what the chunk has of an object that it does not end."""
        self._keep(self._chunk[self._start :])
        self._quotes += self._chunk.count(b'"', self._start)
        return self._too_complex() if self._quotes > 2 * MAX_ELEMENTS else None

    def _skip_bad_line(self) -> None:
        """Go to the end of a line whose object has too many brackets."""
        end = self._chunk.find(b"\n", self._at)
        self._in_bad_line = end < 0
        self._at = len(self._chunk) if end < 0 else end

    def _enter_object(self) -> str | None:
        """Go past the first brace of the next object; of what is there instead, up to the next brace."""
        chunk = self._chunk
        gap = _GAP.match(chunk, self._at)
        assert gap
        self._count_arrays(gap[0])
        self._start = self._at = gap.end()
        if self._at == len(chunk):
            return None
        if chunk[self._at] == _BRACE:
            self._in_junk = False
            self._number += 1
            self._depth = 1
            self._at += 1
            return None
        brace = chunk.find(b"{", self._at)
        end = len(chunk) if brace < 0 else brace
        self._count_arrays(chunk[self._at : end])
        self._at = end
        if self._in_junk:  # this was reported already
            return None
        self._in_junk = True
        self._number += 1
        return "not a JSON object"

    def _skip_string(self) -> str | None:
        """Go to the end of a string; at a line break, which strings do not have, the object is over."""
        chunk = self._chunk
        if self._escaped:
            self._escaped = False
            self._at += chunk[self._at] != _LINE_BREAK
        string = _STRING.match(chunk, self._at)
        assert string
        end = string.end()
        self._at = min(end + 1, len(chunk))
        if end == len(chunk):
            return None
        if chunk[end] == _QUOTE:
            self._in_string = False
        elif chunk[end] == _BACKSLASH and end + 1 == len(chunk):
            self._escaped = True
        else:
            self._reset()
            self._in_junk = True
            return "a string does not end"
        return None

    def _go_on_in_object(self) -> bytes | str | None:
        """Go past the next bracket of an object, or into a string that the chunk does not end."""
        flat = _FLAT.match(self._chunk, self._at)
        assert flat
        self._at = flat.end() + 1
        if self._at > len(self._chunk):
            return None
        mark = self._chunk[self._at - 1]
        self._brackets += mark != _QUOTE
        if self._brackets > MAX_ELEMENTS or self._depth > MAX_DEPTH:
            return self._too_complex()
        if mark == _QUOTE:
            self._in_string = True
        elif mark in _OPENING:
            self._depth += 1
        else:
            self._depth -= 1
            if not self._depth:
                return self._whole()
        return None

    def _too_complex(self) -> str:
        """Give up the current object, and with it the rest of its line."""
        self._reset()
        self._in_junk = self._in_bad_line = True
        return "too many brackets or strings"

    def _count_arrays(self, between: bytes) -> None:
        self._arrays += between.count(b"[") - between.count(b"]")

    def _keep(self, part: bytes) -> None:
        """Add a part of the current object; of one that is too long only the size is kept."""
        self._size += len(part)
        if self._size > MAX_RECORD:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _whole(self) -> bytes | str:
        """Return the object that ends here, and forget it."""
        self._keep(self._chunk[self._start : self._at])
        whole = f"longer than {megabytes(MAX_RECORD)}" if self._size > MAX_RECORD else b"".join(self._parts)
        self._reset()
        return whole

    def _reset(self) -> None:
        """Forget the current object."""
        self._depth = self._size = self._brackets = self._quotes = 0
        self._in_string = self._escaped = False
        self._parts = []

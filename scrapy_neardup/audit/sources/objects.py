"""Cutting a stream of JSON into its outermost objects, without parsing it and without holding more than one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .limits import MAX_DEPTH, MAX_ELEMENTS, MAX_RECORD, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_GAP = re.compile(rb"[\s,\[\]]*")
_STRING = re.compile(rb'[^"\\\n]*(?:\\[^\n][^"\\\n]*)*')
#: Whole strings, and what is between them.
_FLAT = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*")*')
_BRACE, _QUOTE, _BACKSLASH, _LINE_BREAK = b'{"\\\n'
_OPENING = b"{["
_BOM = b"\xef\xbb\xbf"


def split_objects(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes | str]]:
    """Yield the outermost objects of *chunks*, numbered from 1; a str tells what is wrong with one.

    Arrays around them may be open, closed and many, as crawls leave them that were killed and append to a feed. An
    object that breaks off within a string ends with the line, since strings have no line breaks; so does one that
    is too complex.
    """
    splitter = _Splitter()
    first = True
    for chunk in chunks:
        yield from splitter.feed(chunk.removeprefix(_BOM) if first else chunk)
        first = False
    yield from splitter.finish(empty=first)


class _Splitter:
    def __init__(self) -> None:
        self._number = 0
        self._arrays = 0
        self._depth = 0  # of brackets, in the current object
        self._brackets = self._quotes = 0  # in the current object
        self._in_string = self._escaped = self._in_junk = self._in_bad_line = False
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes | str]]:
        start = at = 0
        while at < len(chunk):
            if self._in_bad_line:
                end = chunk.find(b"\n", at)
                self._in_bad_line = end < 0
                at = len(chunk) if end < 0 else end
            elif not self._depth:
                gap = _GAP.match(chunk, at)
                assert gap
                self._count_arrays(gap[0])
                start = at = gap.end()
                if at == len(chunk):
                    break
                if chunk[at] != _BRACE:
                    if not self._in_junk:
                        self._in_junk = True
                        self._number += 1
                        yield self._number, "not a JSON object"
                    brace = chunk.find(b"{", at)
                    self._count_arrays(chunk[at : brace if brace >= 0 else None])
                    at = len(chunk) if brace < 0 else brace
                    continue
                self._in_junk = False
                self._number += 1
                self._depth = 1
                at += 1
            elif self._in_string:
                at = self._skip_string(chunk, at)
                if not self._depth:
                    self._reset()
                    self._in_junk = True
                    yield self._number, "a string does not end"
            else:
                flat = _FLAT.match(chunk, at)
                assert flat
                at = flat.end() + 1
                if at > len(chunk):
                    break
                mark = chunk[at - 1]
                self._brackets += mark != _QUOTE
                if self._brackets > MAX_ELEMENTS or self._depth > MAX_DEPTH:
                    yield self._too_complex()
                elif mark == _QUOTE:  # of a string that goes on in the next chunk, or is broken
                    self._in_string = True
                elif mark in _OPENING:
                    self._depth += 1
                else:
                    self._depth -= 1
                    if not self._depth:
                        self._keep(chunk[start:at])
                        yield self._number, self._whole()
                        self._reset()
        if self._depth:
            self._keep(chunk[start:])
            self._quotes += chunk.count(b'"', start)
            if self._quotes > 2 * MAX_ELEMENTS:
                yield self._too_complex()

    def finish(self, *, empty: bool) -> Iterator[tuple[int, str]]:
        if self._depth:
            yield self._number, "the file ends in the middle of it"
        elif self._arrays > 0 or empty:
            yield self._number + 1, "the file ends without the end of its array"

    def _skip_string(self, chunk: bytes, at: int) -> int:
        """Go on within a string; at a line break, which cannot be there, the object is over."""
        if self._escaped:
            self._escaped = False
            at += chunk[at] != _LINE_BREAK
        string = _STRING.match(chunk, at)
        assert string
        at = string.end()
        if at == len(chunk):
            return at
        if chunk[at] == _QUOTE:
            self._in_string = False
        elif chunk[at] == _BACKSLASH and at + 1 == len(chunk):
            self._escaped = True
        else:
            self._depth = 0
        return at + 1

    def _too_complex(self) -> tuple[int, str]:
        self._reset()
        self._in_junk = self._in_bad_line = True
        return self._number, "too many brackets or strings"

    def _count_arrays(self, between: bytes) -> None:
        self._arrays += between.count(b"[") - between.count(b"]")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_RECORD:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _whole(self) -> bytes | str:
        if self._size > MAX_RECORD:
            return f"longer than {megabytes(MAX_RECORD)}"
        return b"".join(self._parts)

    def _reset(self) -> None:
        self._depth = self._size = self._brackets = self._quotes = 0
        self._in_string = self._escaped = False
        self._parts = []

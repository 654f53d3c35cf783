"""Opening an index on a server: its header, which each of its parts has; beginning one, and deleting one."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress

from scrapy_neardup.arguments import require_whole
from scrapy_neardup.errors import IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header

from .layout import FIRST_MORE, VERSION
from .server import MOST_PARTS, Server, require_fit

_ANEW = "use another name, or start anew with NEARDUP_RESET or reset=True."


def open_header(
    server: Server, wanted: Header | None, ignore: Collection[str], *, window: float, reset: bool
) -> Header:
    """Return the header of the index; a new one gets the header *wanted*.

    Raises what `open_index` does.
    """
    address = server.address
    for prefix in address.prefixes:
        require_fit(server, window, prefix)
    if reset:
        _erase(server)
    # If a server has lost one part, others know.
    there = filter(None, (read_header(server, prefix) for prefix in address.prefixes))
    header, parts = next(there, (wanted, address.parts))
    if header is None:
        raise IndexUnavailable(f"There is no index in {address.shown}: name one that is there.")
    first = first_number(server)
    for prefix in address.prefixes:
        made, parts = make_part(server, header, prefix, first)
        header = made if prefix == address.prefix else header
        if parts != address.parts:
            raise IndexMismatch(
                f"The index in {address.shown} has {parts} parts: say parts={parts} in its URL, {_ANEW}"
            )
        if made.uuid != header.uuid:
            raise IndexCorrupted(f"Parts of another index are in {address.shown}: {_ANEW}")
    if wanted is not None:
        header.require(wanted, address.shown, ignore)
    return header


def read_header(server: Server, prefix: bytes) -> tuple[Header, int] | None:
    """Return the header that a part has and how many parts there are, None if there is no index."""
    data = server.call("GET", prefix + b"header", prefix=prefix)
    if data is None:
        return None
    try:
        version, header, *rest = json.loads(data)
        text, (parts,) = json.dumps(header).encode(), rest or [1]
        require_whole("parts", parts, 1, MOST_PARTS)
    except (ValueError, TypeError, RecursionError) as error:
        what = f"The header of the index in {server.address.shown} cannot be read ({error}): {_ANEW}"
        raise IndexCorrupted(what) from error
    if version != VERSION:
        raise IndexMismatch(
            f"The index in {server.address.shown} has the layout {version}, this version of scrapy-neardup "
            f"knows {VERSION}: use the version that made it, {_ANEW}"
        )
    return Header.from_json(text), parts


def make_part(server: Server, header: Header, prefix: bytes, first: int) -> tuple[Header, int]:
    """Make a part of an index with *header* that begins with a number, unless it is there.

    Returns what `read_header` does then: somebody else may have been faster.
    """
    data = json.dumps([VERSION, json.loads(header.to_json()), server.address.parts])
    values: list[bytes | str | int] = [prefix + b"header", data, prefix + b"id", header.uuid]
    values += [prefix + b"n", first - 1, prefix + b"g", f"{first}:{FIRST_MORE}"]
    server.call("MSETNX", *values, prefix=prefix)
    if there := read_header(server, prefix):
        return there
    raise IndexCorrupted(f"The index in {server.address.shown} has lost its header: {_ANEW}")


def first_number(server: Server, after: int = 0) -> int:
    """Return a number beyond all given, and *after*: no server is given a million documents in a second."""
    seconds, microseconds = server.call("TIME")
    return max(int(seconds) * 1_000_000 + int(microseconds), after)


def _erase(server: Server) -> None:
    """Delete all keys of the index: first those that others know it by."""
    address = server.address
    prefixes = {*address.prefixes}
    with suppress(IndexUnavailable, IndexMismatch):  # one that cannot be read goes, too
        if there := read_header(server, address.prefix):
            prefixes.update(address._replace(parts=there[1]).prefixes)
    for prefix in prefixes:
        server.call("DEL", *(prefix + name for name in (b"id", b"header", b"n", b"g")), prefix=prefix)
    for prefix in prefixes:
        cursor = None
        while cursor != 0:
            # A name has none of the signs that patterns have, and the braces are none.
            found = ("SCAN", cursor or 0, "MATCH", prefix + b"*", "COUNT", 1000)
            cursor, keys = server.call(*found, prefix=prefix)
            if keys:
                server.call("UNLINK", *keys, prefix=prefix)

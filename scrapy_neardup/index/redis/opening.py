"""Opening an index on a server: its header, which each of its parts has; beginning one, and deleting one."""

from __future__ import annotations

import json
from collections.abc import Collection

from scrapy_neardup.arguments import require_whole
from scrapy_neardup.errors import IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header

from .layout import FIRST_MORE, VERSION
from .server import MOST_PARTS, Server, prefix_of, require_fit

_ANEW = "use another name, or start anew with NEARDUP_RESET or reset=True."


def open_header(
    server: Server, wanted: Header | None, ignore: Collection[str], *, window: float, reset: bool
) -> tuple[Header, list[bytes]]:
    """Return the header of the index, and what the keys of its parts begin with.

    A new one gets the header *wanted*. Raises what `open_index` does.
    """
    address = server.address
    require_fit(server, window)
    if reset:
        _erase(server)
    found = read_header(server, address.prefix)
    if found is None:  # if the first part was lost, others know
        found = next((_parsed(server, data) for _, data in _headers(server)), None)
    header, parts = found or (wanted, address.parts or 1)
    if header is None:
        raise IndexUnavailable(f"There is no index in {address.shown}: name one that is there.")
    first = first_number(server)
    header, parts = make_part(server, header, address.prefix, parts, first)
    for prefix in address.prefixes(parts)[1:]:
        require_fit(server, window, prefix)
        if make_part(server, header, prefix, parts, first)[0].uuid != header.uuid:
            raise IndexCorrupted(f"Parts of another index are in {address.shown}: {_ANEW}")
    if wanted is not None:
        header.require(wanted, address.shown, ignore)
    return header, address.prefixes(parts)


def read_header(server: Server, prefix: bytes) -> tuple[Header, int] | None:
    """Return the header that a part has and how many parts there are, None if there is no index."""
    data = server.call("GET", prefix + b"header", prefix=prefix)
    return None if data is None else _parsed(server, data)


def _parsed(server: Server, data: bytes) -> tuple[Header, int]:
    """Return what `read_header` does of a header as it stands on the server."""
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


def _headers(server: Server) -> list[tuple[int, bytes]]:
    """Return the headers under the name of the index, each with the number of parts that may be there.

    Of each number of parts those are asked that are farthest from the first: on any other node.
    """
    every = range(1, MOST_PARTS + 1)
    places = [(parts, each) for parts in every for each in {parts // 2, (parts + 1) // 2 % parts}]
    prefixes = [prefix_of(server.address.prefix, each, parts) for parts, each in places]
    found = server.send([(prefix, ("GET", prefix + b"header")) for prefix in prefixes])
    for answer in found:
        if isinstance(answer, IndexUnavailable):
            raise answer
    return [(parts, data) for (parts, _), data in zip(places, found, strict=True) if data is not None]


def make_part(server: Server, header: Header, prefix: bytes, parts: int, first: int) -> tuple[Header, int]:
    """Make a part of an index with *header* that begins with a number, unless it is there.

    Returns what `read_header` does then: somebody else may have been faster.
    """
    if there := read_header(server, prefix):
        return there
    data = json.dumps([VERSION, json.loads(header.to_json()), *[parts] * (parts > 1)])
    values: list[bytes | str | int] = [prefix + b"header", data, prefix + b"id", header.uuid]
    values += [prefix + b"n", first - 1, prefix + b"g", f"{first}:{FIRST_MORE}"]
    if server.call("MSETNX", *values, prefix=prefix):
        return header, parts
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
    numbers = {address.parts or 1, *(parts for parts, _ in _headers(server))}
    prefixes = {prefix for parts in numbers for prefix in address.prefixes(parts)}
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

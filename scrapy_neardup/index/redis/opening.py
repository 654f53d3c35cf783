"""Making a new index on a server, or verifying that the one that is there is the one wanted."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from scrapy_neardup.errors import ConfigurationError, IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header

from .layout import EPOCH_BITS, NEAR_BITS, VERSION, epoch_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from .server import Server

logger = logging.getLogger(__name__)

#: The oldest server that has what is used here.
OLDEST = (6, 2)


def open_header(
    server: Server, wanted: Header | None, ignore: Collection[str], *, window: float, reset: bool
) -> Header:
    """Return the header of the index. A new index gets the header *wanted*.

    Raises `IndexMismatch` if the header differs from *wanted* in more than the parameters named in *ignore*,
    `IndexCorrupted` if it cannot be read, `IndexUnavailable` if there is none and *wanted* is None,
    `ConfigurationError` for a server that does not fit.
    """
    require_fit(server, window)
    if reset:
        erase(server)
    header = read_header(server)
    if header is None:
        if wanted is None:
            raise IndexUnavailable(f"There is no index in {server.address.shown}: name one that is there.")
        header = write_header(server, wanted)
    if wanted is not None:
        header.require(wanted, server.address.shown, ignore)
    for family in header.families:
        if not family.equal and min(family.tables.prefix_bits) < NEAR_BITS:
            raise ConfigurationError(
                f"An index on a server needs tables whose prefixes have {NEAR_BITS} bits, "
                f"not {min(family.tables.prefix_bits)}: use 4, 10 or 20 tables."
            )
    return header


def read_header(server: Server) -> Header | None:
    """Return the header of the index, None if there is no index."""
    data = server.call("GET", server.address.prefix + b"header")
    if data is None:
        return None
    try:
        version, header, *first = json.loads(data)
        text = json.dumps(header).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexCorrupted(
            f"The header of the index in {server.address.shown} cannot be read ({error}): "
            "use another name, or start anew with NEARDUP_RESET or reset=True."
        ) from error
    if version != VERSION:
        raise IndexMismatch(
            f"The index in {server.address.shown} has the layout {version} and this version of "
            f"scrapy-neardup knows layout {VERSION}: use the version that made it, another name, "
            "or start anew with NEARDUP_RESET or reset=True."
        )
    if len(first) != 1 or type(first[0]) is not int:
        raise IndexCorrupted(
            f"The header of the index in {server.address.shown} does not say where its numbers begin: "
            "use another name, or start anew with NEARDUP_RESET or reset=True."
        )
    return Header.from_json(text)


def documents_added(server: Server) -> int:
    """Return how many documents were ever filed in the index, which is there."""
    newest, header = (server.call("GET", server.address.prefix + name) for name in (b"n", b"header"))
    return int(newest) + 1 - int(json.loads(header)[2])


def write_header(server: Server, header: Header, last_epoch: int = 0) -> Header:
    """Make an index with *header*, unless somebody was faster; return the header that it has now.

    Its documents have numbers after those of *last_epoch*, and of any index that the server has lost.
    """
    prefix = server.address.prefix
    # The clock runs ahead of the numbers that any index has given: 2**20 of them stand for a second, and no
    # server is given so many documents in that time.
    seconds, _ = server.call("TIME")
    first = max(epoch_of(int(seconds) << 20), last_epoch) + 1 << EPOCH_BITS
    data = json.dumps([VERSION, json.loads(header.to_json()), first])
    values: list[bytes | str | int] = [prefix + b"header", data, prefix + b"id", header.uuid]
    made = server.call("MSETNX", *values, prefix + b"n", first - 1)
    if made:
        return header
    stored = read_header(server)
    if stored is None:
        raise IndexCorrupted(
            f"The index in {server.address.shown} has lost its header: "
            "start anew with NEARDUP_RESET or reset=True."
        )
    return stored


def erase(server: Server) -> None:
    """Delete all keys of the index: first those that others know it by."""
    prefix = server.address.prefix
    server.call("DEL", prefix + b"id", prefix + b"header", prefix + b"n")
    pattern = (
        b"".join(b"\\" + bytes([each]) if each in rb"*?[]\\" else bytes([each]) for each in prefix) + b"*"
    )
    cursor: bytes | int = 0
    while True:
        cursor, keys = server.call("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
        if keys:
            server.call("UNLINK", *keys)
        if int(cursor) == 0:
            return


def require_fit(server: Server, window: float) -> None:
    """Raise `ConfigurationError` for a server that is too old, or that may drop keys of the index."""
    shown = server.address.shown
    try:
        info = _info(server)
    except IndexUnavailable as error:
        if "NOPERM" not in str(error) and "no permissions" not in str(error):
            raise
        logger.warning("%s does not let this user ask for INFO, so its eviction policy is not known.", shown)
        return
    parts = info.get("redis_version", "").split(".")[:2]
    if not all(part.isdecimal() and len(part) < 10 for part in parts) or tuple(map(int, parts)) < OLDEST:
        raise ConfigurationError(f"{shown} runs Redis {info.get('redis_version')}: use 6.2 or newer.")
    policy = info.get("maxmemory_policy", "noeviction")
    drops = policy.startswith("allkeys") or (window > 0 and policy.startswith("volatile"))
    if drops and info.get("maxmemory", "0") != "0":
        raise ConfigurationError(
            f"{shown} drops keys when its memory is full (maxmemory-policy {policy}), and would forget "
            "documents unnoticed: set maxmemory-policy noeviction, or use another server."
        )


def _info(server: Server) -> dict[str, str]:
    """Return what the server says of itself."""
    facts: dict[str, str] = {}
    for section in ("server", "memory"):
        lines = server.call("INFO", section).decode("utf-8", "replace").splitlines()
        facts.update(line.split(":", 1) for line in lines if ":" in line)
    return facts

"""The script that runs on the server: several steps at a time, and nothing comes in between.

Numbers are sent as text. See layout.py for the names of keys. The first key is ``id``, and the first two
arguments are the identity of the index and the prefix of its keys; then come the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .script_filing import FILE
from .script_finding import FETCH, LEASES, LOOK
from .script_parts import BEGIN, BUCKETS, DOCUMENTS, END
from .script_settling import CONFIRM, REMOVE, RENEW

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT = f"{BEGIN}{DOCUMENTS}{BUCKETS}{LOOK}{FILE}{FETCH}{LEASES}{RENEW}{CONFIRM}{REMOVE}{END}"


class Call(NamedTuple):
    """One step with its keys and its arguments."""

    step: str
    keys: Sequence[bytes]
    arguments: Sequence[bytes | str | int]


def packed(identity: str, prefix: bytes, calls: Sequence[Call]) -> list[bytes | str | int]:
    """Return the number of keys, the keys and the arguments of a run of the script that makes *calls*."""
    keys = [prefix + b"id"]
    arguments: list[bytes | str | int] = [identity, prefix]
    for step, more, of_step in calls:
        keys += more
        arguments += (step, len(more), len(of_step), *of_step)
    return [len(keys), *keys, *arguments]

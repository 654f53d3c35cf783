"""The calls of a server: scripts, errors in plain words, and a circuit breaker.

Every call may take as long as the network does, up to the time-outs. After some failures in a row nobody asks
the server for a while, and each call fails at once; then one call tries whether it is back.
"""

from __future__ import annotations

import logging
import threading
import time
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import DependencyUnavailable, IndexUnavailable

try:
    import redis
    from redis.sentinel import MasterNotFoundError

    from .connections import ANSWER_SECONDS, Connections
except ImportError as error:
    raise DependencyUnavailable(
        f"An index on a server needs redis-py and hiredis ({error}): pip install 'scrapy-neardup[redis]'."
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .address import Address

logger = logging.getLogger(__name__)

#: Calls of one index at a time: more wait for each other.
AT_ONCE = 32
#: So many failures in a row open the circuit, for seconds that double up to the last.
FAILURES, FIRST_PAUSE, LAST_PAUSE = 3, 1.0, 15.0
#: What a server says that has lost the index.
GONE = "NEARDUPGONE"


class Call(NamedTuple):
    """A script of scripts.py with its keys and its arguments."""

    script: str
    keys: Sequence[bytes]
    arguments: Sequence[bytes | str | int]


class IndexGone(IndexUnavailable):
    """The index is not on the server any more, or another one is there."""


class Server:
    """Calls of one server at *address*. Its methods may be called from any thread."""

    def __init__(
        self, address: Address, *, answer_seconds: float = ANSWER_SECONDS, first_pause: float = FIRST_PAUSE
    ) -> None:
        self.address = address
        self._first_pause = first_pause
        self._connections = Connections(address, answer_seconds)
        #: Calls that may be under way at a time.
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = first_pause
        #: When the server is asked again, by `time.monotonic`.
        self._closed_until = 0.0
        #: Whether it was said that the server fails.
        self._said = False
        #: Calls that failed, and calls that were not made because others had failed.
        self.failed = self.skipped = 0
        #: Changes whenever a call has failed: what was read before may not be there any more.
        self.age = 0

    def call(self, *command: bytes | str | int) -> Any:
        """Send one *command*; return its answer. Raises `IndexUnavailable`."""
        (answer,) = self._guarded([command], [None])
        return answer

    def run(self, call: Call) -> Any:
        """Run a script. Raises `IndexUnavailable`, or `IndexGone`."""
        (answer,) = self.run_all([call])
        return answer

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Run scripts in one round trip; return their answers. Raises as `run` does, if one of them fails."""
        commands = [
            ("EVALSHA", _digest(script), len(keys), *keys, *arguments) for script, keys, arguments in calls
        ]
        return self._guarded(commands, [call.script for call in calls])

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _guarded(
        self, commands: Sequence[Sequence[bytes | str | int]], scripts: Sequence[str | None]
    ) -> list[Any]:
        """Send *commands* in one round trip, each with the script that it calls; return their answers."""
        self._require_asked()
        try:
            with self._turns:
                answers = self._connections.send(commands)
                for row, script in enumerate(scripts):
                    # The server is new, or has forgotten its scripts.
                    if script is not None and isinstance(answers[row], redis.exceptions.NoScriptError):
                        (answers[row],) = self._connections.send([("EVAL", script, *commands[row][2:])])
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._note(error) from error
        if self._failures or self._said:
            self._note_answer()
        return answers

    def _require_asked(self) -> None:
        """Raise `IndexUnavailable` while the circuit is open; let one call pass after each pause."""
        with self._lock:
            now = time.monotonic()
            if self._failures < FAILURES:
                return
            if now >= self._closed_until:
                self._closed_until = now + self._pause + ANSWER_SECONDS  # others wait for this one
                return
            self.skipped += 1
        raise IndexUnavailable(f"The index {self.address.shown} does not answer; it is tried again soon.")

    def _note(self, error: Exception) -> IndexUnavailable:
        """Count a failure, open the circuit if there were several; return what to raise."""
        # The client library lists all that it knows of all Sentinels.
        unknown = isinstance(error, MasterNotFoundError)
        text = "no Sentinel names a server that is written to" if unknown else str(error)
        with self._lock:
            self.failed += 1
            self.age += 1
            self._failures += 1
            if self._failures >= FAILURES:
                self._closed_until = time.monotonic() + self._pause
                self._pause = min(2 * self._pause, LAST_PAUSE)
            say, self._said = not self._said, True
        kind = IndexGone if GONE in text else IndexUnavailable
        message = f"The index {self.address.shown} cannot be used ({text}): {_remedy(error)}"
        if say:
            logger.warning("%s Meanwhile pages pass without a verdict.", message)
        return kind(message)

    def _note_answer(self) -> None:
        with self._lock:
            self._failures, self._pause = 0, self._first_pause
            said, self._said = self._said, False
        if said:
            logger.warning("The index %s is in use again.", self.address.shown)


def _remedy(error: Exception) -> str:
    text = str(error)
    if isinstance(error, MasterNotFoundError):
        return (
            "see that the Sentinels run and know the service, and give sentinel_username and "
            "sentinel_password if they ask for them."
        )
    if "maxmemory" in text:
        return "the server is full, so give it more maxmemory or prune the index."
    if isinstance(error, (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError)):
        return "see docs/redis.md for the rights that the user needs."
    if isinstance(error, redis.exceptions.ReadOnlyError):
        return "this is a replica, so name the server that is written to."
    if GONE in text:
        return "the server has lost it, or somebody has reset it."
    return "see that the server runs and can be reached."


_digests: dict[str, str] = {}


def _digest(script: str) -> str:
    """Return the name under which a server keeps *script*."""
    if script not in _digests:
        _digests[script] = sha1(script.encode(), usedforsecurity=False).hexdigest()
    return _digests[script]

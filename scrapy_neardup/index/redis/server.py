"""The calls of a server: scripts, errors in plain words, and a circuit breaker.

Every call may take as long as the network does, up to the time-outs. After some failures in a row nobody asks
the server for a while, and each call fails at once; then one call tries whether it is back.
"""

from __future__ import annotations

import logging
import threading
import time
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import DependencyUnavailable, IndexUnavailable

try:
    import redis
    from redis.sentinel import MasterNotFoundError

    from .cluster import Refusal
    from .connections import ANSWER_SECONDS, Connections
except ImportError as error:
    raise DependencyUnavailable(
        f"An index on a server needs redis-py and hiredis ({error}): pip install 'scrapy-neardup[redis]'."
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .address import Address

logger = logging.getLogger(__name__)

#: So many failures in a row open the circuit, for seconds that double up to the last.
FAILURES, FIRST_PAUSE, LAST_PAUSE = 3, 1.0, 15.0
#: What a server says that has lost the index.
GONE = "NEARDUPGONE"


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
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = first_pause
        #: When the server is asked again, by `time.monotonic`.
        self._closed_until = 0.0
        #: Whether the server has ever answered. Until then whoever opens the index gets the error, and the
        #: log has nothing to say.
        self._has_answered = False
        #: Whether it was said that the server fails.
        self._said = False
        #: Calls that failed, and calls that were not made because others had failed.
        self.failed = self.skipped = 0
        #: Changes whenever a call has failed: what was read before may not be there any more.
        self.age = 0

    def call(self, *command: bytes | str | int) -> Any:
        """Send one *command*; return its answer. Raises `IndexUnavailable`."""
        self._require_asked()
        (answer,) = self._checked(self._sent([command]))
        if isinstance(answer, IndexUnavailable):
            raise answer
        return answer

    def run(self, script: str, runs: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
        """Run *script* some times in one round trip, each with a number of keys, these, and arguments.

        Returns the answers. In place of that of one that has failed, and in place of each error in the list
        that one answers with, stands an `IndexUnavailable`. Raises it if the server cannot be reached.
        """
        self._require_asked()
        answers = self._sent([("EVALSHA", _digest(script), *run) for run in runs])
        for row, run in enumerate(runs):
            # The server is new, or has forgotten its scripts.
            if isinstance(answers[row], redis.exceptions.NoScriptError):
                (answers[row],) = self._sent([("EVAL", script, *run)])
        each = [answer if isinstance(answer, list) else [answer] for answer in answers]
        checked = iter(self._checked([part for parts in each for part in parts]))
        return [
            [next(checked) for _ in parts] if isinstance(answer, list) else next(checked)
            for parts, answer in zip(each, answers, strict=True)
        ]

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _sent(self, commands: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
        """Send *commands* in one round trip; return their answers, some of which may be errors."""
        try:
            return self._connections.send(commands)
        except (redis.exceptions.RedisError, OSError) as error:
            self._note(error)
            raise self._unavailable(error) from error

    def _checked(self, answers: list[Any]) -> list[Any]:
        """Return *answers* with an `IndexUnavailable` in place of each error. Needs one answer."""
        errors = [answer for answer in answers if isinstance(answer, Exception)]
        if not errors:
            self._has_answered = True
            if self._failures or self._said:
                self._note_answer()
            return answers
        self._note(errors[0], is_alive=len(errors) < len(answers))
        return [self._unavailable(each) if isinstance(each, Exception) else each for each in answers]

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

    def _note(self, error: Exception, *, is_alive: bool = False) -> None:
        """Count a failure, say so once, open the circuit if there were several.

        *is_alive* says that the server has done another thing meanwhile.
        """
        with self._lock:
            self.failed += 1
            self.age += 1
            self._failures = 0 if is_alive else self._failures + 1
            if self._failures >= FAILURES:
                self._closed_until = time.monotonic() + self._pause
                self._pause = min(2 * self._pause, LAST_PAUSE)
            say = self._has_answered and not self._said
            self._said = self._said or say
        if say:
            logger.warning("%s Meanwhile pages pass without a verdict.", self._unavailable(error))

    def _unavailable(self, error: Exception) -> IndexUnavailable:
        """Return what to raise for an error."""
        # The client library lists all that it knows of all Sentinels.
        unknown = isinstance(error, MasterNotFoundError)
        text = "no Sentinel names a server that is written to" if unknown else str(error)
        kind = IndexGone if GONE in text else IndexUnavailable
        unavailable = kind(f"The index {self.address.shown} cannot be used ({text}): {_remedy(error)}")
        unavailable.__cause__ = error
        return unavailable

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
    if "cluster support disabled" in text:
        return "this server is in no cluster, so begin the URL with redis:// or rediss://."
    refusal = Refusal.of(error)
    if refusal is Refusal.MOVED:
        return "this is a node of a cluster, so use redis+cluster://host:6379,host:6379?name=news."
    if refusal is not None:
        return "see that each slot of the cluster has a node, and that the index is not being moved."
    if GONE in text:
        return "the server has lost it, or somebody has reset it."
    return "see that the server runs and can be reached."


_digests: dict[str, str] = {}


def _digest(script: str) -> str:
    """Return the name under which a server keeps *script*."""
    if script not in _digests:
        _digests[script] = sha1(script.encode(), usedforsecurity=False).hexdigest()
    return _digests[script]

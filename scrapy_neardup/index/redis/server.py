"""The server of an index: commands, scripts, a circuit breaker, errors in plain words, and the header.

Every call may take as long as the network does, up to the time-outs. After some failures in a row nobody asks
the server for a while, and each call fails at once; then one call tries whether it is back.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import (
    ConfigurationError,
    DependencyUnavailable,
    IndexCorrupted,
    IndexMismatch,
    IndexUnavailable,
)
from scrapy_neardup.index.header import Header

from .layout import EPOCH_BITS, NEAR_BITS, VERSION, epoch_of
from .scripts import DIGEST, SCRIPT

try:
    import redis
    from hiredis import pack_command
    from redis.backoff import ExponentialBackoff
    from redis.cluster import ClusterNode, RedisCluster
    from redis.connection import parse_url
    from redis.exceptions import (
        AskError,
        AuthenticationError,
        ClusterDownError,
        MovedError,
        NoPermissionError,
        NoScriptError,
        ReadOnlyError,
        RedisClusterException,
        RedisError,
        SlotNotCoveredError,
        TryAgainError,
    )
    from redis.retry import Retry
    from redis.sentinel import MasterNotFoundError, Sentinel
except ImportError as error:
    raise DependencyUnavailable(
        f"An index on a server needs redis-py and hiredis ({error}): pip install 'scrapy-neardup[redis]'."
    ) from error

if TYPE_CHECKING:
    from collections.abc import Collection

    from .address import Address

logger = logging.getLogger(__name__)

#: Seconds until a connection is made, and until an answer comes.
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 5.0
#: A connection that was not used for so many seconds is tried before it is used.
IDLE_SECONDS = 20
#: So many failures in a row open the circuit, for seconds that double up to the last.
FAILURES, FIRST_PAUSE, LAST_PAUSE = 3, 1.0, 15.0
#: What a server says that has lost the index.
GONE = "NEARDUPGONE"
#: The oldest server that has what is used here.
OLDEST = [6, 2]
_ANEW = "use another name, or start anew with NEARDUP_RESET or reset=True."


class IndexGone(IndexUnavailable):
    """The index is not on the server any more, or another one is there."""


class Server:
    """Commands for one server at *address*, or for the node that has the index.

    Its methods may be called from any thread. They raise `IndexUnavailable`.
    """

    def __init__(
        self, address: Address, *, answer_seconds: float = ANSWER_SECONDS, first_pause: float = FIRST_PAUSE
    ) -> None:
        self.address = address
        self._answer_seconds = answer_seconds
        self._backoff = ExponentialBackoff(LAST_PAUSE, first_pause)
        #: Made with the first command: a cluster is asked at once who has what.
        self._connected: Any = None
        #: Whether the cluster has to be asked again.
        self._is_stale = False
        self._lock = threading.Lock()
        self._failures = 0
        #: When the server is asked again, by `time.monotonic`.
        self._closed_until = 0.0
        #: Whether the server has ever answered. Until then whoever opens the index gets the error, and the
        #: log has nothing to say.
        self._has_answered = False
        #: Whether it was said that the server fails.
        self._said = False
        #: Calls that failed, and calls that were not made because others had failed.
        self.failed = self.skipped = 0

    def call(self, *command: bytes | str | int) -> Any:
        """Send one *command*; return its answer."""
        self._require_asked()
        return self._checked(self._execute, *command)

    def run(self, *arguments: bytes | str | int, anyway: bool = False) -> list[Any]:
        """Run the script, whose *arguments* begin with the number of keys; return the answer of each step.

        In place of each error in the list stands an `IndexUnavailable`. With *anyway* the server is asked
        although others have just failed.
        """
        if not anyway:
            self._require_asked()
        answers: list[Any] = self._checked(self._evaluate, *arguments)
        return [self._unavailable(each) if isinstance(each, Exception) else each for each in answers]

    def close(self) -> None:
        """Close the connections."""
        if self._connected is not None:
            self._connected.close()

    def _client(self) -> redis.Redis:
        """Return the client of the server, or of the node of a cluster that has the index."""
        with self._lock:
            if self._connected is None:
                self._connected = _connect(self.address, self._answer_seconds)
            if not isinstance(self._connected, RedisCluster):
                return self._connected  # type: ignore[no-any-return]
            if self._is_stale:
                self._connected.nodes_manager.initialize()
                self._is_stale = False
            node = self._connected.get_node_from_key(self.address.prefix)  # type: ignore[no-untyped-call]
            # Its own `execute_command` would go along with a slot that is being moved, and a script cannot
            # run where only some of the keys are.
            return self._connected.get_redis_connection(node)

    def _execute(self, *command: bytes | str | int) -> Any:
        """Send a *command* to the server, or to the node that has the index; return its answer as it is."""
        try:
            return _answer(self._client().connection_pool, command)
        except MovedError:
            if not self.address.hosts or self.address.service:
                raise
        self._is_stale = True  # a replica has taken over, or the slot was given to another node
        return _answer(self._client().connection_pool, command)

    def _evaluate(self, *arguments: bytes | str | int) -> Any:
        try:
            return self._execute("EVALSHA", DIGEST, *arguments)
        except NoScriptError:  # the server is new, or has forgotten its scripts
            return self._execute("EVAL", SCRIPT, *arguments)

    def _checked(self, execute: Any, *command: bytes | str | int) -> Any:
        """Return what *execute* returns for a *command*, and count whether it fails."""
        try:
            answer = execute(*command)
        except (RedisError, RedisClusterException, OSError) as error:
            self._is_stale = True
            root = _root(error)
            self._note(root)
            raise self._unavailable(root) from error
        errors = [each for each in answer if isinstance(each, Exception)] if isinstance(answer, list) else ()
        if errors:
            self._note(errors[0], is_alive=len(errors) < len(answer))
            return answer
        self._has_answered = True
        if self._failures or self._said:
            with self._lock:
                self._failures = 0
                said, self._said = self._said, False
            if said:
                logger.warning("The index %s is in use again.", self.address.shown)
        return answer

    def _require_asked(self) -> None:
        """Raise `IndexUnavailable` while the circuit is open; let one call pass after each pause."""
        with self._lock:
            now = time.monotonic()
            if self._failures < FAILURES:
                return
            if now >= self._closed_until:
                self._closed_until = now + LAST_PAUSE + ANSWER_SECONDS  # others wait for this one
                return
            self.skipped += 1
        raise IndexUnavailable(f"The index {self.address.shown} does not answer; it is tried again soon.")

    def _note(self, error: Exception, *, is_alive: bool = False) -> None:
        """Count a failure, say so once, open the circuit if there were several.

        *is_alive* says that the server has done another thing meanwhile.
        """
        with self._lock:
            self.failed += 1
            self._failures = 0 if is_alive else self._failures + 1
            if self._failures >= FAILURES:
                doublings = min(self._failures - FAILURES, 10)
                self._closed_until = time.monotonic() + self._backoff.compute(doublings)
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


def _connect(address: Address, answer_seconds: float) -> redis.Redis | RedisCluster:
    """Return a client of the server at *address*, or of its cluster."""
    # A command is sent again only if the connection was cut: one that takes too long may have been done.
    retry = Retry(ExponentialBackoff(), 1, (redis.exceptions.ConnectionError,))
    options: dict[str, Any] = {
        "socket_timeout": answer_seconds,
        "socket_connect_timeout": CONNECT_SECONDS,
        "health_check_interval": IDLE_SECONDS,
        "retry": retry,
        "client_name": "scrapy-neardup",
        "protocol": 2,
    }
    if not address.hosts:
        return redis.Redis.from_url(address.server, **options)
    options |= parse_url(address.server)  # type: ignore[no-untyped-call]
    options["ssl"] = options.pop("connection_class", None) is not None
    if not address.service:
        nodes = [ClusterNode(*host) for host in address.hosts]  # type: ignore[no-untyped-call]
        return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options)
    asking = {name: value for name, value in options.items() if name.startswith("ssl")}
    asking |= {"socket_timeout": CONNECT_SECONDS, "socket_connect_timeout": CONNECT_SECONDS, "retry": retry}
    sentinel = Sentinel(address.hosts, sentinel_kwargs=asking | dict(address.login))  # type: ignore[no-untyped-call]
    return sentinel.master_for(address.service, **options)  # type: ignore[no-untyped-call,no-any-return]


def _answer(pool: redis.ConnectionPool, command: tuple[bytes | str | int, ...]) -> Any:
    """Return the answer to a *command*. The client's own way takes twice as long, and sends some again."""
    connection = pool.get_connection()
    try:
        connection.send_packed_command([pack_command(command)])  # type: ignore[no-untyped-call,arg-type]
        return connection.read_response()
    finally:
        pool.release(connection)


def _root(error: BaseException) -> Exception:
    """Return what a node has answered for which the client library has found no cluster."""
    while isinstance(error, RedisClusterException) and (cause := error.__cause__ or error.__context__):
        error = cause
    assert isinstance(error, Exception)
    return error


def _remedy(error: Exception) -> str:
    text = str(error)
    if isinstance(error, MasterNotFoundError):
        return (
            "see that the Sentinels run and know the service, and give sentinel_username and "
            "sentinel_password if they ask for them."
        )
    if "maxmemory" in text:
        return "the server is full, so give it more maxmemory or prune the index."
    if isinstance(error, (AuthenticationError, NoPermissionError)):
        return "see docs/redis.md for the rights that the user needs."
    if isinstance(error, ReadOnlyError):
        return "this is a replica, so name the server that is written to."
    if "cluster support disabled" in text:
        return "this server is in no cluster, so begin the URL with redis:// or rediss://."
    if isinstance(error, MovedError):
        return "this is a node of a cluster, so use redis+cluster://host:6379,host:6379?name=news."
    if isinstance(error, (AskError, ClusterDownError, SlotNotCoveredError, TryAgainError)):
        return "see that each slot of the cluster has a node, and that the index is not being moved."
    if GONE in text:
        return "the server has lost it, or somebody has reset it."
    return "see that the server runs and can be reached."


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
        _erase(server)
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
    data, shown = server.call("GET", server.address.prefix + b"header"), server.address.shown
    if data is None:
        return None
    try:
        version, header, *first = json.loads(data)
        text = json.dumps(header).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexCorrupted(
            f"The header of the index in {shown} cannot be read ({error}): {_ANEW}"
        ) from error
    if version != VERSION:
        raise IndexMismatch(
            f"The index in {shown} has the layout {version} and this version of scrapy-neardup knows layout "
            f"{VERSION}: use the version that made it, another name, or start anew with NEARDUP_RESET or "
            "reset=True."
        )
    if len(first) != 1 or type(first[0]) is not int:
        raise IndexCorrupted(
            f"The header of the index in {shown} does not say where its numbers begin: {_ANEW}"
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
        raise IndexCorrupted(f"The index in {server.address.shown} has lost its header: {_ANEW}")
    return stored


def _erase(server: Server) -> None:
    """Delete all keys of the index: first those that others know it by."""
    prefix = server.address.prefix
    server.call("DEL", prefix + b"id", prefix + b"header", prefix + b"n")
    cursor: bytes | int = 0
    while True:
        # A name has none of the signs that patterns have, and the braces are none.
        cursor, keys = server.call("SCAN", cursor, "MATCH", prefix + b"*", "COUNT", 1000)
        if keys:
            server.call("UNLINK", *keys)
        if int(cursor) == 0:
            return


def require_fit(server: Server, window: float) -> None:
    """Raise `ConfigurationError` for a server that is too old, or that may drop keys of the index."""
    shown = server.address.shown
    info: dict[str, str] = {}
    try:
        for section in ("server", "memory"):
            lines = server.call("INFO", section).decode("utf-8", "replace").splitlines()
            info.update(line.split(":", 1) for line in lines if ":" in line)
    except IndexUnavailable as error:
        if not isinstance(error.__cause__, NoPermissionError) or "info" not in str(error.__cause__):
            raise
        logger.warning("%s does not let this user ask for INFO, so its eviction policy is not known.", shown)
        return
    version = info.get("redis_version", "")
    numbers = [int(part) if part.isdecimal() and len(part) < 10 else 0 for part in version.split(".")[:2]]
    if numbers < OLDEST:
        raise ConfigurationError(f"{shown} runs Redis {version}: use 6.2 or newer.")
    policy = info.get("maxmemory_policy", "noeviction")
    drops = policy.startswith("allkeys") or (window > 0 and policy.startswith("volatile"))
    if drops and info.get("maxmemory", "0") != "0":
        raise ConfigurationError(
            f"{shown} drops keys when its memory is full (maxmemory-policy {policy}), and would forget "
            "documents unnoticed: set maxmemory-policy noeviction, or use another server."
        )

"""The server of an index: its URL, commands, a circuit breaker, errors in plain words."""

from __future__ import annotations

import logging
import re
import time
from binascii import crc_hqx
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapy_neardup.errors import ConfigurationError, DependencyUnavailable, IndexUnavailable

from .scripts import DIGEST, SCRIPT

try:
    import redis
    from hiredis import pack_command
    from redis.backoff import NoBackoff
    from redis.cluster import ClusterNode, RedisCluster
    from redis.connection import parse_url
    from redis.exceptions import MovedError, NoScriptError, RedisClusterException, RedisError, ResponseError
    from redis.retry import Retry
    from redis.sentinel import MasterNotFoundError, Sentinel
except ImportError as error:
    raise DependencyUnavailable(
        f"An index on a server needs redis-py and hiredis ({error}): pip install 'scrapy-neardup[redis]'."
    ) from error

Command = tuple[bytes | str | int, ...]
#: What the keys begin with that a command is for, and the command.
Addressed = tuple[bytes, Command]

logger = logging.getLogger(__name__)

#: Seconds until a connection is made, and until an answer comes.
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 5.0
#: After so many seconds a connection is looked at before it is used.
IDLE_SECONDS = 20
#: So many failures in a row open the circuit, for seconds that double up to the last.
FAILURES, FIRST_PAUSE, LAST_PAUSE = 3, 1.0, 15.0
#: What a server says that has lost the index.
GONE = "NEARDUPGONE"
#: The oldest server that has what is used here.
OLDEST = (6, 2)

#: What the client library raises.
ERRORS = (RedisError, RedisClusterException, OSError)
#: Slots of a cluster, and parts of an index.
SLOTS, MOST_PARTS = 1 << 14, 64

#: What a URL may say of TLS, for the client library, and who asks Sentinels, if they want to know.
_TLS = {"ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile"}
_LOGIN = {"sentinel_username", "sentinel_password"}
#: What a URL may say of each scheme, and the port that it need not name.
_OPTIONS = {"redis": set[str](), "rediss": _TLS, "unix": {"db"}}
_PORTS = {"": 6379, "sentinel": 26379, "cluster": 6379}


class Address(NamedTuple):
    """What the URL of an index says: where the server is, who asks, and which of its indexes is meant."""

    #: The URL for the client library; it has no host if *hosts* say where the server is.
    server: str
    #: The name of the index: one server may hold several.
    name: str
    #: The URL without users and passwords, for messages.
    shown: str
    #: Hosts and ports of the Sentinels, or of nodes of the cluster, that know where the index is.
    hosts: tuple[tuple[str, int], ...] = ()
    #: The service of Sentinels whose server is meant; empty for a cluster.
    service: str = ""
    #: ``username`` and ``password`` for the Sentinels themselves, as far as they have any.
    login: Mapping[str, str] = {}
    #: How many parts the index has, each in another slot of a cluster.
    parts: int = 1

    @property
    def prefix(self) -> bytes:
        """What the keys of the first part begin with. The braces keep them together in a cluster."""
        return b"neardup:{%s}:" % self.name.encode()

    @property
    def prefixes(self) -> list[bytes]:
        """What the keys of each part begin with."""
        return [prefix_of(self.prefix, part, self.parts) for part in range(self.parts)]

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read *url*. Raises `ConfigurationError` for what it cannot say; the message has no password."""
        before, _, rest = url.partition("://")
        scheme, _, kind = before.partition("+")
        authority = re.split("[/?#]", rest, maxsplit=1)[0]
        login, at, places = authority.rpartition("@")
        _, _, path, query, fragment = urlsplit("//" + rest[len(authority) :])
        said = dict(parse_qsl(query, keep_blank_values=True))
        asks = {name.removeprefix("sentinel_"): said.pop(name) for name in sorted(_LOGIN & {*said})}
        shown = _joined(before, places, path, said)
        name, divided = said.pop("name", "default"), said.pop("parts", "1")
        service, _, database = path[1:].partition("/") if kind == "sentinel" else ("", "", path[1:])
        if scheme == "unix":
            database = said.get("db", "0") if database else "none"
        try:
            port, parts = _PORTS[kind], [urlsplit(f"//{host}") for host in places.split(",")]
            hosts = tuple((each.hostname or "localhost", each.port or port) for each in parts)
        except (KeyError, ValueError):
            hosts = ()
        if (
            not hosts
            or not {*said} <= _OPTIONS.get(scheme, set())
            or scheme not in _OPTIONS
            or not re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", name)
            or fragment
            or not (re.fullmatch("[0-9]{1,2}", divided) and 0 < int(divided) <= MOST_PARTS)
            or (asks and kind != "sentinel")
            or (len(hosts) > 1 and not kind)
            or (kind == "sentinel" and not service)
            or not (database or "0").isdecimal()
            or (kind == "cluster" and int(database or 0))
        ):
            raise ConfigurationError(
                "The URL of the index does not name one database of one server: use "
                "redis://user:password@host:6379/0?name=news or another form in docs/redis.md, for a name at "
                "most 64 letters, digits and the signs _ . : -"
            )
        if not kind:
            return cls(_joined(scheme, authority, path, said), name, shown, parts=int(divided))
        path = f"/{database or 0}" if service else ""
        return cls(_joined(scheme, login + at, path, said), name, shown, hosts, service, asks, int(divided))


def slot_of(prefix: bytes) -> int:
    """Return the slot of a cluster that has the keys with a *prefix*."""
    return crc_hqx(prefix[prefix.index(b"{") + 1 : prefix.index(b"}")], 0) % SLOTS


@lru_cache(1 << 10)
def prefix_of(first: bytes, part: int, parts: int) -> bytes:
    """Return what the keys of one of some *parts* begin with, those of the first with *first*.

    Each has an equal share of the slots to itself.
    """
    if part == 0:
        return first
    share = (slot_of(first) * parts // SLOTS + part) % parts
    names = (b"%s/%d.%d}:" % (first[:-2], part, each) for each in count())
    return next(name for name in names if slot_of(name) * parts // SLOTS == share)


def _joined(scheme: str, host: str, path: str, options: Mapping[str, str]) -> str:
    # urlunsplit would leave out the two slashes before an empty host.
    return f"{scheme}://{host}{path}" + (f"?{urlencode(options)}" if options else "")


class Again(IndexUnavailable):
    """What was asked was not done, and may be now."""


class IndexGone(Again):
    """The index is not on the server any more, or another one is there."""


class Server:
    """Commands for the server at *address*, or for nodes of a cluster; from one thread at a time."""

    def __init__(self, address: Address, *, first_pause: float = FIRST_PAUSE) -> None:
        self.address = address
        self._first_pause = first_pause
        #: Made with the first command: a cluster is asked at once who has what.
        self._connected: redis.Redis | RedisCluster | None = None
        self._failures = 0
        #: When the server is asked again, by `time.monotonic`.
        self._closed_until = 0.0
        #: Whether it was said that the server fails; None until it has answered, since that is an error.
        self._said: bool | None = None
        #: The command that runs the script.
        self.runs = "EVALSHA", DIGEST
        #: Whether the server is asked although others have just failed.
        self.anyway = False
        #: Calls that failed, and calls that were not made because others had failed.
        self.failed = self.skipped = 0

    def call(self, *command: bytes | str | int, prefix: bytes = b"") -> Any:
        """Send one *command* to where the keys with a *prefix* are, or the first part; return its answer."""
        (answer,) = self.send([(prefix or self.address.prefix, command)])
        if isinstance(answer, IndexUnavailable):
            raise answer
        return answer

    def send(self, commands: Sequence[Addressed]) -> list[Any]:
        """Send *commands* at once; return the answer, or an `IndexUnavailable`, of each."""
        if self._failures >= FAILURES and time.monotonic() < self._closed_until and not self.anyway:
            self.skipped += 1
            away = f"The index {self.address.shown} does not answer; it is tried again soon."
            return [IndexUnavailable(away)] * len(commands)
        before = self.failed
        try:
            answers = [self._readable(each) for each in self._execute(commands)]
        except ERRORS as error:
            self._leave_cluster()
            answers = [self._failed(error)] * len(commands)
        # A server that has lost the index is there: it is given it again at once.
        of_prefixes = zip(commands, answers, strict=True)
        there = {prefix for (prefix, _), each in of_prefixes if type(each) not in (IndexUnavailable, Again)}
        fails = any(prefix not in there for prefix, _ in commands)
        self._failures = self._failures + 1 if fails else 0
        if fails:
            pause = self._first_pause * 2 ** min(self._failures - FAILURES, 10)
            self._closed_until = time.monotonic() + min(pause, LAST_PAUSE)
        if self.failed == before:
            if self._said:
                logger.warning("The index %s is in use again.", self.address.shown)
            self._said = False
        return answers

    def close(self) -> None:
        """Close the connections."""
        if self._connected is not None:
            self._connected.close()

    def _execute(self, commands: Sequence[Addressed]) -> list[Any]:
        """Send commands, to all nodes at a time; return the answers, or errors."""
        nodes: dict[redis.Redis, list[int]] = {}
        for row, (prefix, _) in enumerate(commands):
            nodes.setdefault(self._client(prefix), []).append(row)
        talks = [self._talk(client, [commands[row][1] for row in mine]) for client, mine in nodes.items()]
        failed = [next(talk) for talk in talks]
        answers = dict[int, Any]()
        for mine, talk, errors in zip(nodes.values(), talks, failed, strict=True):
            answers |= zip(mine, errors or next(talk), strict=True)
        kinds = {type(each) for each in answers.values()}
        # A server is new, or has forgotten its scripts.
        self.runs = ("EVAL", SCRIPT) if NoScriptError in kinds else ("EVALSHA", DIGEST)
        # A node is away, a replica has taken over, or the slot was given to another node.
        moved = not kinds.isdisjoint((IndexUnavailable, MovedError)) and self._leave_cluster()
        later = NoScriptError, *[MovedError] * moved
        again = Again(f"The index {self.address.shown} has to be asked again.")
        return [again if type(answers[row]) in later else answers[row] for row in range(len(commands))]

    def _talk(self, client: redis.Redis, commands: Sequence[Command]) -> Iterator[list[Any]]:
        """Send commands to one server and yield once they are on their way; yield the answers, or errors."""
        pool = client.connection_pool
        try:
            connection: Any = pool.get_connection()
            try:
                packed = map(pack_command, commands)  # type: ignore[arg-type]  # its stub has tuples of one
                connection.send_packed_command([b"".join(packed)])
                yield []
                answers = [_answer(client, connection, command) for command in commands]
            except BaseException:
                connection.disconnect()
                raise
            finally:
                pool.release(connection)
            yield answers
        except ERRORS as error:
            yield [self._failed(error)] * len(commands)

    def _readable(self, answer: Any) -> Any:
        """Return an *answer* in which errors are an `IndexUnavailable` each."""
        if isinstance(answer, list) and any(isinstance(each, Exception) for each in answer):
            return [self._readable(each) for each in answer]
        is_new = isinstance(answer, Exception) and not isinstance(answer, IndexUnavailable)
        return self._failed(answer) if is_new else answer

    def _client(self, prefix: bytes) -> redis.Redis:
        """Return the client of the server, or of the node of a cluster that has the keys with a *prefix*."""
        if self._connected is None:
            self._connected = _connect(self.address)
        if type(self._connected) is redis.Redis:  # `isinstance` takes long
            return self._connected
        node = self._connected.get_node_from_key(prefix)  # type: ignore[union-attr]
        # Its own `execute_command` would go along with a slot that is being moved, where a script has
        # only some of the keys.
        return self._connected.get_redis_connection(node)  # type: ignore[union-attr]

    def _leave_cluster(self) -> bool:
        """Ask a cluster anew who has what with the next command; return whether it is one."""
        if not isinstance(self._connected, RedisCluster):
            return False
        self._connected.close()
        self._connected = None
        return True

    def _failed(self, error: BaseException) -> IndexUnavailable:
        """Count a failure, say so once; return what to raise."""
        # What a node has answered for which the client library has found no cluster.
        while isinstance(error, RedisClusterException) and (cause := error.__cause__ or error.__context__):
            error = cause
        # The client library lists all that it knows of all Sentinels.
        unknown = isinstance(error, MasterNotFoundError)
        text = "no Sentinel names a server that is written to" if unknown else str(error)
        kind = IndexGone if GONE in text else IndexUnavailable
        self.failed += 1
        unavailable = kind(f"The index {self.address.shown} cannot be used ({text}): {_remedy(error)}")
        unavailable.__cause__ = error
        if self._said is False:
            self._said = True
            logger.warning("%s Meanwhile pages pass without a verdict.", unavailable)
        return unavailable


def _answer(client: redis.Redis, connection: Any, command: Command) -> Any:
    """Return what a server says to a *command*, also if it is an error."""
    try:
        return client.parse_response(connection, command[0])  # type: ignore[no-untyped-call]
    except ResponseError as error:
        return error


def _connect(address: Address) -> redis.Redis | RedisCluster:
    """Return a client of the server at *address*, or of its cluster."""
    options: dict[str, Any] = {
        "socket_timeout": ANSWER_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "health_check_interval": IDLE_SECONDS,
        "retry": Retry(NoBackoff(), 0),  # a command that got no answer may have been done
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
    asking = {name: value for name, value in options.items() if name.startswith(("ssl", "socket", "retry"))}
    asking["socket_timeout"] = CONNECT_SECONDS
    sentinel = Sentinel(address.hosts, sentinel_kwargs=asking | dict(address.login))  # type: ignore[no-untyped-call]
    return sentinel.master_for(address.service, **options)  # type: ignore[no-untyped-call,no-any-return]


#: What to do about errors whose class and text have something; of several the first.
_REMEDIES = {
    "MasterNotFoundError": (
        "see that the Sentinels run; give sentinel_username and sentinel_password if they ask."
    ),
    "maxmemory": "the server is full, so give it more maxmemory or prune the index.",
    "AuthenticationError|NoPermissionError": "see docs/redis.md for the rights that the user needs.",
    "ReadOnlyError": "this is a replica, so name the server that is written to.",
    "cluster support disabled": "this server is in no cluster: begin the URL with redis:// or rediss://.",
    "MovedError|MOVED": "this is a node of a cluster, so use redis+cluster://host:6379,host:6379?name=news.",
    "AskError|ClusterDownError|SlotNotCoveredError|TryAgainError": (
        "see that each slot of the cluster has a node, and that the index is not being moved."
    ),
    GONE: "the server has lost it, or somebody has reset it.",
}


def _remedy(error: BaseException) -> str:
    said, otherwise = f"{type(error).__name__} {error}", "see that the server runs and can be reached."
    return next((remedy for signs, remedy in _REMEDIES.items() if re.search(signs, said)), otherwise)


def require_fit(server: Server, window: float, prefix: bytes = b"") -> None:
    """Raise `ConfigurationError` for a server that is too old, or that may drop keys of the index."""
    info, shown = server.call("INFO", prefix=prefix), server.address.shown
    version = str(info.get("redis_version"))
    if tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:2]) < OLDEST:
        raise ConfigurationError(f"{shown} runs Redis {version}: use 6.2 or newer.")
    policy = info.get("maxmemory_policy", "noeviction")
    drops = policy.startswith("allkeys") or (window > 0 and policy.startswith("volatile"))
    if drops and info.get("maxmemory"):
        raise ConfigurationError(
            f"{shown} drops keys when its memory is full (maxmemory-policy {policy}), and would forget "
            "documents unnoticed: set maxmemory-policy noeviction, or use another server."
        )

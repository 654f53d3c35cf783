"""The URL of an index on a server: where the server is, who asks, and which of its indexes is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The name of an index whose URL gives none.
NAME = "default"
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
#: Who asks, and the hosts: up to the path.
_HOSTS = re.compile("[^/?#]*")
#: What a URL may say of TLS, for the client library.
_TLS = {"ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile"}
#: Who asks Sentinels, if they want to know.
_LOGIN = {"sentinel_username", "sentinel_password"}
#: The ports of a server and of a Sentinel.
_PORT, _SENTINEL_PORT = 6379, 26379
_REMEDY = (
    "use redis://user:password@host:6379/0?name=news, rediss://…, unix:///path/to/socket?db=0&name=news, "
    "redis+sentinel://user:password@host:26379,host:26379/service/0?name=news "
    "or redis+cluster://user:password@host:6379,host:6379?name=news."
)


class Address(NamedTuple):
    """What a URL says."""

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

    @property
    def prefix(self) -> bytes:
        """What all keys of the index begin with. The braces keep them together in a cluster."""
        return b"neardup:{%s}:" % self.name.encode()

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read *url*. Raises `ConfigurationError` for what it cannot say; the message has no password."""
        try:
            parts = _split(url)
            login, _, netloc = parts.netloc.rpartition("@")
            places = [_place(f"{login}@{host}") for host in netloc.split(",")]
        except ValueError:
            raise ConfigurationError(f"The URL of the index cannot be read: {_REMEDY}") from None
        scheme, _, kind = parts.scheme.partition("+")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        asks = {name: value for name, value in options.items() if name in _LOGIN and kind == "sentinel"}
        options = {name: value for name, value in options.items() if name not in asks}
        open_options = {name: value for name, value in options.items() if name not in _LOGIN}
        shown = _joined(parts, netloc, parts.path, open_options)
        name = options.pop("name", NAME)
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{shown} names the index {name!r}: use at most 64 letters, digits and the signs _ . : -"
            )
        unknown = sorted(
            set(options) - ({"db"} if scheme == "unix" else _TLS if scheme == "rediss" else set())
        )
        if unknown:
            raise ConfigurationError(
                f"{shown} has the option {unknown[0]!r}, which is unknown here: {_REMEDY}"
            )
        path = parts.path.strip("/")
        service, _, database = path.partition("/") if kind == "sentinel" else ("", "", path)
        if scheme == "unix":
            database = options.get("db", "0") if path else "none"
        if (
            parts.fragment
            or (len(places) > 1 and not kind)
            or (kind == "sentinel" and not service)
            or not (database or "0").isdecimal()
            or (kind == "cluster" and int(database or 0))
        ):
            raise ConfigurationError(f"{shown} does not name one database of one server: {_REMEDY}")
        if not kind:
            return cls(_joined(parts, parts.netloc, parts.path, options), name, shown)
        default = _SENTINEL_PORT if kind == "sentinel" else _PORT
        hosts = tuple((host or "localhost", port or default) for host, port in places)
        path = f"/{database or 0}" if kind == "sentinel" else ""
        server = _joined(parts._replace(scheme=scheme), f"{login}@", path, options)
        asks = {each.removeprefix("sentinel_"): value for each, value in asks.items()}
        return cls(server, name, shown, hosts, service, asks)


def _split(url: str) -> SplitResult:
    """Do what `urlsplit` does, for several hosts, too: it refuses those if one is an IPv6 address."""
    scheme, slashes, rest = url.partition("//")
    hosts = _HOSTS.match(rest)
    assert hosts is not None
    return urlsplit(scheme + slashes + rest[hosts.end() :])._replace(netloc=hosts[0])


def _place(authority: str) -> tuple[str, int | None]:
    """Return host and port of an *authority*, ``user:password@host:port``. Raises ValueError for others."""
    parts = urlsplit(f"//{authority}")
    return parts.hostname or "", parts.port


def _joined(parts: SplitResult, host: str, path: str, options: Mapping[str, str]) -> str:
    # urlunsplit would leave out the two slashes before an empty host.
    query = urlencode(options)
    return f"{parts.scheme}://{host}{path}" + (f"?{query}" if query else "")

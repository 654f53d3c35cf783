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
#: The options of each scheme.
_OPTIONS = {
    "redis": set[str](),
    "rediss": _TLS,
    "unix": {"db"},
    "redis+sentinel": _LOGIN,
    "rediss+sentinel": _TLS | _LOGIN,
    "redis+cluster": set[str](),
    "rediss+cluster": _TLS,
}
_SENTINEL, _CLUSTER = "+sentinel", "+cluster"
_SENTINEL_PORT, _PORT = 26379, 6379
_REMEDY = (
    "use redis://user:password@host:6379/0?name=news, rediss://…, unix:///path/to/socket?db=0&name=news, "
    "redis+sentinel://user:password@host:26379,host:26379/service/0?name=news "
    "or redis+cluster://user:password@host:6379,host:6379?name=news."
)


class Sentinels(NamedTuple):
    """The servers that know which server of a service is the one that is written to."""

    hosts: tuple[tuple[str, int], ...]
    service: str
    #: ``username`` and ``password`` for the Sentinels themselves, as far as they have any.
    login: Mapping[str, str]


class Address(NamedTuple):
    """What a URL says."""

    #: The URL for the client library; it has no host if Sentinels or nodes say where the server is.
    server: str
    #: The name of the index: one server may hold several.
    name: str
    #: The URL without users and passwords, for messages.
    shown: str
    sentinels: Sentinels | None = None
    #: Hosts and ports of nodes of a cluster that are asked which of its nodes has the index.
    nodes: tuple[tuple[str, int], ...] = ()

    @property
    def prefix(self) -> bytes:
        """What all keys of the index begin with. The braces keep them together in a cluster."""
        return b"neardup:{%s}:" % self.name.encode()

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read *url*. Raises `ConfigurationError` for what it cannot say; the message has no password."""
        try:
            parts = _split(url)
            login, _, hosts = parts.netloc.rpartition("@")
            places = [_place(f"{login}@{host}") for host in hosts.split(",")]
        except ValueError:
            raise ConfigurationError(f"The URL of the index cannot be read: {_REMEDY}") from None
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        open_options = {name: value for name, value in options.items() if name not in _LOGIN}
        shown = _joined(parts, hosts, parts.path, open_options)
        name = options.pop("name", NAME)
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{shown} names the index {name!r}: use at most 64 letters, digits and the signs _ . : -"
            )
        unknown = sorted(set(options) - _OPTIONS.get(parts.scheme, set()))
        if unknown:
            raise ConfigurationError(
                f"{shown} has the option {unknown[0]!r}, which is unknown here: {_REMEDY}"
            )
        if parts.fragment or (len(places) > 1 and not parts.scheme.endswith((_SENTINEL, _CLUSTER))):
            raise ConfigurationError(f"{shown} does not name one server: {_REMEDY}")
        service, database = _service_and_database(parts, options)
        if not database.isdecimal():
            raise ConfigurationError(f"{shown} does not name a database of a server: {_REMEDY}")
        if parts.scheme.endswith(_CLUSTER):
            if int(database):
                raise ConfigurationError(f"{shown} names a database, and a cluster has none: {_REMEDY}")
            server = parts._replace(scheme=parts.scheme.removesuffix(_CLUSTER))
            nodes = tuple((host or "localhost", port or _PORT) for host, port in places)
            return cls(_joined(server, f"{login}@", "", options), name, shown, nodes=nodes)
        if not service:
            return cls(_joined(parts, parts.netloc, parts.path, options), name, shown)
        sentinels = Sentinels(
            tuple((host or "localhost", port or _SENTINEL_PORT) for host, port in places),
            service,
            {each.removeprefix("sentinel_"): options.pop(each) for each in sorted(_LOGIN & set(options))},
        )
        parts = parts._replace(scheme=parts.scheme.removesuffix(_SENTINEL))
        return cls(_joined(parts, f"{login}@", f"/{database}", options), name, shown, sentinels)


def _service_and_database(parts: SplitResult, options: Mapping[str, str]) -> tuple[str, str]:
    """Return which service is meant, of Sentinels alone, and which database; that is empty for none."""
    path = parts.path.strip("/")
    if parts.scheme == "unix":
        return "", options.get("db", "0") if path else ""
    if parts.scheme.endswith(_SENTINEL):
        service, _, database = path.partition("/")
        return service, (database or "0") if service else ""
    return "", path or "0"


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

"""The URL of an index on a server: where the server is, who asks, and which of its indexes is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

#: The name of an index whose URL gives none.
NAME = "default"
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
#: What a URL may say of TLS, for the client library.
_TLS = {"ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile"}
_REMEDY = (
    "use redis://user:password@host:6379/0?name=news, rediss://… or unix:///path/to/socket?db=0&name=news."
)


class Address(NamedTuple):
    """What a URL says."""

    #: The URL for the client library.
    server: str
    #: The name of the index: one server may hold several.
    name: str
    #: The URL without user and password, for messages.
    shown: str

    @property
    def prefix(self) -> bytes:
        """What all keys of the index begin with. The braces keep them together in a cluster."""
        return b"neardup:{%s}:" % self.name.encode()

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read *url*. Raises `ConfigurationError` for what it cannot say; the message has no password."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ConfigurationError(f"The URL of the index cannot be read: {_REMEDY}") from None
        shown = _without_user(parts, port)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        name = options.pop("name", NAME)
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{shown} names the index {name!r}: use at most 64 letters, digits and the signs _ . : -"
            )
        allowed = {"unix": {"db"}, "rediss": _TLS}.get(parts.scheme, set())
        unknown = sorted(set(options) - allowed)
        if unknown:
            raise ConfigurationError(
                f"{shown} has the option {unknown[0]!r}, which is unknown here: {_REMEDY}"
            )
        database = options.get("db", "0") if parts.scheme == "unix" else parts.path.strip("/") or "0"
        if (
            not database.isdecimal()
            or parts.fragment
            or (parts.scheme == "unix" and not parts.path.strip("/"))
        ):
            raise ConfigurationError(f"{shown} does not name a database of a server: {_REMEDY}")
        return cls(_joined(parts, parts.netloc, urlencode(options)), name, shown)


def _without_user(parts: SplitResult, port: int | None) -> str:
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return _joined(parts, host + (f":{port}" if port else ""), parts.query)


def _joined(parts: SplitResult, host: str, query: str) -> str:
    # urlunsplit would leave out the two slashes before an empty host.
    return f"{parts.scheme}://{host}{parts.path}" + (f"?{query}" if query else "")

"""Which site a page belongs to: two pages of one site share its templates, two of different sites do not."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import cache, lru_cache
from urllib.parse import urlsplit

import mmh3
import tldextract

#: What `site_key` says of a URL without a host.
UNKNOWN = 0
#: Characters of the longest name, and of its longest part (RFC 1035): what is longer is no name, and left as it is.
_NAME = 253
_PART = 63
_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}(?::\d{1,5})?", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443, "ftp": 21}


def site_key(url: str) -> int:
    """Hash the site of a URL: 32 bits, `UNKNOWN` if it has no host.

    A site is what someone has registered under a public suffix (news.example.co.uk: example.co.uk), be it that of a
    registry or of a company that gives names away (one.github.io); where no suffix is known, as on an intranet, the
    last two names of the host; else, as for an address, host and port.
    """
    host, port = _host_and_port(url)
    if len(host) > _NAME:
        return _hash(host)
    return _site_of(host, port) if host else UNKNOWN


def host_of(url: str) -> str:
    """Return the host of a URL in one spelling, without port: lower case, names in ASCII; "" if it has none."""
    return _host_and_port(url)[0]


def is_domain(name: str) -> bool:
    """Tell whether *name* is one of a host under a suffix of a registry, in ASCII, perhaps with a port."""
    if not _HOST.fullmatch(name) or len(name) > _NAME:
        return False
    parts = _suffixes()(name.partition(":")[0])
    return bool(parts.domain and parts.suffix)


def load_suffixes() -> None:
    """Read the list of suffixes, which the first site would do otherwise, in up to 0.3 s."""
    site_key("https://example.com/")


def _host_and_port(url: str) -> tuple[str, str]:
    """Return host and port; the port is empty if it is that of the scheme."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as an address in brackets that is none
        return "", ""
    location = parts.netloc.rpartition("@")[2]
    host, colon, port = location.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = location, ""
    if port == str(_PORTS.get(parts.scheme)):
        port = ""
    return (host if len(host) > _NAME else _spelled(host)), port


@lru_cache(maxsize=4096)
def _spelled(host: str) -> str:
    """Return *host*, of any spelling, in the one that browsers and Scrapy send."""
    if host.startswith("["):
        try:
            return f"[{ipaddress.ip_address(host[1:-1])}]"
        except ValueError:
            return host.lower()
    if not host.isascii():
        host = unicodedata.normalize("NFKC", host).replace("\u3002", ".")
    return ".".join(map(_ascii, host.lower().removesuffix(".").split(".")))


def _ascii(part: str) -> str:
    """Return a part of a name as it stands in the name system, see RFC 3492."""
    if part.isascii() or len(part) > _PART:
        return part
    return "xn--" + part.encode("punycode").decode()


@lru_cache(maxsize=4096)
def _site_of(host: str, port: str) -> int:
    parts = _suffixes()(host)
    site = parts.top_domain_under_public_suffix
    if not site and not parts.suffix and parts.subdomain:
        site = f"{parts.subdomain.rpartition('.')[2]}.{parts.domain}"
    return _hash(site or (f"{host}:{port}" if port else host))


def _hash(site: str) -> int:
    return max(1, mmh3.hash(site.encode("utf-8", "surrogatepass"), signed=False))


@cache
def _suffixes() -> tldextract.TLDExtract:
    """Public suffixes as they came with the package: nothing is fetched."""
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

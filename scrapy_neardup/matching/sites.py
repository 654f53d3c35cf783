"""Which site a page belongs to: pages of one site may be of one template, those of two sites are not."""

from __future__ import annotations

import gc
import ipaddress
import re
import time
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

import mmh3
import regex
import tldextract

from scrapy_neardup.fingerprint.normalise import composed

#: What `site_key` says of a URL without a host.
UNKNOWN = 0
#: Lower numbers come from pages without a URL: equal ones are of one site, of others nothing is known.
TOLD = 1 << 16
#: How often a rule is applied to one URL.
_REPEATS = 30
#: Characters of the longest name of a host, and of its longest part (RFC 1035); what is longer is left alone.
_NAME, _PART = 253, 63
_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}(?::\d{1,5})?", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443", "ftp": "21"}


def may_be_one(site: Any, other: Any) -> Any:
    """Tell whether two sites are one as far as is known: bool[n] of int[n] each, or of one pair a bool."""
    return (site == other) | ((site < TOLD) & (other < TOLD))


def site_key(url: str) -> int:
    """Hash the site of a URL: 32 bits, at least `TOLD`; `UNKNOWN` if it has no host.

    That is the name below a public suffix (example.co.uk), or else the last two parts of the host's name. An
    address or a name of one part has its port besides.
    """
    host, port = _host_and_port(split_url(url).netloc)
    if len(host) > _NAME:
        return _hash(host)
    return _site_of(host, port) if host else UNKNOWN


def host_of(url: str) -> str:
    """Return the host of a URL without port, in lower case and ASCII; "" if it has none."""
    return _host_and_port(split_url(url).netloc)[0]


def split_url(url: str) -> SplitResult:
    """Split any string: what is no URL is a path. The host has its port, unless that is the default."""
    url = url.strip()
    *start, rest = url.split("/", 3)
    before = "/".join(start)  # the same for all URLs of a server
    if len(start) < 3 or "?" in before or "#" in before or not url.isprintable():
        return _split(url)
    server, (path, _, query) = _split(before), rest.partition("#")[0].partition("?")
    return SplitResult(server.scheme, server.netloc, f"/{path}", query, "") if server.netloc else _split(url)


@lru_cache(maxsize=256)
def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(composed(url))
    except ValueError:  # such as an address in brackets that is none
        return SplitResult("", "", url, "", "")
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(f":{_PORTS.get(parts.scheme)}")
    return SplitResult(parts.scheme, host, parts.path or "/" * bool(host), parts.query, parts.fragment)


def is_domain(name: str) -> bool:
    """Tell whether *name* is the name of a host under a public suffix, in ASCII, perhaps with a port."""
    if not _HOST.fullmatch(name) or len(name) > _NAME:
        return False
    parts = _suffixes()(name.partition(":")[0])
    return bool(parts.domain and parts.suffix)


def rewritten(
    url: str,
    find: re.Pattern[str] | regex.Pattern[str],
    to: str,
    spell: Callable[[str], str] = str,
    ends: float | None = None,
) -> str:
    """Return *url* after a rule, which is applied, and *spell* to what it makes, until that changes nothing.

    The replacement backslash and L makes all lower case. Raises TimeoutError when the thread's time *ends*,
    which takes a pattern of the package regex.
    """
    by = (lambda match: match[0].lower()) if to == r"\L" else to
    limits: dict[str, Any] = {}
    for _ in range(_REPEATS):
        if ends is not None:
            if (left := ends - time.thread_time()) <= 0:
                raise TimeoutError
            # With concurrent=True other threads would run meanwhile, and their time would count.
            limits = {"timeout": left, "concurrent": False}
        new = str(find.sub(by, url, count=1, **limits))
        if new == url or (new := spell(new)) == url:
            break
        url = new  # such as a parameter that is there twice
    return url


@lru_cache(maxsize=256)  # asked often for the same site
def _host_and_port(location: str) -> tuple[str, str]:
    """Return the host of a URL, as it is spelled, and its port, unless that is the usual one."""
    host, colon, port = location.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = location, ""
    return (host if len(host) > _NAME else _spelled(host)), port


@lru_cache(maxsize=4096)
def _spelled(host: str) -> str:
    """Return *host* as browsers and Scrapy spell it when they send it."""
    if host.startswith("["):
        try:
            return f"[{ipaddress.ip_address(host[1:-1])}]"
        except ValueError:
            return host.lower()
    if not host.isascii():
        host = unicodedata.normalize("NFKC", host).replace("\u3002", ".")
    return ".".join(map(_ascii, host.lower().removesuffix(".").split(".")))


def _ascii(part: str) -> str:
    """Return a part of a host's name as the domain name system has it (Punycode, RFC 3492)."""
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
    number = mmh3.hash(site.encode("utf-8", "surrogatepass"), signed=False)
    return number if number >= TOLD else number + TOLD


@cache
def _suffixes() -> tldextract.TLDExtract:
    """Return the public suffixes that are part of the package tldextract. Nothing is fetched."""
    suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    collecting = gc.isenabled()
    gc.disable()  # it would look through all modules several times while the list is read, in vain
    try:
        suffixes("example.com")
    finally:
        if collecting:
            gc.enable()
    return suffixes

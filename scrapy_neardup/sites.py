"""Which site a page belongs to: two pages of one site share its templates, two of different sites do not."""

from __future__ import annotations

from functools import cache, lru_cache
from urllib.parse import urlsplit

import mmh3
import tldextract

#: What `site_key` says of a URL without a host.
UNKNOWN = 0


def site_key(url: str) -> int:
    """Hash the site of a URL: 32 bits, `UNKNOWN` if it has no host.

    A site is what someone has registered under a public suffix (news.example.co.uk: example.co.uk); where no suffix
    is known, as on an intranet, the last two names of the host; else, as for an address, host and port.
    """
    return _site_of(_host(url))


def load_suffixes() -> None:
    """Read the list of suffixes, which the first site would do otherwise, in up to 0.3 s."""
    site_key("https://example.com/")


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:  # such as an address in brackets that is none
        return ""


@lru_cache(maxsize=4096)
def _site_of(host: str) -> int:
    if not host:
        return UNKNOWN
    parts = _suffixes()(host)
    site = parts.top_domain_under_public_suffix
    if not site and not parts.suffix and parts.subdomain:
        site = f"{parts.subdomain.rpartition('.')[2]}.{parts.domain}"
    return max(1, mmh3.hash((site or host).encode("utf-8", "surrogatepass"), signed=False))


@cache
def _suffixes() -> tldextract.TLDExtract:
    """Public suffixes as they came with the package: nothing is fetched."""
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

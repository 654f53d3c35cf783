"""A site is what was registered, else host and port.

It is read off the URL, and nothing is fetched for it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import MainText, Signature
from scrapy_neardup.matching.counters import TITLES
from scrapy_neardup.matching.sites import TOLD, UNKNOWN, host_of, is_domain, site_key, split_url


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://example.com/a", "http://www.example.com/b?c#d"),
        ("https://example.com:8443/", "https://example.com/"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://a@b@example.com/", "https://example.com/"),
        ("https://news.example.co.uk/", "https://www.example.co.uk/"),
        ("https://news.пример.рф/", "https://пример.рф/"),
        ("https://www.one.github.io/", "https://one.github.io/x"),
        ("https://BÜCHER.example/", "https://shop.XN--BCHER-KVA.example/"),
        ("https://bu\u0308cher.example/", "https://xn--bcher-kva.example/"),  # the dots are a mark
        ("https://пример.рф/", "https://xn--e1afmkfd.xn--p1ai/"),
        ("https://例え。jp/", "https://xn--r8jz45g.jp/"),
        ("https://example.com./", "https://example.com/"),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000/b"),
        ("http://[::1]:8000/", "http://[0:0:0:0:0:0:0:1]:8000/"),
        ("http://localhost:80/", "http://localhost/"),
        ("https://10.0.0.1:443/", "http://10.0.0.1:80/"),
        ("http://intranet/a", "http://intranet/b"),
        ("http://news.firm.corp/", "http://wiki.firm.corp:8080/"),
        ("http://co.uk/a", "http://co.uk/b"),
    ],
)
def test_of_one_site(url: str, other: str) -> None:
    assert site_key(url) == site_key(other) != UNKNOWN


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://example.com/", "https://example.org/"),
        ("https://one.co.uk/", "https://two.co.uk/"),
        ("https://one.github.io/", "https://two.github.io/"),
        ("https://bücher.example/", "https://bucher.example/"),
        ("https://straße.example/", "https://strasse.example/"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8001/"),
        ("http://127.0.0.1/", "http://127.0.0.2/"),
        ("http://one.corp/", "http://two.corp/"),
        ("http://[::1]/", "http://[::2]/"),
        ("http://[::1]/", "http://[::1]:8000/"),
        ("https://example.com/example.org", "https://example.org/example.com"),
        ("https://example.com@evil.example/", "https://example.com/"),
    ],
)
def test_of_two_sites(url: str, other: str) -> None:
    assert UNKNOWN != site_key(url) != site_key(other) != UNKNOWN


def test_without_a_host_the_site_is_unknown() -> None:
    urls = ("", "/path", "example.com/a", "data:,text", "file:///tmp/a.html", "about:blank", "http://[bad")
    assert {*map(site_key, urls)} == {UNKNOWN}


def test_pages_without_a_url_tell_that_they_are_of_one_site_and_nothing_else() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    with Detector.open() as detector:

        def page(title: str, site: int, *, hidden: bool = False) -> Signature:
            return detector.signature(MainText(text, title))._replace(site=site, hidden=hidden)

        detector.add(page("Harbour plan of the northern town", 5), "a")
        other = "Weather notes for southern coasts"
        assert detector.check(page(other, 5), "b").kind == "template"
        for known, url in (
            (page(other, 6), "b"),
            (page(other, 0), "b"),
            (page(other, 5), "https://b.example/"),
        ):
            verdict = detector.check(known, url)
            assert (verdict.kind, verdict.explanation["two_sites"]) == ("near", False)
        # Items of pages that may be of one site are compared as if they were.
        (repeated,) = (detector.check(page(other, 6), "b").repeats or list)()
        assert repeated.one_site
        # What pages of one template share with others under several titles is boilerplate.
        kinds = [detector.add(page(f"title{n} about{n}", 6), f"c{n}").kind for n in range(TITLES + 2)]
        assert kinds == [*["near"] * TITLES, *["boilerplate"] * 2]
        # A page that says so of itself cannot have another one dropped for a text that it hides.
        detector.add(page("Harbour", 5, hidden=True), "hides", scope="h")
        assert detector.check(page("Harbour", 5), "b", scope="h").kind == "unique"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://User:Secret@WWW.Example.COM.:8443/a?b#c", "www.example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://[0:0::1]:80/", "[::1]"),
        ("http://[::1", ""),
        ("http://[v1.A:b]/", "[v1.a:b]"),
    ],
)
def test_a_host_has_one_spelling(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    "part", ["a" * 300, "\u0301" * 1_000_000, "ü" * 1_000_000, ".".join("a" * 1_000_000)]
)
def test_hosts_that_are_no_names_cost_next_to_nothing(part: str) -> None:
    started = thread_time()
    for _ in range(3):
        assert site_key(f"https://{part}/") == site_key(f"https://{part}/x") != UNKNOWN
    assert thread_time() - started < 3


@given(st.one_of(st.text(), st.text().map("https://".__add__), st.text().map("http://[".__add__)))
def test_any_text_has_a_key_of_32_bits(url: str) -> None:
    assert 0 <= site_key(url) < 2**32


def test_a_name_of_253_characters_has_a_site_and_a_longer_one_is_one() -> None:
    longest = ".".join(["a" * 49] * 4 + ["b" * 41, "example.com"])
    assert len(longest) == 253
    assert site_key(f"https://{longest}/") == site_key("https://example.com/")
    assert TOLD <= site_key("https://s20510.example/") < site_key(f"https://b{longest}/") < 2**32
    assert site_key(f"https://b{longest}/") != site_key("https://example.com/")
    assert host_of(f"https://{longest.upper()}/") == longest
    assert is_domain(longest)
    assert not is_domain(f"b{longest}")


def test_nothing_is_fetched_nor_written(tmp_path: Path) -> None:
    script = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse\n"
        "from scrapy_neardup.matching.sites import site_key\n"
        "a, b = map(site_key, ['https://a.example.co.uk/', 'https://b.example.co.uk/'])\n"
        "assert a == b\n"
    )
    environment = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("HTTPS://User:pw@A.Example:443/P?b=1&&a#f", ("https", "a.example", "/P", "b=1&&a")),
        ("http://a.example:8080", ("http", "a.example:8080", "/", "")),
        ("http://[::1", ("", "", "http://[::1", "")),
        (" \thttp://a.example/x\n", ("http", "a.example", "/x", "")),
        ("javascript:alert(1)", ("javascript", "", "alert(1)", "")),
        ("pages/a b.html", ("", "", "pages/a b.html", "")),
        ("", ("", "", "", "")),
    ],
)
def test_split_url(url: str, parts: tuple[str, ...]) -> None:
    assert split_url(url)[:4] == parts

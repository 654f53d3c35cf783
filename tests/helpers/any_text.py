"""Calls every public function that takes text with any text, lone surrogates included.

Run as a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_neardup import ConfigurationError, Detector, Features, Fingerprinter, IndexUnavailable, simhash
from scrapy_neardup.arguments import escaped
from scrapy_neardup.extraction import Page, load_extractor
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.matching.records import find_urls, url_key
from scrapy_neardup.matching.sites import site_key

ANY = st.text(
    st.characters(exclude_categories=()) | st.sampled_from("\ud800\udbff\udc80\udfff\0 .\n"), max_size=50
)
URLS = st.builds(
    str.__add__, st.sampled_from(["", "//", "http://", "https://www.", "https://[", "http://xn--", "a@"]), ANY
)
TEXTS = st.builds(lambda words, times: " ".join(words * times), st.lists(ANY, min_size=1), st.integers(1, 30))
FINGERPRINTERS = [
    Fingerprinter(Features()),
    Fingerprinter(Features(units="characters", shingle=5)),
    Fingerprinter(Features(stop_words="en", segmenter="rjieba")),
]


def check_all(detector: Detector, text: str, other: str, url: str, scope: str) -> None:
    escaped(text).encode()
    site_key(url)
    url_key(url, 0)
    assert simhash(text) == simhash(text)
    for fingerprinter in FINGERPRINTERS:
        assert list(fingerprinter.signatures([text, other])) == [*map(fingerprinter.signature, (text, other))]
    detector.check(text, url, scope=scope)
    kind = detector.add(text, url, scope=scope).kind
    if kind not in ("too_short", "wall", "exact", "near"):
        again = detector.check(text, url, scope=scope)
        assert (again.kind, again.url) == ("revisit", url.partition("#")[0])
    reservation = detector.reserve(other, url, scope=other[:20]).reservation
    if reservation is not None:
        reservation.release()
    assert detector.forget(url) == (kind not in ("too_short", "wall", "exact", "near"))
    assert not find_urls(detector.index, [url, other])[0]


def open_all(directory: str, name: str) -> None:
    """A path may be refused, and so may names of what there is not; nothing else may happen."""
    for call in (
        lambda: Detector.open(f"{directory}/{name.replace('/', '')}x", extractor=name).close(),
        lambda: Detector.open(scheme=name).close(),
        lambda: Features(stop_words=name),
        lambda: Fingerprinter(Features(stop_words=name)),
    ):
        refused(call)


def refused(call: Callable[[], object]) -> None:
    try:
        call()
    except (ConfigurationError, IndexUnavailable) as error:
        str(error)


def read(html: str) -> None:
    """Pages, as bytes in whatever they say they are."""
    plain, fingerprinter = load_extractor("plain"), Fingerprinter()
    plain(html, html)
    for charset in ("unicode_escape", "utf-7", "utf-16", html):
        for body in (
            html.encode("utf-8", "surrogatepass"),
            html.encode("unicode_escape"),
            html.encode("utf-7", "surrogatepass"),
        ):
            extract(Page(body, html, f"text/html; charset={charset}"), plain, fingerprinter, keep_text=True)


def main(directory: str) -> None:
    many = settings(
        max_examples=40,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    with Detector.open(min_tokens=1) as detector:
        many(given(TEXTS, TEXTS, URLS, ANY)(lambda a, b, url, scope: check_all(detector, a, b, url, scope)))()
        check_all(detector, "\ud800 " * 100, "a\udc80b " * 100, "https://\udcff.example/\ud800", "\udfff")
    settings(many, max_examples=15)(given(ANY)(lambda name: open_all(directory, name)))()
    settings(many, max_examples=30)(given(TEXTS)(read))()
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])

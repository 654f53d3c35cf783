"""What is filed is found by what it was made of, can be made again from what is stored, and removed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.fingerprint import SCHEMES, Features, Fingerprinter, load_scheme
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index import Documents, Header, LmdbIndex
from scrapy_neardup.index.tables import LAYOUTS, NO_KEY, Family
from scrapy_neardup.matching.records import (
    DIGEST,
    EQUAL_ONLY,
    OWN,
    entries,
    equal_only,
    filed_url,
    find_urls,
    fingerprinter_of,
    header_for,
    require_pages,
    scheme_of,
)
from tests.examples import examples
from tests.index.small import HEADER

TEXT = "the mayor has opened the new bridge over the river on monday " * 12


def filed(name: str, *urls: str, **more: object) -> tuple[Header, Documents]:
    fingerprinter = Fingerprinter(Features(), 7, load_scheme(name))
    header = header_for(fingerprinter, "plain 1")
    signatures = [
        fingerprinter.signature(MainText(TEXT, f"Bridge {number}", "3 km")) for number in range(len(urls))
    ]
    return header, entries(signatures, urls, header, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SCHEMES)
def test_scheme_and_features_of_an_index_are_those_that_it_was_made_with(name: str) -> None:
    header, _ = filed(name, "")
    fingerprinter = fingerprinter_of(header, scheme_of(header))
    again = header_for(fingerprinter, "plain 1")
    assert (again.families, again.record, again.parameters, again.seed) == (
        header.families,
        header.record,
        header.parameters,
        header.seed,
    )
    assert fingerprinter.signature(TEXT) == Fingerprinter(Features(), 7, load_scheme(name)).signature(TEXT)


def test_another_release_of_the_segmenter_is_refused() -> None:
    pytest.importorskip("rjieba")
    header = header_for(Fingerprinter(Features(segmenter="rjieba"), 7), "plain 1")
    assert fingerprinter_of(header, scheme_of(header)).segmenter == header.parameters["segmenter"]
    other = replace(header, parameters={**header.parameters, "segmenter": "rjieba 0.0"})
    with pytest.raises(IndexMismatch, match=r"segmenter: index rjieba 0\.0, now"):
        fingerprinter_of(other, scheme_of(other))
    unknown = {name: value for name, value in header.parameters.items() if name != "segmenter"}
    older = replace(header, parameters=unknown)  # made when this was not noted
    assert fingerprinter_of(older, scheme_of(older)).segmenter == header.parameters["segmenter"]


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("keyed", [False, True])
def test_a_page_of_a_template_is_found_by_digest_and_url_alone_unless_it_is_keyed(
    name: str, keyed: bool
) -> None:
    scheme = load_scheme(name)
    header, document = filed(name, "https://a.example/1")
    page = equal_only(document, scheme, keyed=keyed)
    assert page.records["flags"].tolist() == [EQUAL_ONLY]
    assert document.records["flags"].tolist() == [0]
    own = page.keys[header.rows[OWN].start :, 0]
    if keyed:
        assert np.array_equal(page.keys, document.keys)
    else:
        assert np.array_equal(page.keys[:2], document.keys[:2])
        # Each document needs a key among the fingerprints.
        assert own.tolist() == [page.keys[DIGEST, 0]] * bool(scheme.simhash) + [NO_KEY] * scheme.keys
    assert page.urls == document.urls


def test_what_a_document_is_filed_with() -> None:
    _, some = filed("simhash", "https://a.example/1#x")
    assert some.urls == ["https://a.example/1"]
    assert (some.records["scope"][0], some.records["time"][0]) == (0, 0)
    _, some = filed("simhash", "https://a.example/1#x", keep_fragments=True, scope="news", time=9)
    assert some.urls == ["https://a.example/1#x"]
    assert some.records["time"][0] == 9
    _, other = filed("simhash", "", scope="sport")
    assert some.records["scope"][0] == 922231461339870867  # as in indexes of earlier versions
    assert other.records["scope"][0] not in (0, some.records["scope"][0])


urls = st.sampled_from(["https://a.example/", "https://a.example/1", "https://b.example/"])
with_fragment = st.builds(lambda url, end: url + end, urls, st.sampled_from(["", "#", "#top", "#a#b"]))


@given(st.lists(with_fragment, max_size=8, unique=True), st.lists(with_fragment, max_size=4))
@examples(60)
def test_urls_are_found_with_and_without_their_fragment(stored: list[str], asked: list[str]) -> None:
    header, some = filed("simhash", *stored, keep_fragments=True)
    wanted = {form for url in asked for form in (url, filed_url(url))} & set(stored)
    with closing(LmdbIndex(None, header)) as index:
        numbers = dict(zip(stored, index.add(some).tolist(), strict=True))
        found, known = find_urls(index, asked)
    assert sorted(found) == sorted(numbers[url] for url in wanted)
    assert known == wanted


def test_bare_fingerprints_have_no_pages_to_remove() -> None:
    pages = Header((Family(LAYOUTS[4]),), (("time", "<u4"),), {"features": {}})
    require_pages(pages, "time")
    for header, fields in ((HEADER, ()), (pages, ("time", "site"))):
        with pytest.raises(IndexMismatch, match=r"bare fingerprints.*FingerprintIndex"):
            require_pages(header, *fields)

"""Documents confirmed as weak: matched like others, told apart, and replaced by what has items."""

from __future__ import annotations

import pytest

from scrapy_neardup import Detector

TEXT = " ".join(f"word{number}" for number in range(100))
OTHER = " ".join(f"other{number}" for number in range(100))


@pytest.fixture(params=["lmdb", "scratch"])
def opened(request, tmp_path):
    path = tmp_path / "index" if request.param == "lmdb" else None
    with Detector.open(path) as detector:
        yield detector


def store(detector, url, text=TEXT, *, weak=False, **options):
    verdict = detector.reserve(text, url, **options)
    assert verdict.reservation is not None
    verdict.reservation.confirm(weak=weak)
    return verdict


def test_a_weak_document_is_matched_and_told_apart(opened):
    store(opened, "https://a.example/1", weak=True)
    store(opened, "https://a.example/2", OTHER)
    weak, strong = (opened.check(text, "https://b.example/") for text in (TEXT, OTHER))
    assert (weak.kind, weak.weak) == ("exact", True)
    assert (strong.kind, strong.weak) == ("exact", False)
    assert opened.reserve(TEXT + " more", "https://b.example/").weak


def test_what_has_items_takes_its_place_once_confirmed(opened):
    store(opened, "https://a.example/1", weak=True)
    first = opened.reserve(TEXT, "https://b.example/", has_items=True)
    assert first.kind == "unique"
    second = opened.reserve(TEXT, "https://c.example/", has_items=True)
    assert second.pending is first.reservation
    first.reservation.release()
    assert opened.check(TEXT, "https://d.example/").weak
    store(opened, "https://c.example/", has_items=True)
    verdict = opened.check(TEXT, "https://d.example/")
    assert (verdict.url, verdict.weak) == ("https://c.example/", False)
    assert opened.gauges()["documents"] == 1


def test_a_revisit_makes_it_strong_and_a_weak_one_of_the_same_text_leaves_it(opened):
    store(opened, "https://a.example/1", weak=True)
    store(opened, "https://a.example/1", weak=True)
    assert opened.check(TEXT, "https://b.example/").weak
    store(opened, "https://a.example/1")
    assert not opened.check(TEXT, "https://b.example/").weak
    assert opened.reserve(TEXT, "https://a.example/1").reservation is None
    assert opened.gauges()["documents"] == 1


def test_it_is_on_disk(tmp_path):
    with Detector.open(tmp_path / "index") as detector:
        store(detector, "https://a.example/1", weak=True)
    with Detector.open(tmp_path / "index") as detector:
        assert detector.check(TEXT, "https://b.example/").weak
        detector.index.compact()
        assert detector.check(TEXT, "https://b.example/").weak

"""What a verdict says beside its kind: the better of two versions, an unchanged revisit, and why."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.matching.records import entries, find_urls

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]
ONE, TWO, OTHER = "https://one.example/a", "https://one.example/b", "https://other.example/a"


def text(seed: int, words: int = 400) -> str:
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(words))


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Detector]:
    monkeypatch.setattr("secrets.randbits", lambda _: 7)
    with Detector.open() as detector:
        yield detector


def kinds(detector: Detector, *urls: str, body: str) -> list[tuple[str, str | None]]:
    return [(verdict.kind, verdict.url) for verdict in (detector.check(body, url) for url in urls)]


def test_the_page_that_its_copy_names_takes_its_place(detector: Detector) -> None:
    detector.add(text(1), ONE)
    assert detector.reserve(text(1), OTHER, named_by=lambda url, _: url == TWO).kind == "exact"
    verdict = detector.reserve(text(1), OTHER, named_by=lambda url, _: url == ONE)
    assert (verdict.kind, verdict.url) == ("preferred", ONE)
    assert verdict.reservation is not None
    verdict.reservation.confirm()
    assert kinds(detector, ONE, OTHER, body=text(1)) == [("exact", OTHER), ("revisit", OTHER)]


def test_the_page_that_a_pending_copy_names_waits(detector: Detector) -> None:
    first = detector.reserve(text(1), ONE)
    verdict = detector.reserve(text(1), TWO, named_by=lambda url, _: url == ONE)
    assert (verdict.kind, verdict.pending) == ("exact", first.reservation)


def test_an_unchanged_revisit(detector: Detector) -> None:
    detector.add(text(1), ONE)
    same, changed = detector.check(text(1).upper(), ONE), detector.check(f"{text(1)} {text(2, 8)}", ONE)
    assert (same.kind, same.unchanged, same.similarity) == ("revisit", True, 1.0)
    assert (changed.kind, changed.unchanged) == ("revisit", False)
    assert changed.similarity is not None
    assert 0.8 < changed.similarity < 1
    assert not detector.check(text(1), TWO).unchanged


def test_fragments_are_cut_unless_they_are_kept(detector: Detector) -> None:
    for page in ("#!/1", "#!/2"):
        body = text(ord(page[-1]))
        assert detector.reserve(body, ONE + page, keep_fragment=True).reservation.confirm() is None  # type: ignore[union-attr]
    assert detector.reserve(text(ord("1")), f"{ONE}#!/2", keep_fragment=True).url == f"{ONE}#!/1"
    assert detector.check(text(ord("1")), f"{ONE}#!/1").kind == "exact"  # filed under another URL
    assert find_urls(detector.index, [f"{ONE}#!/1"])[1] == {f"{ONE}#!/1"}
    assert (detector.forget(f"{ONE}#!/1"), detector.forget(f"{ONE}#!/1"), detector.forget(ONE)) == (1, 0, 0)
    header = detector.index.header
    assert entries([detector.signature("a")], [f"{ONE}#x"], header).urls == [ONE]
    assert entries([detector.signature("a")], [f"{ONE}#x"], header, keep_fragments=True).urls == [f"{ONE}#x"]


def test_explanations(detector: Detector) -> None:
    assert detector.check(text(1), ONE).explanation == {}
    assert detector.check("short", ONE).explanation == {"step": "text", "tokens": 1, "tokens_asked": 40}
    detector.add(text(1, 150), ONE)
    exact = detector.check(text(1, 150), TWO).explanation
    assert (exact["step"], exact["found_by"]) == ("digest", ["digest", "fingerprint", "keys"])
    near = detector.check(text(1, 150) + " and more", TWO)
    why = near.explanation
    assert (near.kind, why["one_site"], why["two_sites"]) == ("near", True, False)
    assert why["step"] in ("fingerprint", "keys")
    assert why["jaccard"] == near.similarity
    assert (why["alike"], why["elsewhere"], why["decided_by"]) == (True, False, "alike")
    assert detector.check(text(1, 150) + " and more", OTHER).explanation["two_sites"]
    assert {type(value) for value in why.values()} == {bool, int, float, str, list}

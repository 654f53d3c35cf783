"""Verdicts and what is stored of them: exact, near, revisit, scopes, windows, reservations, forgetting."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.errors import ConfigurationError, IndexMismatch, IndexUnavailable
from scrapy_neardup.fingerprint import Features
from scrapy_neardup.index import MemoryIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]


def text(seed: int, words: int = 300) -> str:
    """One text a seed, in one long paragraph."""
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(words))


def edited(seed: int, words: int = 300) -> str:
    """The same with one word replaced in the middle: nearly the same text."""
    parts = text(seed, words).split()
    parts[words // 2] = "zzz"
    return " ".join(parts)


class Clock:
    """Seconds since 1970, moved by hand."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seeds of indexes in every run, and so the same distances."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)


@pytest.fixture(params=["scratch", "kept"])
def detector(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Detector]:
    with Detector.open(tmp_path if request.param == "kept" else None) as detector:
        yield detector


def test_unique_then_exact_then_near_then_revisit(detector: Detector) -> None:
    assert detector.add(text(1), url="https://a.example/1").kind == "unique"
    exact = detector.add(f"  {text(1).upper()}\n", url="https://b.example/1")
    assert (exact.kind, exact.url, exact.distance, exact.similarity) == (
        "exact",
        "https://a.example/1",
        0,
        1.0,
    )
    assert exact.is_duplicate
    assert exact.reservation is None
    near = detector.check(edited(1), url="https://c.example/1")
    assert (near.kind, near.url) == ("near", "https://a.example/1")
    assert near.distance is not None
    assert near.distance <= 3
    assert near.similarity is not None
    assert 0.9 < near.similarity <= 1
    assert detector.add(text(2), url="https://a.example/2").kind == "unique"
    revisit = detector.add(text(1), url="https://a.example/1#part")
    assert (revisit.kind, revisit.url, revisit.is_duplicate) == ("revisit", "https://a.example/1", False)
    assert revisit.reservation is None
    assert detector.gauges()["documents"] == 2


def test_check_stores_nothing(detector: Detector) -> None:
    for _ in range(2):
        verdict = detector.check(text(1), url="https://a.example/")
        assert (verdict.kind, verdict.reservation, verdict.pending) == ("unique", None, None)
    assert detector.gauges()["documents"] == 0


def test_signatures_serve_in_place_of_texts(detector: Detector) -> None:
    signature = detector.signature(text(1))
    assert detector.add(signature, url="https://a.example/").kind == "unique"
    assert detector.check(text(1), url="https://b.example/").kind == "exact"


@pytest.mark.parametrize("short", ["", " ", "word", text(1, 49)])
def test_too_short_never_matches_nor_is_stored(detector: Detector, short: str) -> None:
    for host in "abc":
        verdict = detector.add(short, url=f"https://{host}.example/")
        assert (verdict.kind, verdict.url, verdict.reservation) == ("too_short", None, None)
    assert detector.gauges()["documents"] == 0
    assert detector.add(text(1, 50), url="https://a.example/").kind == "unique"


def test_min_tokens(tmp_path: Path) -> None:
    with Detector.open(tmp_path, min_tokens=10) as detector:
        assert detector.add(text(1, 9), url="https://a.example/").kind == "too_short"
        assert detector.add(text(1, 10), url="https://a.example/").kind == "unique"


def test_an_exact_match_needs_all_128_bits(detector: Detector) -> None:
    """Equal fingerprints and sketches, and half of the digest: near, not exact."""
    signature = detector.signature(text(1))
    detector.add(signature, url="https://a.example/")
    for other in (
        signature.digest[:8] + bytes(8),
        bytes(8) + signature.digest[8:],
        bytes(byte ^ 255 for byte in signature.digest),
    ):
        verdict = detector.check(replace(signature, digest=other), url="https://b.example/")
        assert (verdict.kind, verdict.distance, verdict.similarity) == ("near", 0, 1.0)
    alone = replace(
        signature, fingerprint=signature.fingerprint ^ (1 << 64) - 1, sketch=bytes(len(signature.sketch))
    )
    assert detector.check(alone, url="https://b.example/").kind == "exact"


def test_fingerprints_beyond_the_distance_are_not_near(detector: Detector) -> None:
    signature = detector.signature(text(1))
    detector.add(signature, url="https://a.example/")
    for bits in range(7):
        flipped = sum(1 << 9 * bit for bit in range(bits))
        other = replace(signature, fingerprint=signature.fingerprint ^ flipped, digest=bytes(16))
        kind = detector.check(other, url="https://b.example/").kind
        assert kind == ("near" if bits <= 3 else "unique"), bits


@pytest.mark.parametrize(("tables", "furthest"), [(4, 7), (10, 4), (20, 4)])
def test_distances_that_the_tables_reach(tables: int, furthest: int) -> None:
    Detector.open(tables=tables, distance=furthest).close()
    for distance in (furthest + 1, -1):
        with pytest.raises(ConfigurationError, match=f"within 0 to {furthest} bits, not {distance}"):
            Detector.open(tables=tables, distance=distance)


def test_there_are_layouts_of_4_10_and_20_tables() -> None:
    with pytest.raises(ConfigurationError, match="use one of"):
        Detector.open(tables=5)


# Reservations


def test_a_pending_document_matches_at_once(detector: Detector) -> None:
    kept = detector.reserve(text(1), url="https://a.example/")
    assert kept.reservation is not None
    other = detector.reserve(edited(1), url="https://b.example/")
    assert other.kind == "near"
    assert other.pending is kept.reservation
    assert other.reservation is None
    kept.reservation.confirm()
    settled = detector.reserve(edited(1), url="https://b.example/")
    assert (settled.kind, settled.pending) == ("near", None)
    assert kept.reservation.confirmed is True


def test_what_is_released_is_forgotten(detector: Detector) -> None:
    verdict = detector.reserve(text(1), url="https://a.example/")
    assert verdict.reservation is not None
    seen: list[bool | None] = []
    verdict.reservation.add_done_callback(lambda reservation: seen.append(reservation.confirmed))
    verdict.reservation.release()
    verdict.reservation.confirm()
    assert seen == [False]
    assert detector.check(text(1), url="https://b.example/").kind == "unique"
    assert detector.gauges() | {"documents": 0, "pending": 0} == detector.gauges()


def test_six_at_once_are_one(detector: Detector) -> None:
    verdicts = [detector.reserve(text(1), url=f"https://{host}.example/") for host in "abcdef"]
    assert [verdict.kind for verdict in verdicts] == ["unique"] + ["exact"] * 5
    assert {verdict.pending for verdict in verdicts[1:]} == {verdicts[0].reservation}


def test_threads_agree_on_one(detector: Detector) -> None:
    start = threading.Barrier(8)
    kinds: list[list[str]] = [[] for _ in range(8)]

    def work(number: int) -> None:
        start.wait()
        for seed in range(30):
            verdict = detector.add(text(seed), url=f"https://{number}.example/{seed}")
            kinds[number].append(verdict.kind)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for same in zip(*kinds, strict=True):
        assert sorted(same) == ["exact"] * 7 + ["unique"]


def test_a_settled_match_is_preferred_to_a_pending_one(detector: Detector) -> None:
    detector.add(text(1), url="https://a.example/")
    changed = detector.reserve(edited(1), url="https://a.example/")
    assert changed.kind == "revisit"
    verdict = detector.check(edited(1), url="https://b.example/")
    assert (verdict.kind, verdict.url, verdict.pending) == ("near", "https://a.example/", None)


def test_closing_releases_what_is_pending(tmp_path: Path) -> None:
    detector = Detector.open(tmp_path)
    verdict = detector.reserve(text(1), url="https://a.example/")
    detector.close()
    assert verdict.reservation is not None
    assert verdict.reservation.confirmed is False
    verdict.reservation.confirm()
    with Detector.open(tmp_path) as detector:
        assert detector.check(text(1), url="https://b.example/").kind == "unique"


# Revisits


def test_a_changed_page_takes_the_place_of_its_old_text(detector: Detector) -> None:
    detector.add(text(1), url="https://a.example/")
    detector.flush()
    changed = detector.reserve(text(2), url="https://a.example/")
    assert (changed.kind, changed.url) == ("revisit", "https://a.example/")
    assert changed.reservation is not None
    for seed in (1, 2):  # nobody knows yet
        assert detector.check(text(seed), url="https://b.example/").kind == "exact"
    changed.reservation.confirm()
    assert detector.check(text(1), url="https://b.example/").kind == "unique"
    assert detector.check(text(2), url="https://b.example/").kind == "exact"
    detector.flush()
    assert detector.check(text(1), url="https://b.example/").kind == "unique"
    assert detector.gauges()["documents"] == 1


def test_a_change_that_is_released_leaves_the_old_text(detector: Detector) -> None:
    detector.add(text(1), url="https://a.example/")
    changed = detector.reserve(text(2), url="https://a.example/")
    assert changed.reservation is not None
    changed.reservation.release()
    assert detector.check(text(1), url="https://b.example/").kind == "exact"
    assert detector.check(text(2), url="https://b.example/").kind == "unique"


def test_superseded_text_stays_so_after_reopening(tmp_path: Path) -> None:
    for seed in range(4):
        with Detector.open(tmp_path) as detector:
            assert detector.add(text(seed), url="https://a.example/").kind == (
                "revisit" if seed else "unique"
            )
    with Detector.open(tmp_path) as detector:
        kinds = [detector.check(text(seed), url="https://b.example/").kind for seed in range(4)]
        assert kinds == ["unique"] * 3 + ["exact"]
        assert detector.gauges()["documents"] == 1


def test_a_page_that_has_become_a_copy_is_a_duplicate(detector: Detector) -> None:
    detector.add(text(1), url="https://a.example/")
    detector.add(text(2), url="https://b.example/")
    verdict = detector.add(text(1), url="https://b.example/")
    assert (verdict.kind, verdict.url) == ("exact", "https://a.example/")


# Forgetting, scopes, windows


def test_forget(detector: Detector) -> None:
    detector.add(text(1), url="https://a.example/")
    detector.add(text(2), url="https://b.example/")
    detector.flush()
    assert detector.forget("https://a.example/#fragment") == 1
    assert detector.forget("https://a.example/") == 0
    assert detector.forget("https://c.example/") == 0
    assert detector.check(text(1), url="https://c.example/").kind == "unique"
    assert detector.check(text(2), url="https://c.example/").kind == "exact"


def test_forget_lasts(tmp_path: Path) -> None:
    with Detector.open(tmp_path) as detector:
        for seed in range(3):
            detector.add(text(seed), url=f"https://a.example/{seed}")
        assert detector.forget("https://a.example/0") == 1  # still in memory
        detector.flush()
        assert detector.forget("https://a.example/1") == 1  # in the log
    with Detector.open(tmp_path) as detector:
        kinds = [detector.check(text(seed), url="https://b.example/").kind for seed in range(3)]
        assert kinds == ["unique", "unique", "exact"]


def test_forgetting_a_pending_document(detector: Detector) -> None:
    verdict = detector.reserve(text(1), url="https://a.example/")
    assert detector.forget("https://a.example/") == 1
    assert verdict.reservation is not None
    verdict.reservation.confirm()
    detector.flush()
    assert detector.check(text(1), url="https://b.example/").kind == "unique"
    assert detector.gauges()["documents"] == 0


def test_scopes_are_apart(detector: Detector) -> None:
    for scope in ("", "one", "two"):
        assert detector.add(text(1), url="https://a.example/", scope=scope).kind == "unique"
    for scope in ("", "one", "two"):
        assert detector.check(text(1), url="https://b.example/", scope=scope).kind == "exact"
        assert detector.check(text(1), url="https://a.example/", scope=scope).kind == "revisit"
    assert detector.check(text(1), url="https://b.example/", scope="three").kind == "unique"
    changed = detector.add(text(2), url="https://a.example/", scope="one")
    assert changed.kind == "revisit"
    assert detector.check(text(1), url="https://b.example/", scope="one").kind == "unique"
    assert detector.check(text(1), url="https://b.example/", scope="two").kind == "exact"
    assert detector.forget("https://a.example/") == 3


def test_window(tmp_path: Path) -> None:
    clock, day = Clock(), 86_400
    with Detector.open(tmp_path) as opened:
        detector = Detector(opened.index, window=8, clock=clock)
        assert detector.add(text(1), url="https://a.example/").kind == "unique"
        clock.now += 8 * day
        assert detector.check(text(1), url="https://b.example/").kind == "exact"
        clock.now += 1
        assert detector.check(text(1), url="https://b.example/").kind == "unique"
        assert detector.check(text(1), url="https://a.example/").kind == "unique"
        assert opened.check(text(1), url="https://b.example/").kind == "exact"


def test_a_page_that_is_still_there_is_renewed_before_it_expires(tmp_path: Path) -> None:
    clock, day = Clock(), 86_400
    with Detector.open(tmp_path) as opened:
        detector = Detector(opened.index, window=8, clock=clock)
        detector.add(text(1), url="https://a.example/")
        for _ in range(10):
            clock.now += 5 * day
            assert detector.add(text(1), url="https://a.example/").kind == "revisit"
            assert detector.check(text(1), url="https://b.example/").kind == "exact"
        assert detector.gauges()["documents"] == 1


# Opening and closing


def test_detectors_of_one_path_see_each_others_pending(tmp_path: Path) -> None:
    with Detector.open(tmp_path) as one, Detector.open(tmp_path) as two:
        verdict = one.reserve(text(1), url="https://a.example/")
        assert two.check(text(1), url="https://b.example/").pending is verdict.reservation
        changed = two.reserve(text(2), url="https://b.example/")
    assert verdict.reservation is not None
    assert changed.reservation is not None
    assert verdict.reservation.confirmed is changed.reservation.confirmed is False


def test_one_that_closes_leaves_the_others_theirs(tmp_path: Path) -> None:
    one, two = Detector.open(tmp_path), Detector.open(tmp_path)
    kept, lost = (
        two.reserve(text(1), url="https://a.example/"),
        one.reserve(text(2), url="https://b.example/"),
    )
    one.close()
    one.close()  # counts once
    assert kept.reservation is not None
    assert lost.reservation is not None
    assert (kept.reservation.confirmed, lost.reservation.confirmed) == (None, False)
    kept.reservation.confirm()
    two.flush()
    two.close()
    with Detector.open(tmp_path) as three:
        assert three.check(text(1), url="https://c.example/").kind == "exact"
        assert three.check(text(2), url="https://c.example/").kind == "unique"


def test_closing_twice_is_no_error(tmp_path: Path) -> None:
    with Detector.open(tmp_path) as detector:
        detector.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        detector.check(text(1), url="https://a.example/")


def test_scratch_detectors_are_apart() -> None:
    with Detector.open() as one, Detector.open() as two:
        one.add(text(1), url="https://a.example/")
        assert two.check(text(1), url="https://b.example/").kind == "unique"


def test_the_seed_is_the_indexes_own(tmp_path: Path) -> None:
    with Detector.open(tmp_path / "1") as one, Detector.open(tmp_path / "2") as two:
        signature = one.signature(text(1))
        assert signature.fingerprint != two.signature(text(1)).fingerprint
        assert signature.digest != two.signature(text(1)).digest
    with Detector.open(tmp_path / "1") as again:
        assert again.signature(text(1)) == signature


def test_other_parameters_are_refused(tmp_path: Path) -> None:
    Detector.open(tmp_path, extractor="trafilatura 2.0").close()
    for arguments, difference in (
        ({"tables": 10}, "tables"),
        ({"extractor": "plain"}, "extractor"),
        ({"features": Features(shingle=5)}, "features"),
    ):
        with pytest.raises(IndexMismatch, match=f"{difference}.*reset the index"):
            Detector.open(tmp_path, **arguments)  # type: ignore[arg-type]
    Detector.open(tmp_path).close()
    with Detector.open(tmp_path, extractor="plain", reset=True) as detector:
        assert detector.gauges()["documents"] == 0


def test_a_bad_distance_leaves_the_index_usable(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        Detector.open(tmp_path, distance=9)
    with Detector.open(tmp_path, reset=True) as detector:
        assert detector.add(text(1), url="https://a.example/").kind == "unique"


@pytest.mark.parametrize("url", ["", "\udcff", "https://пример.example/ä?q=1", "x" * 100_000])
def test_any_string_is_a_url(tmp_path: Path, url: str) -> None:
    with Detector.open(tmp_path) as detector:
        detector.add(text(1), url=url)
    with Detector.open(tmp_path) as detector:
        assert detector.check(text(1), url="https://other.example/").url == url
        assert detector.check(text(1), url=url).kind == "revisit"
        assert detector.forget(url) == 1


def test_verdicts_equal_those_of_an_index_in_memory(tmp_path: Path) -> None:
    dice = random.Random(5)
    with Detector.open(tmp_path) as disk:
        memory = Detector(MemoryIndex(disk.index.header))
        with closing(memory):
            for _ in range(400):
                seed, url = dice.randrange(30), f"https://{dice.randrange(40)}.example/"
                document = (text if dice.random() < 0.5 else edited)(seed, 80)
                action = dice.choice(("add", "add", "check", "forget", "flush"))
                if action == "flush":
                    disk.flush()
                elif action == "forget":
                    assert disk.forget(url) == memory.forget(url)
                else:
                    got, expected = (getattr(one, action)(document, url=url) for one in (disk, memory))
                    assert (got.kind, got.distance, got.similarity) == (
                        expected.kind,
                        expected.distance,
                        expected.similarity,
                    )
                assert disk.gauges()["documents"] == memory.gauges()["documents"]

"""Verdicts and what is stored of them: exact, near, revisit, scopes, windows, reservations, forgetting."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scrapy_neardup import Detector, clock
from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.fingerprint import Features
from scrapy_neardup.matching.records import find_urls
from tests.audit.corpora import edited, text
from tests.helpers.short_lines import weather

ONE_SITE, TWO_SITES = "https://a.example/{}", "https://{}.example/"
DAY = 86_400


class Clock:
    """Seconds since 1970, moved by hand."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


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
    near = detector.check(edited(text(1), 1), url="https://c.example/1")
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


@pytest.mark.parametrize("short", ["", " ", "word", text(1, 39)])
def test_too_short_never_matches_nor_is_stored(detector: Detector, short: str) -> None:
    for host in "abc":
        verdict = detector.add(short, url=f"https://{host}.example/")
        assert (verdict.kind, verdict.url, verdict.reservation) == ("too_short", None, None)
    assert detector.gauges()["documents"] == 0
    assert detector.add(text(1, 40), url="https://a.example/").kind == "unique"


def test_an_exact_match_needs_all_128_bits(detector: Detector) -> None:
    """Equal fingerprints and sketches, and half of the digest: near, not exact."""
    signature = detector.signature(text(1))
    detector.add(signature, url="https://a.example/")
    for other in (
        signature.digest[:8] + bytes(8),
        bytes(8) + signature.digest[8:],
        bytes(byte ^ 255 for byte in signature.digest),
    ):
        verdict = detector.check(signature._replace(digest=other), url="https://b.example/")
        assert (verdict.kind, verdict.distance, verdict.similarity) == ("near", 0, 1.0)
    alone = signature._replace(
        fingerprint=signature.fingerprint ^ (1 << 64) - 1, sketch=bytes(len(signature.sketch))
    )
    assert detector.check(alone, url="https://b.example/").kind == "exact"


@pytest.mark.parametrize("distance", [0, 3, 7])
def test_fingerprints_beyond_the_distance_need_an_anchor(tmp_path: Path, distance: int) -> None:
    with Detector.open(tmp_path, distance=distance) as detector:
        signature = detector.signature(text(1))
        detector.add(signature, url="https://a.example/")
        for bits in range(10):
            flipped = sum(1 << 7 * bit for bit in range(bits))
            alike = signature._replace(fingerprint=signature.fingerprint ^ flipped, digest=bytes(16))
            without = alike._replace(keys=bytes(len(signature.keys)))
            one_of_them = alike._replace(keys=signature.keys[:8] + without.keys[8:])
            assert detector.check(alike, url="https://b.example/").kind == "near"
            assert detector.check(one_of_them, url="https://b.example/").kind == "near"
            kind = detector.check(without, url="https://b.example/").kind
            assert kind == ("near" if bits <= distance else "unique"), bits


# Reservations


def test_a_pending_document_matches_at_once(detector: Detector) -> None:
    kept = detector.reserve(text(1), url="https://a.example/")
    assert kept.reservation is not None
    other = detector.reserve(edited(text(1), 1), url="https://b.example/")
    assert other.kind == "near"
    assert other.pending is kept.reservation
    assert other.reservation is None
    kept.reservation.confirm()
    settled = detector.reserve(edited(text(1), 1), url="https://b.example/")
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
    # It has grown: another page of its site is nearly the same, but lacks what is new here.
    assert detector.add(f"{text(2)} {text(3, 25)}", url="https://a.example/long").kind == "fuller"
    assert detector.add(f"{text(2)} {text(4, 25)}", url="https://a.example/").kind == "revisit"


# Walls and templates


def release(dice: random.Random) -> str:
    """A press release on quarterly figures, as it were: nine numbers among 280 words."""
    words = text(77, 280).split()
    for place in range(20, 280, 30):
        words.insert(place, f"{dice.randint(2, 99_999):,}")
    return " ".join(words)


def forecast(dice: random.Random) -> str:
    """A weather page with few numbers and a long text that never changes."""
    return f"{weather(dice)} {text(78, 300)}"


# On different sites half of the numbers have to differ, which by chance those of two forecasts do not always.
@pytest.mark.parametrize(
    ("template", "site"),
    [
        *((each, ONE_SITE) for each in (weather, release, forecast)),
        *((each, TWO_SITES) for each in (weather, release)),
    ],
)
def test_pages_of_one_template_with_other_numbers_are_never_dropped(
    detector: Detector, template: Callable[[random.Random], str], site: str
) -> None:
    dice = random.Random(3)
    pages = [template(dice) for _ in range(60)]
    kinds = [detector.add(page, url=site.format(number)).kind for number, page in enumerate(pages)]
    assert set(kinds) <= {"unique", "template"}
    if template in (release, forecast):  # the others have too few words in common
        assert kinds.count("template") >= 55
    assert detector.gauges()["documents"] == 60
    # Each of them is known: its copies are, and so is the page itself.
    for number, page in enumerate(pages):
        copy = detector.check(page, url="https://copy.example.org/")
        assert (copy.kind, copy.url) == ("exact", site.format(number))
        assert detector.add(page, url=site.format(number)).kind == "revisit"
    assert detector.gauges()["documents"] == 60


# Forgetting, scopes, windows


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
    moved = Clock()
    with Detector.open(tmp_path) as opened:
        detector = Detector(opened.index, window=8, clock=moved)
        assert detector.add(text(1), url="https://a.example/").kind == "unique"
        moved.now += 8 * DAY
        assert detector.check(text(1), url="https://b.example/").kind == "exact"
        moved.now += 1
        assert detector.check(text(1), url="https://b.example/").kind == "unique"
        assert detector.check(text(1), url="https://a.example/").kind == "unique"
        assert opened.check(text(1), url="https://b.example/").kind == "exact"


def test_a_page_that_is_still_there_is_renewed_before_it_expires(tmp_path: Path) -> None:
    moved = Clock()
    with Detector.open(tmp_path) as opened:
        detector = Detector(opened.index, window=8, clock=moved)
        detector.add(text(1), url="https://a.example/")
        for _ in range(10):
            moved.now += 5 * DAY
            assert detector.add(text(1), url="https://a.example/").kind == "revisit"
            assert detector.check(text(1), url="https://b.example/").kind == "exact"
        assert detector.gauges()["documents"] == 1


IN_1960, IN_2110, TODAY = -315_619_200.5, 4_417_977_600.5, 1_790_000_000


@pytest.mark.parametrize(
    ("said", "kept"), [(IN_1960, 0), (-0.5, 0), (IN_2110, 2**32 - 1), (TODAY + 0.9, TODAY)]
)
def test_the_time_has_four_bytes(said: float, kept: int) -> None:
    """A clock that is wrong costs no page and no place in the index."""
    assert clock.now(lambda: said) == kept


def test_a_window_counts_from_the_time_that_was_kept() -> None:
    def at(seconds: float, window: float | None = None) -> Detector:
        return Detector(opened.index, window=window, clock=lambda: seconds)

    with Detector.open() as opened:
        at(IN_1960).add(text(1), "https://a.example/1")
        at(TODAY).add(text(2), "https://a.example/2")
        assert at(TODAY + DAY, 30).check(text(1), "https://b.example/").kind == "unique"
        assert at(TODAY + DAY, 30).check(text(2), "https://b.example/").kind == "exact"
        # Whoever has gone back to 1960 finds what was stored later.
        assert at(IN_1960, 30).check(text(2), "https://b.example/").kind == "exact"


# Opening and closing


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
        ({"features": Features(shingle=5)}, "features: index {'shingle': 1}, now {'shingle': 5}"),
        ({"features": Features(segmenter="rjieba")}, "segmenter"),
        ({"scheme": "simhash"}, "scheme: index simhash.anchors, now simhash"),
        ({"scheme": "minhash"}, "scheme"),
    ):
        with pytest.raises(IndexMismatch, match=f"{difference}.*reset the index"):
            Detector.open(tmp_path, **arguments)  # type: ignore[arg-type]
    Detector.open(tmp_path).close()
    with Detector.open(tmp_path, extractor="plain", reset=True) as detector:
        assert detector.gauges()["documents"] == 0


def test_pages_of_another_release_of_the_extractor_are_compared_and_signed_anew(tmp_path: Path) -> None:
    with Detector.open(tmp_path, extractor="segment 14, trafilatura 2.0.0 fast") as detector:
        detector.add(text(1), url="https://a.example/1")
        detector.add(text(2), url="https://a.example/2")
    with Detector.open(tmp_path, extractor="segment 15, trafilatura 2.1 fast") as detector:
        # What it finds now has a line more, and is still a copy of what was found before.
        found = [f"{text(seed)} and a line more that was not found before" for seed in (1, 2)]
        assert detector.check(found[0], url="https://b.example/1").kind == "near"
        assert detector.add(found[0], url="https://a.example/1").kind == "revisit"
        assert detector.check(found[0], url="https://b.example/1").kind == "exact"
        assert detector.check(found[1], url="https://b.example/2").kind == "near"


# Which text contains which


@pytest.mark.parametrize("share", [0.35, 0.55])
@pytest.mark.parametrize("site", [ONE_SITE, TWO_SITES])
def test_an_excerpt_that_came_first_does_not_drop_the_whole(
    detector: Detector, site: str, share: float
) -> None:
    kinds = []
    for seed in range(12):
        whole = text(seed, 600)
        excerpt = " ".join(whole.split()[: int(600 * share)])
        urls = [site.format(f"{seed}{name}") for name in ("excerpt", "whole", "copy")]
        assert detector.add(excerpt, url=urls[0]).kind == "unique"
        verdict = detector.add(whole, url=urls[1])
        kinds.append(verdict.kind)
        assert (verdict.is_duplicate, verdict.url) == (False, urls[0] if verdict.kind == "fuller" else None)
        # From now on the whole is what its copies are held against; the excerpt is known as what it is.
        copy = detector.check(f"{whole} More copied words.", url=urls[2])
        assert (copy.kind, copy.url) == ("near", urls[1])
        assert detector.check(excerpt, url=urls[2]).url == urls[0]
        assert detector.add(excerpt, url=urls[0]).kind == "revisit"
        assert detector.add(whole, url=urls[1]).kind == "revisit"
    assert set(kinds) <= {"fuller", "unique"}
    assert "fuller" in kinds
    assert detector.gauges()["documents"] == 24


# What a verdict says beside its kind

ONE, TWO, OTHER = "https://one.example/a", "https://one.example/b", "https://other.example/a"


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

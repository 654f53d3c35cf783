"""Every scheme in a real index: what is found, how often, with which other index it fits.

An index finds the same pairs as a comparison pair by pair.
"""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.audit.evaluate import judge_texts
from scrapy_neardup.audit.texts import Text
from scrapy_neardup.errors import ConfigurationError, IndexMismatch
from scrapy_neardup.fingerprint import SCHEMES, Features, load_scheme
from scrapy_neardup.fingerprint.bands import Bands
from scrapy_neardup.fingerprint.hashing import distinct
from scrapy_neardup.fingerprint.jaccard import jaccard, text_jaccard, word_shingles
from scrapy_neardup.fingerprint.schemes import ANCHORS
from scrapy_neardup.index import Header, LmdbIndex, MemoryIndex
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, NO_KEY, Family
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, families, filed_url, find_urls, record, scheme_of
from scrapy_neardup.matching.sites import site_key
from tests.examples import examples
from tests.index.small import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_neardup.audit.pairs import PairJudge

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]


def text(seed: int, words: int = 400) -> str:
    """One text a seed."""
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) for _ in range(words))


def edited(seed: int, replaced: int, words: int = 400) -> str:
    """The same with so many words replaced, evenly spaced: each changes five shingles."""
    parts = text(seed, words).split()
    for number in range(replaced):
        parts[(number * words + words // 2) // replaced] = f"zz{number}x"
    return " ".join(parts)


@pytest.fixture(autouse=True)
def seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seeds of indexes in every run."""
    monkeypatch.setattr("secrets.randbits", random.Random(2).getrandbits)


@pytest.fixture(params=list(product(SCHEMES, ["scratch", "kept"])), ids=" ".join)
def detector(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Detector]:
    scheme, kind = request.param
    with Detector.open(tmp_path if kind == "kept" else None, scheme=scheme) as detector:
        yield detector


def test_every_scheme_from_end_to_end(detector: Detector) -> None:
    for seed in range(20):
        assert detector.add(text(seed), url=f"https://a.example/{seed}").kind == "unique"
    for _ in range(2):  # before and after it is on disk
        found = 0
        for seed in range(20):
            exact = detector.check(f" {text(seed).upper()}\n", url="https://b.example/")
            assert (exact.kind, exact.url, exact.similarity) == ("exact", f"https://a.example/{seed}", 1.0)
            near = detector.check(edited(seed, 1), url="https://b.example/")
            if near.kind == "near":
                found += 1
                assert near.url == f"https://a.example/{seed}"
                assert near.similarity == pytest.approx(390 / 400, abs=0.05)
            else:
                assert near.kind == "unique"
            assert detector.add(text(seed), url=f"https://a.example/{seed}").kind == "revisit"
            assert detector.check(text(seed + 100), url="https://b.example/").kind == "unique"
        assert found >= 17  # of super-shingles .98 find such a copy
        detector.flush()
    changed = detector.add(text(200), url="https://a.example/0")
    assert changed.kind == "revisit"
    assert detector.check(text(0), url="https://b.example/").kind == "unique"
    assert detector.check(text(200), url="https://b.example/").kind == "exact"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reopening_keeps_what_is_found(scheme: str, tmp_path: Path) -> None:
    def kinds(detector: Detector) -> list[tuple[str, str | None, int | None, float | None]]:
        found = []
        for seed, replaced in product(range(15), (1, 5, 20)):
            verdict = detector.check(edited(seed, replaced), url="https://b.example/")
            found.append((verdict.kind, verdict.url, verdict.distance, verdict.similarity))
        return found

    with Detector.open(tmp_path, scheme=scheme) as detector:
        for seed in range(10):
            detector.add(text(seed), url=f"https://a.example/{seed}")
        before = kinds(detector)
    assert {kind for kind, *_ in before} == {"near", "unique"}
    with Detector.open(tmp_path, scheme=scheme) as detector:
        assert kinds(detector) == before


def test_an_index_made_with_one_scheme_refuses_all_others(tmp_path: Path) -> None:
    for scheme in SCHEMES:
        Detector.open(tmp_path / scheme, scheme=scheme).close()
    for made, wanted in product(SCHEMES, SCHEMES):
        if made == wanted:
            continue
        with pytest.raises(IndexMismatch) as caught:
            Detector.open(tmp_path / made, scheme=wanted)
        assert f"scheme: index {made}, now {wanted}" in str(caught.value)
        assert "use the same parameters, another index, or reset the index" in str(caught.value)
    with Detector.open(tmp_path / "minhash", scheme="simhash", reset=True) as detector:
        assert detector.matcher.scheme == load_scheme("simhash")


def test_a_threshold_that_cuts_other_bands_is_another_index(tmp_path: Path) -> None:
    Detector.open(tmp_path / "minhash", scheme="minhash", threshold=0.5).close()
    with pytest.raises(IndexMismatch, match="bands: index 32 x 4, now 14 x 9"):
        Detector.open(tmp_path / "minhash", scheme="minhash", threshold=0.8)
    # The others have no bands of their own choice.
    for scheme in ("simhash", "simhash+anchors", "supershingles"):
        Detector.open(tmp_path / scheme, scheme=scheme, threshold=0.5).close()
        Detector.open(tmp_path / scheme, scheme=scheme, threshold=0.8).close()


@pytest.mark.parametrize(
    ("threshold", "bands"),
    [(0.5, Bands(32, 4)), (0.6, Bands(25, 5)), (0.8, Bands(14, 9)), (0.9, Bands(8, 16))],
)
def test_bands_are_chosen_by_the_threshold(threshold: float, bands: Bands) -> None:
    for name in ("minhash", "bottomk"):
        scheme = load_scheme(name, threshold=threshold)
        assert scheme.families == (Family(EQUAL, bands.bands),)
        assert scheme.parameters == {"scheme": name, "bands": f"{bands.bands} x {bands.rows}"}
        header = Header(families(scheme), record(scheme), scheme.parameters, 0)
        assert scheme_of(header, threshold=threshold) == scheme


@pytest.mark.parametrize("tables", LAYOUTS)
def test_the_scheme_of_an_index_is_read_off_its_header(tables: int) -> None:
    for name in SCHEMES:
        scheme = load_scheme(name, tables=tables, distance=2)
        header = Header(families(scheme), record(scheme), scheme.parameters, 0)
        again = scheme_of(header, distance=2)
        assert again.families == scheme.families
        assert (again.tables == tables) == bool(scheme.simhash or tables == 4)


@pytest.mark.parametrize(
    ("name", "options", "remedy"),
    [
        ("simhsh", {}, "did you mean 'simhash'"),
        ("qqq", {}, "use one of simhash\\+anchors, simhash, minhash, bottomk, supershingles"),
        ("simhash", {"distance": 8}, "use a distance in that range"),
        ("simhash", {"tables": 5}, "use one of \\[4, 10, 20\\]"),
        ("minhash", {"threshold": 0.0}, "use a similarity between 0 and 1"),
        ("minhash", {"threshold": 1.0}, "use a similarity between 0 and 1"),
    ],
)
def test_impossible_schemes_are_refused(name: str, options: dict[str, float], remedy: str) -> None:
    with pytest.raises(ConfigurationError, match=remedy):
        load_scheme(name, **options)  # type: ignore[arg-type]


# How often


def shingle_jaccard(a: str, b: str) -> float:
    return jaccard(distinct(word_shingles(a, 5))[0], distinct(word_shingles(b, 5))[0])


def bernoulli(similarity: float, bands: Bands, threshold: float, runs: int = 20_000) -> float:
    """Return how often enough bands, and enough of 128 components, agree at this Jaccard *similarity*."""
    used = bands.bands * bands.rows
    equal = np.random.default_rng(0).random((runs, max(used, 128))) < similarity
    agreeing = equal[:, :used].reshape(runs, bands.bands, bands.rows).all(axis=2).sum(axis=1)
    return float(np.mean((agreeing >= bands.agree) & (equal[:, :128].mean(axis=1) >= threshold)))


def found_share(scheme: str, replaced: int, threshold: float = 0.5, texts: int = 250) -> tuple[float, float]:
    """How many copies are candidates in a kept index, and their mean similarity."""
    found, similar = 0, 0.0
    with Detector.open(scheme=scheme, threshold=threshold, verified=False) as detector:
        for seed in range(texts):
            detector.add(text(seed, 300), url=f"https://a.example/{seed}")
        detector.flush()
        for seed in range(texts):
            copy = edited(seed, replaced, 300)
            verdict = detector.check(copy, url="https://b.example/")
            found += verdict.kind == "near" and verdict.url == f"https://a.example/{seed}"
            similar += shingle_jaccard(text(seed, 300), copy)
    return found / texts, similar / texts


@pytest.mark.parametrize(
    ("scheme", "replaced", "threshold"),
    [
        ("supershingles", 1, 0.001),
        ("minhash", 12, 0.6),
        pytest.param("supershingles", 3, 0.001, marks=pytest.mark.slow),
        pytest.param("minhash", 6, 0.8, marks=pytest.mark.slow),
        pytest.param("minhash", 18, 0.5, marks=pytest.mark.slow),
    ],
)
def test_copies_are_found_as_often_as_computed(scheme: str, replaced: int, threshold: float) -> None:
    share, similarity = found_share(scheme, replaced, threshold)
    bands = load_scheme(scheme, threshold=threshold).bands  # type: ignore[attr-defined]
    expected = bernoulli(similarity, bands, 0 if scheme == "supershingles" else threshold)
    assert share == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 250) ** 0.5 + 0.02)
    if scheme == "supershingles":
        assert expected == pytest.approx(float(bands.probability(similarity)), abs=0.02)


@pytest.mark.slow
def test_bottom_k_finds_nearly_as_many_as_min_hash() -> None:
    share, similarity = found_share("bottomk", 12, 0.6)
    expected = bernoulli(similarity, load_scheme("minhash", threshold=0.6).bands, 0.6)  # type: ignore[attr-defined]
    assert expected - 0.15 < share <= expected + 0.1


def test_anchors_find_what_is_beyond_three_bits() -> None:
    """One of four is the least of the union with probability J of 8-word shingles, each."""
    share, _ = found_share("simhash+anchors", 20)
    alone, _ = found_share("simhash", 20)
    similar = [text_jaccard(text(seed, 300), edited(seed, 20, 300), words=8) for seed in range(250)]
    expected = 1 - (1 - float(np.mean(similar))) ** 4
    assert share >= expected - 4 * (expected * (1 - expected) / 250) ** 0.5
    assert alone < share - 0.2


@pytest.mark.parametrize("agreeing", range(7))
def test_super_shingles_need_two_of_six(agreeing: int) -> None:
    with Detector.open(scheme="supershingles", verified=False) as detector:
        signature = detector.signature(text(1))
        detector.add(signature, url="https://a.example/")
        assert len(signature.keys) == 6 * 8
        keys = signature.keys[: 8 * agreeing] + bytes(range(48))[8 * agreeing :]
        other = replace(signature, keys=keys, digest=bytes(16))
        kind = detector.check(other, url="https://b.example/").kind
        assert kind == ("near" if agreeing >= 2 else "unique")


def test_a_stock_phrase_makes_no_candidates() -> None:
    """A key that more than 64 documents share is passed over; other keys are not."""
    with Detector.open(verified=False) as detector:
        assert detector.matcher.scheme.most == 64
        phrase = detector.signature(text(1)).keys[:8]
        for seed in range(100):
            each = detector.signature(text(seed))
            detector.add(replace(each, keys=phrase + each.keys[8:]), url=f"https://a.example/{seed}")
        detector.flush()
        assert detector.gauges()["documents"] == 1  # the first phrase made each next one a copy
    with Detector.open() as detector:
        phrase = detector.signature(text(1)).keys[:8]
        signatures = [detector.signature(text(seed)) for seed in range(100)]
        for seed, each in enumerate(signatures):
            assert (
                detector.add(replace(each, keys=phrase + each.keys[8:]), url=f"https://a.example/{seed}").kind
                == "unique"
            )
        detector.flush()
        unlike = replace(signatures[5], fingerprint=signatures[5].fingerprint ^ 2**64 - 1, digest=bytes(16))
        only_phrase = replace(unlike, keys=phrase + b"\x01" * 56)
        assert detector.check(only_phrase, url="https://b.example/").kind == "unique"
        own_anchor = replace(unlike, keys=b"\x01" * 8 + signatures[5].keys[8:16] + b"\x01" * 48)
        assert detector.check(own_anchor, url="https://b.example/").kind == "near"


# Records


@pytest.mark.parametrize("name", SCHEMES)
def test_entries_hold_what_the_signatures_say(name: str) -> None:
    scheme = load_scheme(name)
    header = Header(families(scheme), record(scheme), scheme.parameters, 7)
    detector = Detector(MemoryIndex(replace(header, parameters={**scheme.parameters, "features": {}})))
    urls = ["https://news.example.com/1#part", "", "https://example.org/ä"]
    signatures = [detector.signature(text(seed)) for seed in range(3)]
    filed = entries(signatures, urls, header, scope="s", time=1234)
    assert filed.urls == ["https://news.example.com/1", "", "https://example.org/ä"]
    assert filed.keys.shape == (sum(family.keys for family in header.families), 3)
    assert filed.records["site"].tolist() == [site_key(url) for url in urls]
    assert not filed.records["flags"].any()
    assert len(set(filed.records["scope"].tolist())) == 1
    for row, signature in enumerate(signatures):
        stored = filed.records[row]
        low, high = np.frombuffer(signature.digest, "<u8").tolist()
        assert (int(filed.keys[0, row]), int(stored["digest"])) == (low, high)
        assert filed.keys[len(filed.keys) - scheme.keys :, row].astype("<u8").tobytes() == signature.keys
        if scheme.simhash:
            assert int(filed.keys[2, row]) == signature.fingerprint
        for field in ("fingerprint", "tokens", "shingles"):
            assert int(stored[field]) == getattr(signature, field)
        assert (stored["sketch"].tobytes(), stored["numbers"].tobytes()) == (
            signature.sketch,
            signature.numbers,
        )
        extra = b"".join(stored[field].tobytes() for field, _ in scheme.record)
        assert extra == signature.extra
        alone = entries([signature], [urls[row]], header, scope="s", time=1234)
        assert (alone.keys[:, 0] == filed.keys[:, row]).all()
        assert alone.records[0] == stored


@pytest.mark.parametrize("field", ["digest", "sketch", "numbers", "keys", "extra"])
def test_a_signature_of_another_make_is_refused(field: str) -> None:
    with Detector.open() as detector:
        signature = detector.signature(text(1))
        changed = replace(signature, **{field: getattr(signature, field) + b"\x00"})
        with pytest.raises(ValueError, match="size"):
            detector.reserve(changed, "https://a.example/")


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize("narrowed", [False, True])
def test_candidates_are_complete_if_no_bound_has_left_any_out(crowded: bool, narrowed: bool) -> None:
    with Detector.open() as detector:
        detector.add(text(1), url="https://a.example/")
        signature = detector.signature(text(1))
        document = entries([signature], ["https://b.example/"], detector.index.header)
        found = detector.index.find(document, detector.matcher.lookups)
        assert (found.crowded, found.narrowed) == (False, False)
        found = found._replace(crowded=crowded, narrowed=narrowed)
        complete = detector.matcher.candidates(document, found).complete
        assert complete == (not crowded and not narrowed)


def test_equal_texts_are_equal_in_all_respects_whatever_else_was_met() -> None:
    with Detector.open() as detector:
        signatures = [detector.signature(text(seed)) for seed in (1, 2, 3)]
        filed = entries(signatures, ["1", "2", "3"], detector.index.header)
        for exact in ([True, True], [True, False], [False, False]):
            judged = detector.matcher.judge(
                filed.records[0], filed.records[1:], np.array(exact), np.zeros(2, int)
            )
            assert judged.exact.tolist() == judged.near.tolist() == exact
            for row, same in enumerate(exact):
                figures = (judged.distance[row], judged.similarity[row], judged.containment[row])
                assert (figures == (0, 1, 1)) == same
            others = (judged.fuller, judged.template, judged.text_only)
            assert not any(each.any() for each in others)
            assert (judged.distance.dtype, judged.similarity.dtype) == (np.uint8, np.float32)


def test_values_are_the_figures_and_the_words_of_short_lines() -> None:
    lines = ("Colour: red", "Price: 12.50", "Weight: 730")
    others = ("Colour: blue", "Price: 12.90", "Weight: 730")
    with Detector.open() as detector:
        signatures = [detector.signature("\n".join([text(1, 200), *each])) for each in (lines, others, ())]
        filed = entries(signatures, ["https://a.example/"] * 3, detector.index.header)
        records = filed.records
        told = [detector.matcher.explain(records[0], records[[other]], [0, 0, 1, 0]) for other in range(3)]
    assert [each["values"] for each in told] == [0, 2, 0]


def test_how_much_of_a_text_is_known_depends_on_which_came_first() -> None:
    with Detector.open() as detector:
        signatures = [detector.signature(text(1, words)) for words in (150, 400)]
        filed = entries(signatures, ["https://a.example/", "https://b.example/"], detector.index.header)
        excerpt, whole = filed.records[:1], filed.records[1:]
        told = detector.matcher.explain(excerpt[0], whole, [0, 0, 1, 0])
        assert told["length"] == pytest.approx(excerpt["shingles"][0] / whole["shingles"][0])
        assert told["known"] == told["containment"] > 0.8
        told = detector.matcher.explain(whole[0], excerpt, [0, 0, 1, 0])
        assert told["length"] == pytest.approx(whole["shingles"][0] / excerpt["shingles"][0])
        assert told["known"] == pytest.approx(told["containment"] / told["length"])
        assert told["tokens"] == excerpt["tokens"][0]
        assert (told["one_site"], told["two_sites"]) == (False, True)


def test_which_stored_documents_count() -> None:
    """All of the same scope, unless they are too old or all scopes are asked for."""
    with Detector.open() as detector:
        signature, header = detector.signature(text(1)), detector.index.header
        for url, scope, time in (("1", "", 0), ("2", "news", 5), ("3", "", 5)):
            detector.index.add(entries([signature], [url], header, scope=scope, time=time))
        document = entries([signature], ["4"], header)
        found = detector.index.find(document, detector.matcher.lookups)

        def urls(*oldest: int, all_scopes: bool = False) -> set[str]:
            return {*detector.matcher.candidates(document, found, *oldest, all_scopes=all_scopes).urls}

        assert urls() == {"1", "3"}
        assert urls(all_scopes=True) == {"1", "2", "3"}
        assert urls(1) == urls(5) == {"3"}
        assert urls(5, all_scopes=True) == {"2", "3"}
        assert urls(6) == set()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_lookup_of_a_crawl_has_bounds(scheme: str) -> None:
    matcher = Matcher(load_scheme(scheme))
    assert len(matcher.lookups) == len(matcher.unbounded_lookups) == len(matcher.steps)
    for lookup, unbounded in zip(matcher.lookups, matcher.unbounded_lookups, strict=True):
        assert (unbounded.nearest, unbounded.compared) == (0, 0)
        assert 72 < lookup.nearest <= 1000  # benchmarks/bounds.py: real pages meet no more than 72
        assert 10**5 < lookup.compared < 10**7  # some milliseconds
        assert lookup == unbounded._replace(nearest=lookup.nearest, compared=lookup.compared)


def test_unverified_candidates_are_all_near() -> None:
    with Detector.open(verified=False) as detector:
        signatures = [detector.signature(text(seed)) for seed in (1, 2)]
        filed = entries(signatures, ["https://a.example/", "https://b.example/"], detector.index.header)
        shared = np.array([ANCHORS])
        judged = detector.matcher.judge(filed.records[0], filed.records[1:], np.array([False]), shared)
        assert (judged.near[0], judged.exact[0], judged.fuller[0], judged.template[0]) == (1, 0, 0, 0)
        assert detector.matcher.explain(filed.records[0], filed.records[1:], [0, 0, 0, 2]) == {
            "step": "keys",
            "found_by": ["keys"],
        }


def test_urls_are_found_as_they_are_filed() -> None:
    with Detector.open() as detector:
        for seed in range(3):
            detector.add(text(seed), url=f"https://a.example/{seed}#x")
        assert filed_url("https://a.example/1#a#b") == "https://a.example/1"
        found, _ = find_urls(
            detector.index, ["https://a.example/1#other", "https://a.example/2", "https://b.example/"]
        )
        assert len(found) == 2
        assert find_urls(detector.index, []) == ([], set())


# Live as pair by pair

EDITS = st.lists(
    st.tuples(st.sampled_from(["replace", "cut", "add", "numbers", "shuffle"]), st.integers(0, 100)),
    max_size=4,
)
SITES = st.sampled_from(
    ["https://a.example.com/x", "https://b.example.com/y", "https://other.example.org/", "", "/path"]
)


def numbered(seed: int, words: int, numbers: int) -> list[str]:
    parts = text(seed, words).split()
    dice = random.Random(-seed)
    for _ in range(numbers):
        parts.insert(dice.randrange(len(parts)), str(dice.randint(0, 9999)))
    return parts


def changed(parts: list[str], edits: list[tuple[str, int]]) -> str:
    parts = list(parts)
    for number, (kind, amount) in enumerate(edits):
        dice = random.Random(amount)
        count = len(parts) * amount // 300
        if kind == "replace":
            for place in dice.sample(range(len(parts)), count):
                parts[place] = f"new{number}{place}x"
        elif kind == "cut":
            parts = parts[: max(len(parts) - 2 * count, 1)]
        elif kind == "add":
            parts += [f"more{number}{place}x" for place in range(3 * count)]
        elif kind == "numbers":
            parts = [
                str(dice.randint(0, 9999)) if part.isdigit() and dice.random() < amount / 100 else part
                for part in parts
            ]
        else:
            middle = len(parts) * amount // 100
            parts = parts[middle:] + parts[:middle]
    return " ".join(parts)


def live_and_pairwise(scheme: str, verified: bool, a: Text, b: Text) -> tuple[str, str]:
    """What a detector with only *b* stored says of *a*, and what the evaluation does."""
    matcher = Matcher(load_scheme(scheme), verified)
    header = Header(
        families(matcher.scheme), record(matcher.scheme), {**matcher.scheme.parameters, "features": {}}, 11
    )
    with closing(Detector(MemoryIndex(header), verified=verified)) as detector:
        stored = detector.add(b.text, url=b.url)
        verdict = detector.check(a.text, url=a.url)
        judge: PairJudge = judge_texts([a, b], matcher, features=Features(), seed=11)
    found = judge.judge(np.array([0]), np.array([1]))
    pairwise = (
        "exact"
        if found.exact[0]
        else "near"
        if found.near[0]
        else "template"
        if found.template[0]
        else "fuller"
        if found.fuller[0]
        else "unique"
    )
    assert (stored.kind == "unique") == bool(judge.fit[1])
    live = verdict.kind if judge.fit[0] else "unique"
    assert (verdict.kind in ("too_short", "wall")) == (not judge.fit[0])
    if verdict.url is not None and live != "revisit":
        assert verdict.distance == found.distance[0]
        assert verdict.similarity == pytest.approx(float(found.similarity[0]))
    return live, pairwise


@examples(150)
@given(
    st.integers(0, 30),
    st.sampled_from([30, 60, 150, 400]),
    st.sampled_from([0, 2, 12]),
    EDITS,
    SITES,
    SITES,
    st.sampled_from(sorted(SCHEMES)),
    st.booleans(),
)
def test_the_verdict_is_what_the_evaluation_says_of_the_pair(
    seed: int,
    words: int,
    numbers: int,
    edits: list[tuple[str, int]],
    site: str,
    other: str,
    scheme: str,
    verified: bool,
) -> None:
    parts = numbered(seed, words, numbers)
    a, b = Text("a", changed(parts, edits), f"{site}?a"), Text("b", " ".join(parts), f"{other}?b")
    live, pairwise = live_and_pairwise(scheme, verified, a, b)
    assert live == pairwise


def test_all_kinds_of_verdict_occur_among_such_pairs() -> None:
    """So that the property above cannot hold for want of cases."""
    parts = numbered(3, 400, 12)
    cases: dict[str, list[tuple[str, int]]] = {
        "exact": [],
        "near": [("replace", 1)],
        "template": [("numbers", 100)],
        "unique": [("replace", 100), ("replace", 99), ("replace", 98)],
    }
    for kind, edits in cases.items():
        a, b = (
            Text("a", changed(parts, edits), "https://a.example.com/1"),
            Text("b", " ".join(parts), "https://a.example.com/2"),
        )
        assert live_and_pairwise("simhash+anchors", True, a, b) == (kind, kind)


# Many pages as one by one


def page(dice: random.Random, seed: int) -> str:
    """A page of one of five templates or its near-copy: the numbers differ, or some words do."""
    parts = numbered(seed, 300, 10)
    if dice.random() < 0.7:
        parts = [str(dice.randint(0, 99_999)) if part.isdigit() else part for part in parts]
    for _ in range(dice.choice((0, 0, 1, 4))):
        parts[dice.randrange(len(parts))] = f"zz{dice.randrange(50)}x"
    return " ".join(parts)


def one_by_one(judge: PairJudge, urls: list[str]) -> list[tuple[str, str | None]]:
    """Kind and match of each page in turn, compared with every page that is stored, by all keys of both."""
    records = judge.documents.records
    stored: list[int] = []
    verdicts: list[tuple[str, str | None]] = []
    for row, url in enumerate(urls):
        others = np.array(stored, np.int64)
        found = judge.judge(np.full(len(others), row), others)
        own = np.array([urls[other] == url for other in stored], bool)
        kinds = (
            ("revisit", found.near & own),
            ("near", found.near),
            ("revisit", own),
            ("template", found.template),
        )
        kind, among = next(((kind, among) for kind, among in kinds if among.any()), ("unique", own))
        strongest = sorted(
            np.flatnonzero(among).tolist(),
            key=lambda at: (not found.exact[at], -found.similarity[at], found.distance[at], urls[stored[at]]),
        )
        if kind == "near" and found.exact[strongest[0]]:
            kind = "exact"
        verdicts.append((kind, urls[stored[strongest[0]]] if strongest else None))
        if kind in ("unique", "fuller", "revisit", "template") and not (own & found.exact).any():
            records["flags"][row] = (found.template & ~own).any()
            stored = [other for other in stored if urls[other] != url] + [row]
    return verdicts


@pytest.mark.parametrize("scheme", SCHEMES)
def test_verdicts_are_those_of_comparing_with_every_stored_page(scheme: str) -> None:
    """Although pages of a template, but for the first, are filed under digest and URL alone."""
    matcher = Matcher(load_scheme(scheme))
    header = Header(
        families(matcher.scheme), record(matcher.scheme), {**matcher.scheme.parameters, "features": {}}, 11
    )
    seen: set[str] = set()
    for seed in range(3):
        dice = random.Random(seed)
        urls = [f"https://{dice.choice(('a', 'b'))}.example/{dice.randrange(50)}" for _ in range(70)]
        texts = [Text("", page(dice, dice.randrange(5)), url) for url in urls]
        texts[-7:] = [dice.choice(texts)._replace(url=url) for url in urls[-7:]]
        judge = judge_texts(texts, matcher, features=Features(), seed=11)
        expected = one_by_one(judge, urls)
        seen |= {kind for kind, _ in expected}
        with Detector(LmdbIndex(None, header) if seed else MemoryIndex(header)) as detector:
            verdicts = [detector.add(each.text, url=each.url) for each in texts]
        assert [(verdict.kind, verdict.url) for verdict in verdicts] == expected
    assert seen >= {"unique", "exact", "revisit", *(("template", "near") * (scheme != "supershingles"))}


def test_verdicts_do_not_change_with_merges(tmp_path: Path) -> None:
    """A phrase that 64 pages share is evidence, one that 65 share is not: in many runs, in one, in memory."""
    scheme = load_scheme("simhash+anchors")
    parameters = {**scheme.parameters, "features": {}}
    header = Header(families(scheme), record(scheme), parameters, 11)
    members = [group for group, size in enumerate((1, 40, 64, 65, 80)) for _ in range(size)]
    random.Random(0).shuffle(members)
    signatures = []
    with closing(Detector(MemoryIndex(header))) as memory:
        for seed, group in enumerate(members):
            phrase = bytes([group + 1]) * 8
            signatures.append(replace(memory.signature(text(seed, 60)), keys=phrase + bytes([9]) * 56))
        filed = entries(signatures, [f"https://a.example/{seed}" for seed in range(len(members))], header)
        filed.keys[-3:] = NO_KEY
        memory.index.add(filed)

        def kinds(detector: Detector) -> list[str]:
            """What is said of pages that have but the phrase in common with one of each group."""
            alike = [signatures[members.index(group)] for group in range(5)]
            flipped = [
                replace(each, fingerprint=each.fingerprint ^ 2**64 - 1, digest=bytes(16)) for each in alike
            ]
            return [detector.check(each, url="https://b.example/").kind for each in flipped]

        assert kinds(memory) == ["near"] * 3 + ["unique"] * 2
    for size in (60, 250):
        with Detector(LmdbIndex(tmp_path / str(size), header, tuning=SMALL)) as detector:
            for start in range(0, len(members), size):
                detector.index.add(filed.take(slice(start, start + size)))
            assert kinds(detector) == ["near"] * 3 + ["unique"] * 2
            detector.index.compact()  # type: ignore[attr-defined]
            assert kinds(detector) == ["near"] * 3 + ["unique"] * 2
        with Detector(LmdbIndex(tmp_path / str(size), header, tuning=SMALL)) as detector:
            assert kinds(detector) == ["near"] * 3 + ["unique"] * 2

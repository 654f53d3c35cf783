"""Every scheme in a real index: what is found, how often, with which other index it fits.

An index finds the same pairs as a comparison pair by pair.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.audit.all_pairs import PairJudge
from scrapy_neardup.audit.evaluate import Document, judge_documents
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.fingerprint import SCHEMES, Features, Fingerprinter, load_scheme
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index import Header, LmdbIndex
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, header_for
from tests.audit.corpora import edited, text
from tests.examples import examples


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
            near = detector.check(edited(text(seed), 1), url="https://b.example/")
            if near.kind == "near":
                found += 1
                assert near.url == f"https://a.example/{seed}"
                assert near.similarity == pytest.approx(290 / 300, abs=0.05)
            else:
                assert near.kind == "unique"
            assert detector.add(text(seed), url=f"https://a.example/{seed}").kind == "revisit"
            assert detector.check(text(seed + 100), url="https://b.example/").kind == "unique"
        assert found >= 15  # of super-shingles .97 find such a copy, the others all
        detector.flush()
    changed = detector.add(text(200), url="https://a.example/0")
    assert changed.kind == "revisit"
    assert detector.check(text(0), url="https://b.example/").kind == "unique"
    assert detector.check(text(200), url="https://b.example/").kind == "exact"


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


def header_of(name: str) -> Header:
    return header_for(Fingerprinter(Features(), 11, load_scheme(name)), "")


def live_and_pairwise(scheme: str, verified: bool, a: Document, b: Document) -> tuple[str, str]:
    """What a detector with only *b* stored says of *a*, and what the evaluation does."""
    with closing(Detector(LmdbIndex(None, header_of(scheme)), verified=verified)) as detector:
        stored = detector.add(b.main, url=b.url)
        verdict = detector.check(a.main, url=a.url)
        judge = judge_documents([a, b], AuditOptions(scheme=scheme, verified=verified, seed=11))
    found = judge.judge(np.array([0]), np.array([1]))
    kinds = ("exact", "near", "template", "fuller")
    pairwise = next((kind for kind in kinds if getattr(found, kind)[0]), "unique")
    assert (stored.kind == "unique") == bool(judge.fit[1])
    live = verdict.kind if judge.fit[0] else "unique"
    assert (verdict.kind in ("too_short", "wall")) == (not judge.fit[0])
    if verdict.url is not None and live != "revisit":
        assert verdict.distance == found.distance[0]
        assert verdict.similarity == pytest.approx(float(found.similarity[0]))
    return live, pairwise


@examples(150)
@given(
    st.builds(numbered, st.integers(0, 30), st.sampled_from([30, 60, 150, 400]), st.sampled_from([0, 2, 12])),
    EDITS,
    st.tuples(SITES, SITES),
    st.sampled_from(sorted(SCHEMES)),
    st.booleans(),
)
def test_the_verdict_is_what_the_evaluation_says_of_the_pair(
    parts: list[str], edits: list[tuple[str, int]], sites: tuple[str, str], scheme: str, verified: bool
) -> None:
    a = Document(MainText(changed(parts, edits)), f"{sites[0]}?a")
    b = Document(MainText(" ".join(parts)), f"{sites[1]}?b")
    live, pairwise = live_and_pairwise(scheme, verified, a, b)
    assert live == pairwise


# Many pages as one by one


def page(dice: random.Random, seed: int) -> str:
    """A page of one of five templates or its near-copy: the numbers differ, or some words do."""
    parts = numbered(seed, 300, 10)
    if dice.random() < 0.7:
        parts = [str(dice.randint(0, 99_999)) if part.isdigit() else part for part in parts]
    for _ in range(dice.choice((0, 0, 1, 4))):
        parts[dice.randrange(len(parts))] = f"zz{dice.randrange(50)}x"
    return " ".join(parts)


@pytest.mark.filterwarnings("error")  # such as of numbers without a sign that wrap around
def test_one_pair_is_judged_as_among_many() -> None:
    dice, signer = (
        random.Random(5),
        Fingerprinter(Features(min_paragraph=0), 3, load_scheme("simhash+anchors")),
    )
    texts = [page(dice, seed % 3)[: dice.choice((400, 4000))] for seed in range(60)]
    named = [MainText(text, dice.choice(("", "A fair", "A fair in May")), "from 3 to 5 pm") for text in texts]
    urls = [f"https://{dice.choice('ab')}.example/{row}" for row in range(60)]
    records = entries([*signer.signatures(named)], urls, header_for(signer, "")).records
    records["tokens"][:9] = records["runs"][:9] = records["shingles"][:9] = range(9)  # fewer than a run has
    judged = Matcher(signer.scheme).judge
    for row in range(60):
        others = np.array(dice.sample(range(60), 8))
        about = records[others]["digest"] == records[row]["digest"], others % 2
        few, many = (
            judged(records[row, ...], records[others], *about),
            judged(records[np.full(8, row)], records[others], *about),
        )
        for one, other in zip(few, many, strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()


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
            ("revisit", (found.near | found.fuller) & own),
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
    header = header_of(scheme)
    seen: set[str] = set()
    for seed in range(3):
        dice = random.Random(seed)
        urls = [f"https://{dice.choice(('a', 'b'))}.example/{dice.randrange(50)}" for _ in range(70)]
        texts = [Document(MainText(page(dice, dice.randrange(5))), url) for url in urls]
        texts[-7:] = [dice.choice(texts)._replace(url=url) for url in urls[-7:]]
        judge = judge_documents(texts, AuditOptions(scheme=scheme, seed=11))
        expected = one_by_one(judge, urls)
        seen |= {kind for kind, _ in expected}
        with Detector(LmdbIndex(None, header)) as detector:
            verdicts = [detector.add(each.main, url=each.url) for each in texts]
        assert [(verdict.kind, verdict.url) for verdict in verdicts] == expected
    assert seen >= {"unique", "exact", "revisit", *(("template", "near") * (scheme != "supershingles"))}

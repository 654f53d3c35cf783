"""All pairs are those of brute force, but for equal texts and large groups, whose pairs stay few."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_neardup.audit import all_pairs as module
from scrapy_neardup.audit.all_pairs import (
    SIBLINGS,
    Groups,
    PairJudge,
    choose_layout,
    compare_all,
    equal_keys,
    most_alike,
    near_pairs,
)  # fmt: skip
from scrapy_neardup.audit.evaluate import Document, judge_documents
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.fingerprint import SCHEMES
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index.tables import NO_KEY, PermutedTables
from scrapy_neardup.matching.records import DIGEST

from .corpora import edited, template, text


def found(values: NDArray[np.uint64], distance: int, **options: object) -> list[tuple[int, int]]:
    chunks = list(near_pairs(values, distance, **options))  # type: ignore[arg-type]
    assert all(chunk.dtype == np.int64 and chunk.ndim == 2 and len(chunk) for chunk in chunks)
    return [(a, b) for chunk in chunks for a, b in chunk.tolist()]


def brute_force(values: NDArray[np.uint64], distance: int) -> list[tuple[int, int]]:
    near = np.triu(np.bitwise_count(values[:, None] ^ values) <= distance, 1)
    return [(int(a), int(b)) for a, b in np.argwhere(near)]


def crowded(count: int, seed: int) -> NDArray[np.uint64]:
    """Fingerprints up to 8 bits from one of a few."""
    dice = np.random.default_rng(seed)
    values = dice.choice(dice.integers(0, 2**64, max(1, count // 8), np.uint64), count)
    for _ in range(8):
        values ^= (dice.random(count) < 0.5).astype(np.uint64) << dice.integers(0, 64, count, np.uint64)
    return np.unique(values)


@pytest.mark.parametrize("distance", range(8))
def test_near_pairs_are_those_of_brute_force(distance: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every layout, and groups and pairs that are cut between slices and chunks, too."""
    values = crowded(1500, distance)
    for some in (values, values[:0], values[:1]):
        assert sorted(found(some, distance)) == brute_force(some, distance)
    monkeypatch.setattr(module, "_COMPARED", 13)
    monkeypatch.setattr(module, "_MADE", 7)
    values = crowded(300, distance)
    for blocks in {1: [16, 64], 3: [4, 5, 6, 9, 12]}.get(distance, []):
        pairs = found(values, distance, layout=PermutedTables(blocks, distance))
        assert sorted(pairs) == brute_force(values, distance), blocks


def test_a_prefix_that_all_share_is_no_trap() -> None:
    """Half of the bits are equal everywhere: with 4 or 5 blocks all pairs would be compared, 2 × 10**10."""
    values = np.random.default_rng(7).integers(0, 2**32, 200_000, np.uint64)
    values[:100] = values[100:200] ^ np.uint64(7)
    values, places = np.unique(values, return_inverse=True)
    assert choose_layout(values, 3).blocks > 6
    started = time.process_time()
    pairs = set(found(values, 3))
    assert time.process_time() - started < 40  # takes 3
    assert {
        (min(p), max(p)) for p in zip(places[:100].tolist(), places[100:200].tolist(), strict=True)
    } <= pairs


def in_common(entries: Sequence[tuple[int, int]], most: int) -> set[tuple[int, int]]:
    """The pairs by the words of the docstring."""
    holders: dict[int, set[int]] = {}
    for key, document in entries:
        if key != int(NO_KEY):
            holders.setdefault(key, set()).add(document)
    return {
        pair
        for group in holders.values()
        for pair in combinations(sorted(group), 2)
        if len(group) <= most or pair[0] == min(group)
    }


@given(
    st.lists(st.tuples(st.integers(0, 6) | st.just(int(NO_KEY)), st.integers(0, 12)), max_size=80),
    st.integers(1, 8),
    st.sampled_from([1, 5, 1 << 20]),
)
def test_equal_keys(entries: list[tuple[int, int]], most: int, chunk: int) -> None:
    for rows in (entries, entries[::-1]):
        keys, documents = (
            np.array([row[i] for row in rows], kind) for i, kind in ((0, np.uint64), (1, np.int64))
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_MADE", chunk)
            pairs = [tuple(pair) for part in equal_keys(keys, documents, most) for pair in part.tolist()]
        assert len(pairs) == len({*pairs})
        assert {*pairs} == in_common(rows, most)


def document(text: str, url: str = "") -> Document:
    return Document(MainText(text), url)


def corpus() -> list[Document]:
    """Return texts of two sites and of none, each with copies of several degrees, in a mixed order."""
    texts = []
    for number in range(40):
        story = text(number, 120 + 7 * number)
        for degree in (0, 0, 1, 3, 8, 20, 40):
            site = ("", "https://a.example/", "https://b.example/")[(number + degree) % 3]
            texts.append(document(edited(story, degree, degree) if degree else story, site))
    texts += [document(template(0, number), "https://a.example/") for number in range(12)]
    order = np.random.default_rng(3).permutation(len(texts)).tolist()
    return [texts[row] for row in order]


def judge_of(texts: list[Document], scheme: str, distance: int = 3) -> PairJudge:
    return judge_documents(texts, AuditOptions(scheme=scheme, distance=distance, seed=0))


def each_with_each(judge: PairJudge) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the pairs of which one repeats the other, and those of one template."""
    a, b = np.triu_indices(len(judge.fit), 1)
    found = judge.either(a, b)
    near, other = ({*zip(a[m].tolist(), b[m].tolist(), strict=True)} for m in (found.near, found.template))
    return near, other


@pytest.mark.parametrize(
    ("scheme", "distance"), [*((name, 3) for name in SCHEMES), ("simhash", 7), ("simhash", 0)]
)
def test_all_pairs(scheme: str, distance: int) -> None:
    judge = judge_of(corpus(), scheme, distance)
    records = judge.documents.records
    digests = judge.documents.keys[DIGEST], records["digest"]
    groups = Groups.of(digests, judge.documents.notes, records["fingerprint"], records["site"])
    found = compare_all(judge)
    near, other = each_with_each(judge)
    alike, same = groups.alike.tolist(), groups.same_text.tolist()
    kinds = zip(found.a.tolist(), found.b.tolist(), found.judgement.near.tolist(), strict=True)
    # Equal texts are pairs with the first of them; the others come once for each site.
    single = {
        (a, b)
        for a, b in near
        if same[a] == same[b] == a or (same[a] != same[b] and (alike[a], alike[b]) == (a, b))
    }
    assert {(a, b) for a, b, is_near in kinds if is_near} == single
    assert single
    # Of the pairs of a template, so many of each page are enough.
    siblings = Counter(page for a, b in other if (alike[a], alike[b]) == (a, b) for page in (a, b))
    template = found.take(found.judgement.template)
    kept = Counter([*template.a.tolist(), *template.b.tolist()])
    assert all(kept[page] >= min(count, SIBLINGS) for page, count in siblings.items())


@pytest.mark.slow
def test_a_large_template_costs_no_square() -> None:
    texts = [document(template(0, n), "https://a.example/") for n in range(2000)]
    judge = judge_of(texts, "simhash+anchors")
    compared: list[int] = []
    found = compare_all(judge, advance=compared.append)
    assert compared[-1] < 2000 * 2000 / 10
    assert {*found.a.tolist(), *found.b.tolist()} == {*range(len(texts))}  # and yet each one is met


def test_which_pairs_of_a_template_are_listed_depends_on_no_order() -> None:
    dice = np.random.default_rng(5)
    a, b = np.triu_indices(40, 1)
    similarity = dice.choice(np.array([0.6, 0.7, 0.8], np.float32), len(a))
    kept = most_alike(a, b, similarity)
    expected = set()
    for page in range(40):
        pairs = np.flatnonzero((a == page) | (b == page)).tolist()
        pairs.sort(key=lambda pair: (-similarity[pair], a[pair] + b[pair] - page))
        expected |= {*pairs[:SIBLINGS]}
    assert {*np.flatnonzero(kept).tolist()} == expected


def test_unfit_documents_take_no_part() -> None:
    texts = ["short", "short", text(1), text(1)]
    found = compare_all(judge_of([document(each) for each in texts], "simhash+anchors"))
    assert (found.a.tolist(), found.b.tolist()) == ([2], [3])


def test_which_document_comes_first_is_of_no_account() -> None:
    """A cut text repeats the whole; half of it, and a page of two texts, repeat nothing, nor are repeated."""
    whole = text(0, 400)
    words = whole.split()
    cut, half, two = " ".join(words[:230]), " ".join(words[:180]), f"{whole}\n{text(1, 400)}"
    texts = [document(each, f"https://{n}.example/") for n, each in enumerate((cut, whole, half, two))]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        judge = judge_of([texts[row] for row in order], "simhash+anchors")
        found = compare_all(judge)
        found = found.take(found.judgement.near)
        names = {frozenset((order[a], order[b])) for a, b in zip(found.a, found.b, strict=True)}
        assert names == {frozenset((0, 1)), frozenset((0, 2))}
        both = np.array([order.index(0), order.index(1)])
        directed = judge.judge(both, both[::-1])
        assert directed.near.tolist() == [True, False]
        assert directed.fuller.tolist() == [False, True]

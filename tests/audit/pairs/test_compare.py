"""All pairs are those that judging each with each finds, but for equal texts and large groups."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.audit.evaluate.corpus import Text
from scrapy_neardup.audit.evaluate.labelled import find_all, judge_texts
from scrapy_neardup.audit.pairs.compare import SIBLINGS, Groups, compare_all, most_alike
from scrapy_neardup.fingerprint import SCHEMES, Features, load_scheme
from scrapy_neardup.matching.matcher import Matcher
from tests.audit.corpora import edited, template, text

if TYPE_CHECKING:
    from scrapy_neardup.audit.pairs.compare import PairJudge


def corpus() -> list[Text]:
    """Return texts of two sites and of none, each with copies of several degrees, in a mixed order."""
    texts = []
    for number in range(40):
        story = text(number, 120 + 7 * number)
        for degree in (0, 0, 1, 3, 8, 20, 40):
            site = ("", "https://a.example/", "https://b.example/")[(number + degree) % 3]
            texts.append(Text("", edited(story, degree, degree) if degree else story, site))
    texts += [Text("", template(0, number), "https://a.example/") for number in range(12)]
    order = np.random.default_rng(3).permutation(len(texts)).tolist()
    return [texts[row]._replace(id=str(row)) for row in order]


def judge_of(texts: list[Text], scheme: str, distance: int = 3) -> PairJudge:
    matcher = Matcher(load_scheme(scheme, distance=distance), min_tokens=40)
    return judge_texts(texts, matcher, features=Features())


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
    groups = Groups.of(judge.documents)
    found = compare_all(judge, groups)
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


def test_pairs_of_copies_are_found_by_their_firsts() -> None:
    judge = judge_of(corpus(), "simhash+anchors")
    found = find_all(judge)
    near, _ = each_with_each(judge)
    a, b = np.array(sorted(near)).T
    assert found.of(b, a).near.all()
    rng = np.random.default_rng(1)
    c, d = rng.integers(0, len(judge.fit), (2, 2000))
    assert found.of(c, d).near.tolist() == [
        x == y or (min(x, y), max(x, y)) in near for x, y in zip(c.tolist(), d.tolist(), strict=True)
    ]
    assert found.without(found.b, found.a) == 0
    assert found.without(found.a[1:], found.b[1:]) == 1


@pytest.mark.slow
def test_a_large_template_costs_no_square() -> None:
    texts = [Text(str(n), template(0, n), "https://a.example/") for n in range(2000)]
    judge = judge_of(texts, "simhash+anchors")
    compared: list[int] = []
    found = compare_all(judge, Groups.of(judge.documents), advance=compared.append)
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
    # What is left out of a part of the pairs is not among those of all.
    order = dice.permutation(len(a))
    first = order[: len(a) // 2][most_alike(*(each[order[: len(a) // 2]] for each in (a, b, similarity)))]
    rest = np.concatenate((first, order[len(a) // 2 :]))
    again = rest[most_alike(a[rest], b[rest], similarity[rest])]
    assert {*again.tolist()} == expected


def test_the_distance_of_equal_texts_depends_on_no_other_pair() -> None:
    # Of the same words, but in the second text a third of them stand in short lines.
    words = text(1, 150).split()
    lines = [" ".join(words[start : start + 3]) for start in range(100, 150, 3)]
    texts = [" ".join(words), "\n".join([" ".join(words[:100]), *lines])]
    judge = judge_of([Text("", each, "") for each in (*texts, text(2))], "simhash+anchors")
    fingerprints = judge.documents.records["fingerprint"]
    assert fingerprints[0] != fingerprints[1]
    alone = judge.judge(np.array([0]), np.array([1]))
    among = judge.judge(np.array([0, 0]), np.array([1, 2]))
    assert alone.exact[0]
    assert among.exact[0]
    assert alone.distance[0] == among.distance[0] == 0


def test_rejected_pairs_are_those_that_are_alike_enough() -> None:
    judge = judge_of(corpus(), "simhash+anchors")
    groups = Groups.of(judge.documents)
    found = compare_all(judge, groups, least=0.5)
    judgement = found.judgement
    rejected = ~judgement.near & ~judgement.template
    assert rejected.any()
    assert (judgement.similarity[rejected] >= 0.5).all()
    assert len(compare_all(judge, groups).a) == len(found.a) - rejected.sum()


def test_unfit_documents_take_no_part() -> None:
    texts = [Text("0", "short", ""), Text("1", "short", ""), Text("2", text(1), ""), Text("3", text(1), "")]
    judge = judge_of(texts, "simhash+anchors")
    found = compare_all(judge, Groups.of(judge.documents))
    assert (found.a.tolist(), found.b.tolist()) == ([2], [3])


def test_which_document_comes_first_is_of_no_account() -> None:
    """A cut text repeats the whole; half of it, and a page of two texts, repeat nothing, nor are repeated."""
    whole = text(0, 400)
    words = whole.split()
    texts = [
        Text("cut", " ".join(words[:230]), "https://a.example/"),
        Text("whole", whole, "https://b.example/"),
        Text("half", " ".join(words[:180]), "https://c.example/"),
        Text("both", f"{whole}\n{text(1, 400)}", "https://d.example/"),
    ]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        ordered = [texts[row] for row in order]
        judge = judge_of(ordered, "simhash+anchors")
        found = find_all(judge)
        names = {frozenset((ordered[a].id, ordered[b].id)) for a, b in zip(found.a, found.b, strict=True)}
        assert names == {frozenset(("cut", "whole")), frozenset(("cut", "half"))}
        cut, whole_row = order.index(0), order.index(1)
        directed = judge.judge(np.array([cut, whole_row]), np.array([whole_row, cut]))
        assert directed.near.tolist() == [True, False]
        assert directed.fuller.tolist() == [False, True]

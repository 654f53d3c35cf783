"""Print the tables by which defaults are chosen: of the fingerprint, the candidates and their verification.

    python benchmarks/defaults.py [--data DIR]

DIR has the labelled pairs that benchmarks/quality.py reads; it defaults to $NEARDUP_DATA, else
../shared/data. All is measured with one seed of the hashes.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from choices.groups import Data, read, unrelated
from choices.printing import table
from choices.ways import constants

from scrapy_neardup.audit.evaluate.labelled import judge_texts
from scrapy_neardup.audit.pairs.compare import PairJudge, shared_keys
from scrapy_neardup.fingerprint import Features, Weight, hamming, load_scheme
from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.paragraphs import long_paragraphs
from scrapy_neardup.fingerprint.terms import Shingles, Terms, hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise
from scrapy_neardup.matching import rules
from scrapy_neardup.matching.matcher import Matcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEATURES = Features()
MATCHER = Matcher(load_scheme("simhash+anchors"))
LENGTHS = ((0, 40), (40, 100), (100, 200), (200, 500), (500, 1 << 30))
NEVER = (2.0, 2.0)
NO_NUMBERS = {"ROUNDING": np.inf, "ELSEWHERE_NUMBERS": 0, "UPDATED_NUMBERS": 0}
RULES_TRIED: dict[str, dict[str, Any]] = {
    "the rule": {},
    "numbers ignored": NO_NUMBERS,
    "either may have more": {"KNOWN": 0, "KNOWN_OF_ONE_SITE": (0, 0), "SHORTER": 0, "SHORTER_OF_ONE_SITE": 0},
    "one line for all lengths": {"JACCARDS": (rules.JACCARDS[1],) * 2, "ELSEWHERE_REBATE": 0},
    "J only, no containment": {"CONTAINED": NEVER, "MOSTLY_CONTAINED": NEVER, "ELSEWHERE_CONTAINED": NEVER},
    "nothing easier on other sites": {"ELSEWHERE": 2.0, "ELSEWHERE_REBATE": 0, "ELSEWHERE_CONTAINED": NEVER},
}


def rates(found: NDArray[np.bool_], data: Data) -> list[str]:
    return [share(found[rows]) for rows in data.groups.values()]


def share(found: NDArray[np.bool_]) -> str:
    return f"{found.mean():.3f}".removeprefix("0") if len(found) else "–"


def judged(data: Data, features: Features = FEATURES, matcher: Matcher = MATCHER) -> PairJudge:
    return judge_texts(data.texts, matcher, features=features)


def per_million(found: NDArray[np.bool_]) -> str:
    return f"{found.mean() * 1e6:.1f}"


def candidate_table(data: Data, strangers: NDArray[np.int64]) -> None:
    grid = [replace(FEATURES, weight=w, shingle=n) for w in get_args(Weight) for n in (1, 2, 3)]
    grid += [replace(FEATURES, min_paragraph=letters) for letters in (0, 100)]
    grid += [replace(FEATURES, units="characters", shingle=n) for n in (4, 8)]
    lines = []
    for features in grid:
        judge = judged(data, features, Matcher(load_scheme("simhash"), verified=False))
        marks = judge.documents.records["fingerprint"]
        one, other = marks[strangers]
        blocks = [(one ^ other) >> np.uint64(16 * block) & np.uint64(0xFFFF) == 0 for block in range(4)]
        cells = [features.weight, f"{features.shingle} {features.units}", str(features.min_paragraph)]
        cells += rates(judge.judge(data.a, data.b).near, data)
        lines.append([*cells, per_million(hamming(one, other) <= 3), per_million(np.sum(blocks, axis=0))])  # type: ignore[arg-type]
    head = ["weight", "shingle", "paragraphs ≥", *data.groups, "unrelated per million", "of one block"]
    table("Exact or within 3 bits", head, lines)


def source_table(data: Data, strangers: NDArray[np.int64], judge: PairJudge) -> None:
    """What makes candidates: the fingerprint, anchors, both."""
    terms = []
    for text in data.texts:
        tokens = tokenise(long_paragraphs(normalise(text.text), FEATURES.min_paragraph)[0])
        terms.append(Terms(tokens, Shingles(hash_tokens(tokens))))
    judgement = judge.judge(data.a, data.b)
    fit = judge.fit[data.a] & judge.fit[data.b]
    marks = judge.documents.records["fingerprint"]
    strange = hamming(*marks[strangers])
    found = {f"SimHash ≤ {k}": (judgement.distance <= k, strange <= k) for k in (3, 5, 7)}
    for count, size in (
        (1, (8, 12)),
        (2, (8, 12)),
        (4, (8, 12)),
        (6, (8, 12)),
        (8, (8, 12)),
        (4, (5, 8)),
        (4, (12, 18)),
    ):
        keys = np.array([anchors(each.shingles(*size), count) for each in terms]).T
        pair = shared_keys(keys, data.a, data.b) > 0, shared_keys(keys, *strangers) > 0
        found[f"{count} anchors of {size[0]} words"] = pair
        if size == (8, 12) and count in (4, 6):
            name = f"SimHash ≤ 3 or {count} anchors of {size[0]} words"
            found[name] = tuple(x | y for x, y in zip(found["SimHash ≤ 3"], pair, strict=True))  # type: ignore[assignment]
    table(
        "Candidates (exact copies among them)",
        ["source", *data.groups, "unrelated per million"],
        (
            [name, *rates((judgement.exact | pairs) & fit, data), per_million(strangers_found)]
            for name, (pairs, strangers_found) in found.items()
        ),
    )


def rule_table(data: Data, judge: PairJudge) -> None:
    lines = []
    for name, values in RULES_TRIED.items():
        with constants(values):
            lines.append([name, *rates(judge.judge(data.a, data.b).near, data)])
    unknown = judge.documents.records.copy()
    unknown["site"] = 0
    blind = replace(judge, documents=judge.documents._replace(records=unknown))
    lines.append(["sites unknown", *rates(blind.judge(data.a, data.b).near, data)])
    for size in (3, 8):
        other = judged(data, replace(FEATURES, sketch_shingle=size))
        lines.append([f"sketch of {size} words", *rates(other.judge(data.a, data.b).near, data)])
    open_judge = replace(judge, matcher=Matcher(judge.matcher.scheme, verified=False))
    candidates = open_judge.judge(data.a, data.b)
    lines += [
        [f"J ≥ {least}", *rates(candidates.near & (candidates.similarity >= least), data)]
        for least in (0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    lines.append(["any candidate", *rates(candidates.near, data)])
    table("Judged duplicate: candidates by default, and ...", ["rule", *data.groups], lines)


def length_table(data: Data, judge: PairJudge) -> None:
    """By the length of the shorter text, in tokens."""
    tokens = judge.documents.records["tokens"]
    shorter = np.minimum(tokens[data.a], tokens[data.b])
    found = judge.judge(data.a, data.b)
    copies = np.zeros(len(data.a), bool)
    for group, rows in data.groups.items():
        copies[rows] = not group.partition(" ")[2].startswith("0")
    lines = []
    for low, high in LENGTHS:
        band = (shorter >= low) & (shorter < high)
        cells = [f"{low}–{high - 1}" if high < 1 << 30 else f"≥ {low}"]
        for members in (band & copies, band & ~copies):
            cells += [
                str(np.count_nonzero(members)),
                share(found.near[members]),
                share(found.template[members]),
            ]
        lines.append(cells)
    head = ["tokens", "copies", "near", "template", "others", "near", "template"]
    table("By length", head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NEARDUP_DATA", "../shared/data")))
    data = read(parser.parse_args().data)
    print(f"Defaults: {FEATURES}, {MATCHER.scheme.name}")
    print(", ".join(f"{name}: {len(rows)}" for name, rows in data.groups.items()))
    judge = judged(data)
    strangers = unrelated(data, judge)
    print(f"{strangers.shape[1]} pairs of unrelated press releases")
    rule_table(data, judge)
    length_table(data, judge)
    source_table(data, strangers, judge)
    candidate_table(data, strangers)


if __name__ == "__main__":
    main()

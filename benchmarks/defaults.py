"""Print the tables by which defaults are chosen: of the fingerprint, the candidates and their verification.

    python benchmarks/defaults.py [--data DIR]

DIR has the labelled pairs that benchmarks/quality.py reads; it defaults to $NEARDUP_DATA, else
../shared/data. All is measured with one seed of the hashes.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from quality import DEFAULT, SETS, load

from scrapy_neardup.audit.evaluate.corpus import Text
from scrapy_neardup.audit.evaluate.labelled import Judge, judge_texts, shared_keys
from scrapy_neardup.fingerprint import Features, Weight, hamming, load_scheme
from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.paragraphs import long_paragraphs
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.fingerprint.terms import Shingles, Terms, hash_tokens
from scrapy_neardup.fingerprint.tokens import tokenise
from scrapy_neardup.matching import rules as verify
from scrapy_neardup.matching.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

FEATURES = Features()
MATCHER = Matcher(load_scheme("simhash+anchors"))
#: The sets of benchmarks/quality.py that the defaults were chosen on.
READ = ("derived_syndication", "senate_press", "ota_recrawl_html", "docs_versions_html", "minhash_tutorial")
UNRELATED = 0.2  # Jaccard below which two press releases of different senators are no kin
LENGTHS = ((0, 40), (40, 100), (100, 200), (200, 500), (500, 1 << 30))


class Data(NamedTuple):
    """Documents of all sets, and their pairs as rows, in named groups."""

    texts: list[Text]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    groups: dict[str, list[int]]
    #: Rows of the press releases, and who wrote each.
    press: NDArray[np.int64]
    authors: NDArray[np.str_]


def read(data: Path) -> Data:
    texts: list[Text] = []
    rows: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    groups: dict[str, list[int]] = defaultdict(list)

    def add(text: Text) -> int:
        if text.id not in rows:
            rows[text.id] = len(texts)
            texts.append(text)
        return rows[text.id]

    for each in SETS:
        if each.name not in READ or not (data / each.name).exists():
            continue
        loaded = load(each, data / each.name)
        by_id = {text.id: text for text in loaded.texts[DEFAULT]}
        short = each.name.split("_")[0]
        for id1, id2, label, kind in zip(*loaded.pairs, strict=True):
            if label not in ("3", "2", "0"):
                continue
            group = f"{short} {label}"
            if short == "senate" and label == "0":
                group += " new values" if "values" in kind else " other date"
            one, two = (by_id[name]._replace(id=f"{each.name}/{name}") for name in (id1, id2))
            groups[group].append(len(pairs))
            pairs.append((add(one), add(two)))
    for number, (one, two) in enumerate(generated()):
        groups["generated 0"].append(len(pairs))
        pairs.append(
            (add(Text(f"generated/{number}/1", one, "")), add(Text(f"generated/{number}/2", two, "")))
        )
    press = [row for row, text in enumerate(texts) if text.id.startswith("senate_press/")]
    authors = [texts[row].id.split("/")[1] for row in press]
    a, b = np.array(pairs, np.int64).T
    return Data(texts, a, b, dict(groups), np.array(press), np.array(authors))


def generated(count: int = 100, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Pairs of pages of one template whose numbers differ: weather, scores, prices; 60 to 150 words."""
    dice = random.Random(seed)
    for template in (weather, score, market):
        for _ in range(count):
            yield template(dice), template(dice)


def weather(dice: random.Random) -> str:
    days = ("Today", "Tomorrow", "Wednesday", "Thursday", "Friday")
    return (
        "Weather forecast for the county and the coast, updated every hour by the regional station.\n"
        + "\n".join(
            f"{day} will be partly cloudy with a high of {dice.randint(-5, 35)} degrees and a low of "
            f"{dice.randint(-15, 20)} degrees, wind from the west at {dice.randint(0, 60)} km per hour, and "
            "a chance "
            f"of rain of {dice.randint(0, 100)} per cent."
            for day in days[: dice.choice((3, 4))]
        )
    )


def score(dice: random.Random) -> str:
    points = [dice.randint(70, 130) for _ in range(2)]
    quarters = [f"{dice.randint(12, 38)} to {dice.randint(12, 38)}" for _ in range(4)]
    return (
        f"Score of the game at the Riverside Arena: the home team finished with {points[0]} points, the "
        "visitors "
        f"with {points[1]} points, before a crowd of {dice.randint(3000, 19000)}.\n"
        f"The first quarter ended {quarters[0]}, the second quarter ended {quarters[1]}, the third quarter "
        "ended "
        f"{quarters[2]} and the last quarter ended {quarters[3]}. The leading scorer of the home team had "
        f"{dice.randint(15, 45)} points, {dice.randint(2, 15)} rebounds and {dice.randint(1, 12)} assists, "
        "and the "
        f"leading scorer of the visitors had {dice.randint(15, 45)} points and {dice.randint(2, 15)} "
        "rebounds. "
        "Tickets for the next game of the season are on sale at the box office of the arena and on line."
    )


def market(dice: random.Random) -> str:
    names = ("Copper", "Wheat", "Crude oil", "Natural gas")
    return (
        "Market report of the commodities exchange, with closing prices and daily changes as published by "
        "the "
        "exchange after the end of trading.\n"
    ) + " ".join(
        f"{name} closed at {dice.randint(100, 9000)} dollars, {dice.choice(('up', 'down'))} "
        f"{dice.randint(1, 99)} cents from the previous session, after {dice.randint(100, 9999)} contracts "
        "changed "
        "hands in moderate trading."
        for name in names
    )


# -- tables --------------------------------------------------------------------------------------------------


def table(title: str, head: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    head = list(head)
    print(f"\n### {title}\n")
    for cells in (head, ["---"] * len(head), *lines):
        print("| " + " | ".join(cells) + " |", flush=True)


def rates(found: NDArray[np.bool_], data: Data) -> list[str]:
    return [share(found[rows]) for rows in data.groups.values()]


def share(found: NDArray[np.bool_]) -> str:
    return f"{found.mean():.3f}".removeprefix("0") if len(found) else "–"


def judged(data: Data, features: Features = FEATURES, matcher: Matcher = MATCHER) -> Judge:
    return judge_texts(data.texts, matcher, features=features)


def unrelated(data: Data, judge: Judge) -> NDArray[np.int64]:
    """Return pairs of releases of different senators with next to nothing in common, as rows: int64[2, n]."""
    records = judge.documents.records[data.press]
    parts = []
    for row in range(len(records) - 1):
        others = np.flatnonzero(data.authors[row + 1 :] != data.authors[row]) + row + 1
        jaccard, _ = similarity(
            records["sketch"][row],
            records["shingles"][row],
            records["sketch"][others],
            records["shingles"][others],
        )
        kept = others[jaccard < UNRELATED]
        parts.append(np.stack((np.full(len(kept), row), kept)))
    return data.press[np.concatenate(parts, axis=1)]


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


def source_table(data: Data, strangers: NDArray[np.int64], judge: Judge) -> None:
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


@contextmanager
def constants(**values: Any) -> Iterator[None]:
    """Judge with other constants of the rule."""
    before = {name: getattr(verify, name) for name in values}
    for name, value in values.items():
        setattr(verify, name, value)
    yield
    for name, value in before.items():
        setattr(verify, name, value)


NEVER = (2.0, 2.0)
NO_NUMBERS = {"ROUNDING": np.inf, "ELSEWHERE_NUMBERS": 0}
RULES_TRIED: dict[str, dict[str, Any]] = {
    "the rule": {},
    "numbers ignored": NO_NUMBERS,
    "either may have more": {"KNOWN": 0, "KNOWN_OF_ONE_SITE": 0, "SHORTER": 0, "SHORTER_OF_ONE_SITE": 0},
    "one line for all lengths": {"JACCARDS": (verify.JACCARDS[1],) * 2, "ELSEWHERE_REBATE": 0},
    "J only, no containment": {"CONTAINED": NEVER, "MOSTLY_CONTAINED": NEVER, "ELSEWHERE_CONTAINED": NEVER},
    "nothing easier on other sites": {"ELSEWHERE": 2.0, "ELSEWHERE_REBATE": 0, "ELSEWHERE_CONTAINED": NEVER},
}


def rule_table(data: Data, judge: Judge) -> None:
    lines = []
    for name, values in RULES_TRIED.items():
        with constants(**values):
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


def length_table(data: Data, judge: Judge) -> None:
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

"""The most wrong pairs, with the step that decided each, and with what differs between their texts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from .output import LINES, WIDTH, print_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_neardup.audit.evaluate.corpus import Text
    from scrapy_neardup.audit.evaluate.labelled import LabelledPairs, Orders
    from scrapy_neardup.audit.pairs.compare import PairJudge


@dataclass(frozen=True)
class Wrong:
    """A pair that is not judged as it is labelled."""

    id1: str
    id2: str
    label: str
    kind: str
    #: Whether it was judged a duplicate, and which step decided that.
    found: bool
    step: str
    distance: int
    similarity: float
    containment: float
    #: The first lines that only one of the texts has, and how many there are.
    difference: list[str]
    lines: int


def find_worst(
    pairs: LabelledPairs, texts: Sequence[Text], orders: Orders, judge: PairJudge, count: int
) -> Iterator[Wrong]:
    """Yield the *count* pairs that are judged most wrongly."""
    from scrapy_neardup.audit.evaluate.labelled import rows_of, steps
    from scrapy_neardup.audit.evaluate.scores import worst

    judgement = orders.second_stored
    a, b = rows_of(pairs, texts)
    said = steps(judge, a, b, judgement)
    for row in worst(pairs, orders, count):
        one, other = (texts[rows[row]].text.splitlines() for rows in (a, b))
        changed = islice(difflib.unified_diff(one, other, n=0, lineterm=""), 2, None)  # without its head
        difference = [line[:WIDTH] for line in changed if not line.startswith("@@")]
        yield Wrong(
            pairs.id1[row], pairs.id2[row], pairs.label[row], pairs.kind[row],
            bool(orders.longer_first[row] or orders.shorter_first[row]), said[row],
            int(judgement.distance[row]), round(float(judgement.similarity[row]), 4),
            round(float(judgement.containment[row]), 4), difference[:LINES], len(difference),
        )  # fmt: skip


def print_wrong(pair: Wrong) -> None:
    """Print a pair."""
    print_line("")
    kind = f"{pair.kind}; " if pair.kind else ""
    print_line(
        f"label {pair.label}, {'judged duplicate' if pair.found else 'missed'}: {pair.id1} | {pair.id2} "
        f"({kind}distance {pair.distance}, similarity {pair.similarity:.2f}, "
        f"containment {pair.containment:.2f})"
    )
    print_line(f"  {pair.step}")
    for line in pair.difference:
        print_line(f"  {line}")
    if pair.lines > len(pair.difference):
        print_line(f"  … {pair.lines - len(pair.difference)} more lines")

"""The most wrong pairs, with what differs between their texts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from .output import print_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.audit.corpus import Text
    from scrapy_neardup.audit.evaluation import LabelledPairs, Result

#: Lines of a difference, and characters of a line, that are shown.
_LINES, _WIDTH = 40, 300


def print_worst(pairs: LabelledPairs, texts: Sequence[Text], result: Result, count: int) -> None:
    """Print the *count* pairs that are judged most wrongly."""
    from scrapy_neardup.audit.evaluation import worst

    by_id = {text.id: text.text for text in texts}
    orders, judgement = result.orders, result.orders.second_stored
    for row in worst(pairs, result.orders, count):
        found = "judged duplicate" if orders.longer_first[row] or orders.shorter_first[row] else "missed"
        print_line("")
        print_line(
            f"label {pairs.label[row]}, {found}: {pairs.id1[row]} | {pairs.id2[row]} ({pairs.kind[row]}; "
            f"distance {judgement.distance[row]}, similarity {judgement.similarity[row]:.2f}, "
            f"containment {judgement.containment[row]:.2f})"
        )
        one, other = (by_id[each].splitlines() for each in (pairs.id1[row], pairs.id2[row]))
        changed = difflib.unified_diff(one, other, n=0, lineterm="")
        difference = [line for line in changed if not line.startswith(("---", "+++", "@@"))]
        for line in difference[:_LINES]:
            print_line(f"  {line[:_WIDTH]}")
        if len(difference) > _LINES:
            print_line(f"  … {len(difference) - _LINES} more lines")

"""``scrapy-neardup evaluate``: how well labelled pairs are told apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scrapy_neardup.errors import ConfigurationError

from .output import LINES, WIDTH, RegularFile, json_option, print_json, print_line, print_table
from .settings import read_assignments, seed_option, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_neardup.audit.evaluate import LabelledPairs, Orders
    from scrapy_neardup.audit.explaining import Document
    from scrapy_neardup.audit.pairs import PairJudge


@click.command()
@click.argument("pairs", type=RegularFile())
@click.argument("audit", type=click.Path(exists=True, file_okay=False, path_type=Path))
@set_option
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N most wrong pairs.")
@seed_option(show_default="that of the audit")
@json_option
def evaluate(
    pairs: Path, audit: Path, assignments: tuple[str, ...], worst: int, seed: int | None, as_json: bool
) -> None:
    """Judge labelled pairs of pages as a crawl would, and score the result.

    PAIRS is a table with a header line, separated by tabs: id1, id2, label and, if you like, kind. Labels: 3
    the same text, 2 a near-duplicate, 0 different; 1 (partly shared) and empty (unsure) are shown, not
    scored. An id is the URL of a page, or its identifier, as pages.jsonl has it.

    AUDIT is the directory that an audit of these pages has written: its texts are signed anew, with its
    settings and what --set changes.

    Each pair is judged in both orders, with only the page that came first stored: "found" is with the second
    one stored, the last two columns are by length. A page that has much more than the stored one is no copy
    of it, so fewer are found where the shorter came first.
    """
    from scrapy_neardup.audit import evaluate as on
    from scrapy_neardup.audit.explaining import judge_documents

    labelled, given = on.read_pairs(pairs), read_assignments(assignments)
    if {"extractor", "include_area", "exclude_area"} & given.keys():
        raise ConfigurationError("The texts are those of the audit: audit again for other ones.")
    names, documents, options = on.audited_documents(audit, {*labelled.id1, *labelled.id2})
    if seed is not None:
        given["seed"] = seed
    options = replace(options, **given)
    judge = judge_documents(documents, options)
    orders = on.judge_orders(judge, *on.rows_of(labelled, names))
    facts = on.score(labelled, orders)
    wrong = [*_worst(labelled, names, documents, orders, judge, worst)]
    if as_json:
        settings = dict(each.split("=", 1) for each in assignments) | {"seed": options.seed}
        print_json({"settings": settings, **facts} | ({"worst": wrong} if worst else {}))
        return
    rows = [[*row.values()] for row in facts["by_kind"]]
    shares = [
        (label or "-", kind, n, found, *(f"{each / n:.3f}" for each in (found, *others)))
        for label, kind, n, found, *others in rows
    ]
    heads = ["label", "kind", "pairs", "found", "share", "longer first", "shorter first"]
    print_table(f"{pairs}: judged duplicate", heads, shares)
    figures = ("precision", "recall", "f1")
    scores = [
        (name, *(f"{each[figure]:.3f}" for figure in figures))
        for name, each in (("3 and 2", facts), ("3", facts["same"]))
    ]
    print_table("Scores", ["positives", *figures], scores)
    for pair in wrong:
        print_line("")
        for name, value in pair.items():
            for line in value if isinstance(value, list) else [f"{name}: {value}"]:
                print_line(line)


def _worst(
    pairs: LabelledPairs,
    names: Sequence[str],
    documents: Sequence[Document],
    orders: Orders,
    judge: PairJudge,
    most: int,
) -> Iterator[dict[str, Any]]:
    """Yield the *most* wrong pairs, as JSON has them: *step* is what decided, then where the texts differ."""
    from scrapy_neardup.audit.evaluate import rows_of, worst
    from scrapy_neardup.audit.explaining import decided_by, differences

    judgement = orders.second_stored
    sides = rows_of(pairs, names)
    for row in worst(pairs, orders, most):
        a, b = (int(each[row]) for each in sides)
        changed = differences(documents[a].main.text, documents[b].main.text)
        yield {
            **{name: getattr(pairs, name)[row] for name in ("id1", "id2", "label", "kind")},
            "found": bool(orders.longer_first[row] or orders.shorter_first[row]),
            "step": decided_by(judge, a, b),
            "distance": int(judgement.distance[row]),
            "similarity": round(float(judgement.similarity[row]), 4),
            "containment": round(float(judgement.containment[row]), 4),
            "difference": [line[:WIDTH] for line in islice(changed, LINES)],
        }

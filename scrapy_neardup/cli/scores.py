"""Prints how well labelled pairs were told apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .output import print_table

if TYPE_CHECKING:
    from scrapy_neardup.audit.evaluate.labelled import LabelledPairs
    from scrapy_neardup.audit.evaluate.scores import Group, Result, Scores

#: Hosts and languages that are shown.
_GROUPS = 20


def print_scores(title: str, result: Result, seeds: dict[int, Scores], groups: list[Group]) -> None:
    """Print the *result* over all *seeds*, the scores of each, and those of *groups* of documents."""
    print_table(
        title + (f", each pair with {len(seeds)} seeds" * (len(seeds) > 1)),
        ["label", "kind", "pairs", "found", "share", "longer first", "shorter first"],
        [
            (
                *(row.label or "-", row.kind, row.n, row.found),
                *(f"{count / row.n:.3f}" for count in (row.found, row.longer_first, row.shorter_first)),
            )
            for row in result.rows
        ],
    )
    print_table(
        "Scores",
        ["positives", "precision", "recall", "F1"],
        [(name, *_figures(scores)) for name, scores in (("3 and 2", result.near), ("3", result.same))],
    )
    _print_groups(groups)
    if len(seeds) > 1:
        print_table(
            "Scores by seed, with 3 and 2 as positives",
            ["seed", "precision", "recall", "F1"],
            [(str(each), *_figures(scores)) for each, scores in seeds.items()],
        )


def facts_of(
    assignments: tuple[str, ...],
    labelled: LabelledPairs,
    result: Result,
    seeds: dict[int, Scores],
    groups: list[Group],
    seconds: float,
) -> dict[str, Any]:
    """Return what JSON says of an evaluation: its *result* over all *seeds*, and the scores of each."""
    return {
        "settings": dict(each.split("=", 1) for each in assignments),
        "pairs": len(labelled.label),
        "by_kind": [asdict(row) for row in result.rows],
        **asdict(result.near),
        "same": asdict(result.same),
        "by_document": [each._asdict() | {"near": asdict(each.near)} for each in groups],
        "by_seed": [{"seed": each, **asdict(scores)} for each, scores in seeds.items()],
        "seconds": round(seconds, 3),
    }


def _print_groups(groups: list[Group]) -> None:
    """Print the scores by host and by language, where there are several."""
    for by in dict.fromkeys(each.by for each in groups):
        own = [each for each in groups if each.by == by]
        if len(own) > 1:
            print_table(
                f"Scores by {by}, with 3 and 2 as positives"
                + (f": {_GROUPS} of {len(own):,}" * (len(own) > _GROUPS)),
                [by, "pairs", "3 and 2", "0", "precision", "recall", "F1"],
                [
                    (each.name, f"{each.n:,}", f"{each.alike:,}", f"{each.different:,}", *_figures(each.near))
                    for each in own[:_GROUPS]
                ],
            )


def _figures(scores: Scores) -> tuple[str, str, str]:
    return f"{scores.precision:.3f}", f"{scores.recall:.3f}", f"{scores.f1:.3f}"

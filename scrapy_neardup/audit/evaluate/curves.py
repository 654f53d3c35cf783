"""Schemes side by side: what each finds of the same labelled pairs as its threshold moves, and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.audit.pairs.compare import PairJudge
from scrapy_neardup.audit.settings import scheme_named
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.matcher import Matcher

from .labelled import LabelledPairs, judge_orders, judge_texts, rows_of
from .scores import Scores, score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from scrapy_neardup.options import DetectionOptions

    from .corpus import Text


@dataclass(frozen=True)
class Variant:
    """A way to judge: a name, settings, and the setting that moves along its curve."""

    name: str
    settings: tuple[str, ...]
    moves: str = "NEARDUP_DISTANCE"
    steps: tuple[float, ...] = (0, 1, 2, 3, 4, 5, 6, 7)


_THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
VARIANTS = (
    Variant("default", ()),
    Variant("SimHash", ("NEARDUP_SCHEME=simhash",)),
    Variant("SimHash, not verified", ("NEARDUP_SCHEME=simhash", "NEARDUP_VERIFY=False")),
    Variant(
        "text-book SimHash (sets of 3 words, not verified)",
        (
            "NEARDUP_SCHEME=simhash",
            "NEARDUP_VERIFY=False",
            'NEARDUP_FEATURES={"shingle": 3, "weight": "set", "min_paragraph": 0}',
        ),
    ),
    Variant("MinHash bands", ("NEARDUP_SCHEME=minhash",), "NEARDUP_THRESHOLD", _THRESHOLDS),
    Variant(
        "MinHash bands, not verified",
        ("NEARDUP_SCHEME=minhash", "NEARDUP_VERIFY=False"),
        "NEARDUP_THRESHOLD",
        _THRESHOLDS,
    ),
    Variant("bottom-k", ("NEARDUP_SCHEME=bottomk",), "NEARDUP_THRESHOLD", _THRESHOLDS),
    Variant(
        "bottom-k, not verified",
        ("NEARDUP_SCHEME=bottomk", "NEARDUP_VERIFY=False"),
        "NEARDUP_THRESHOLD",
        _THRESHOLDS,
    ),
    Variant("super-shingles", ("NEARDUP_SCHEME=supershingles",), "", (0,)),
    Variant(
        "super-shingles, not verified", ("NEARDUP_SCHEME=supershingles", "NEARDUP_VERIFY=False"), "", (0,)
    ),
)


class Outcome(NamedTuple):
    """A point of a curve."""

    name: str
    setting: str
    scores: Scores


def matcher_of(options: DetectionOptions) -> Matcher:
    """Return what the settings say of candidates and their verification."""
    return Matcher(scheme_named(options), options.verified, options.min_tokens)


def judge_with(
    texts: Sequence[Text],
    options: DetectionOptions,
    seed: int,
    advance: Callable[[int], None] = lambda done: None,
) -> PairJudge:
    """Make ready to judge pairs of *texts* by the settings; *advance* is told how many texts are done."""
    return judge_texts(texts, matcher_of(options), features=options.features, seed=seed, advance=advance)


def compare(
    texts: Sequence[Text],
    pairs: LabelledPairs,
    variant: Variant,
    read_options: Callable[[Sequence[str]], DetectionOptions],
    seed: int,
) -> list[Outcome]:
    """Score the pairs at each step of the curve."""
    a, b = rows_of(pairs, texts)
    outcomes = []
    judge: PairJudge | None = None
    for step in variant.steps:
        setting = f"{variant.moves}={step:g}" if variant.moves else ""
        options = read_options((*variant.settings, setting) if setting else variant.settings)
        matcher = matcher_of(options)
        if judge is not None and judge.matcher.scheme.parameters == matcher.scheme.parameters:
            judge = PairJudge(judge.documents, judge.fit, matcher)  # the signatures are the same
        else:
            judge = judge_with(texts, options, seed)
        scores = score(pairs, [judge_orders(judge.judge, judge.documents, a, b)]).near
        outcomes.append(Outcome(variant.name, setting.removeprefix("NEARDUP_").lower(), scores))
    return outcomes


def require_drawing() -> None:
    """Raise `ConfigurationError` if the package that draws is missing."""
    if find_spec("matplotlib") is None:
        raise ConfigurationError("Drawing needs: pip install 'scrapy-neardup[plot]'.")


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw precision against recall, a curve for each name.

    Raises `ConfigurationError` if the format of *path* is not known.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.add_subplot()
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        points = [outcome.scores for outcome in outcomes if outcome.name == name]
        verified = "not verified" not in name
        axes.plot(
            [point.recall for point in points],
            [point.precision for point in points],
            marker="o" if verified else "x",
            linestyle="-" if verified else ":",
            markersize=8 if name == "default" else 5,
            label=name,
        )
    lowest = min(outcome.scores.precision for outcome in outcomes)
    axes.set(
        xlabel="recall of labels 3 and 2", ylabel="precision", xlim=(0, 1.02), ylim=(lowest - 0.05, 1.02)
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", fontsize="small")
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:  # a format that it does not know
        raise ConfigurationError(f"{path} cannot be drawn ({error}): name it .svg or .png.") from error

"""The picture of schemes side by side: precision against recall."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .curves import Outcome


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

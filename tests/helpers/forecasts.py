"""Weather reports made from a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def weather(dice: random.Random) -> str:
    """Return a page of a template that has as many numbers as words between them."""
    return " ".join(
        f"{day} will be partly cloudy over the county and the coast with a high of {dice.randint(5, 35)} "
        f"degrees and a low of {dice.randint(-15, 4)} degrees, wind from the west at {dice.randint(1, 60)} "
        f"km per hour, and a chance of rain of {dice.randint(0, 100)} per cent."
        for day in ("Today", "Tomorrow", "Wednesday", "Thursday")
    )

"""Pages of one template whose numbers differ: weather, scores, prices."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def generated(count: int) -> Iterator[tuple[str, str]]:
    """Yield *count* pairs of pages of each template; 60 to 150 words."""
    dice = random.Random(1)
    for template in (weather, score, market):
        for _ in range(count):
            yield template(dice), template(dice)


def weather(dice: random.Random) -> str:
    days = ("Today", "Tomorrow", "Wednesday", "Thursday", "Friday")
    return (
        "Weather forecast for the county and the coast, updated every hour by the regional station.\n"
        + "\n".join(
            f"{day} will be partly cloudy with a high of {dice.randint(-5, 35)} degrees and a low of "
            f"{dice.randint(-15, 20)} degrees, wind from the west at {dice.randint(0, 60)} km per hour, "
            f"and a chance of rain of {dice.randint(0, 100)} per cent."
            for day in days[: dice.choice((3, 4))]
        )
    )


def score(dice: random.Random) -> str:
    points = [dice.randint(70, 130) for _ in range(2)]
    quarters = [f"{dice.randint(12, 38)} to {dice.randint(12, 38)}" for _ in range(4)]
    return (
        f"Score of the game at the Riverside Arena: the home team finished with {points[0]} points, "
        f"the visitors with {points[1]} points, before a crowd of {dice.randint(3000, 19000)}.\n"
        f"The first quarter ended {quarters[0]}, the second quarter ended {quarters[1]}, the third "
        f"quarter ended {quarters[2]} and the last quarter ended {quarters[3]}. The leading "
        f"scorer of the home team had {dice.randint(15, 45)} points, {dice.randint(2, 15)} rebounds and "
        f"{dice.randint(1, 12)} assists, and the leading scorer of the visitors had {dice.randint(15, 45)} "
        f"points and {dice.randint(2, 15)} rebounds. Tickets for the next game of the season are on sale at "
        "the box office of the arena and on line."
    )


def market(dice: random.Random) -> str:
    names = ("Copper", "Wheat", "Crude oil", "Natural gas")
    return (
        "Market report of the commodities exchange, with closing prices and daily changes as published by "
        "the exchange after the end of trading.\n"
    ) + " ".join(
        f"{name} closed at {dice.randint(100, 9000)} dollars, {dice.choice(('up', 'down'))} "
        f"{dice.randint(1, 99)} cents from the previous session, after {dice.randint(100, 9999)} contracts "
        "changed hands in moderate trading."
        for name in names
    )

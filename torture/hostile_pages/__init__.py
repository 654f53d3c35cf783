"""Pages that were made to break whatever reads them, with parameters drawn by chance."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from . import contents, markup

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture.crawling import Answer

    Make = Callable[[random.Random], Answer]

#: All functions of these modules, by name. A round of a seed depends on their order.
MAKERS: dict[str, Make] = {
    name: make
    for module in (markup, contents)
    for name, make in vars(module).items()
    if callable(make) and getattr(make, "__module__", "") == module.__name__ and not name.startswith("_")
}


def hostile_pages(seed: int, count: int) -> dict[str, Answer]:
    """Return so many pages, each by another of the makers until all had their turn; by what made them."""
    dice = random.Random(seed)
    order = dice.sample(list(MAKERS), len(MAKERS))
    names = [order[number % len(order)] for number in range(count)]
    return {f"{name}-{number}": MAKERS[name](dice) for number, name in enumerate(names)}

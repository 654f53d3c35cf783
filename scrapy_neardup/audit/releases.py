"""Releases that paths name, as those of documentation do: /2.10/, /v3/, /stable/, /library-2.10/."""

from __future__ import annotations

import re
from typing import NamedTuple

from .urls import split_url

#: Parts of a path that name a release: numbers, perhaps after a v; and words that stand for the newest one,
#: or for one that is not out yet.
_RELEASE = re.compile(r"v?(\d{1,9}(?:[._]\d{1,9}){0,5})(?:[._]x)?")
#: A name before a release, of two numbers or more.
_OF_PRODUCT = re.compile(r"([a-z][a-z0-9_+-]{0,99}?)[-_]v?(\d{1,9}(?:\.\d{1,9}){1,5})")
_STANDING = {"stable": 2, "latest": 2, "current": 2, "dev": -1, "main": -1, "master": -1, "nightly": -1}
_YEAR = re.compile(r"(?:19|20)\d\d")


class Release(NamedTuple):
    """The release that a path names."""

    #: Numbers that compare, the newest release the greatest; () if the path names none.
    order: tuple[int, ...]
    #: The path up to its name; "" if it names none, or a year, which may be that of a date.
    folder: str
    #: The name of what it is a release of, where the path has it in the same part; else "".
    product: str = ""


def release_of(url: str) -> Release:
    """Return the first release that the path of *url* names."""
    parts = split_url(url).path.lower().split("/")
    for number, part in enumerate(parts, 1):
        if number < len(parts) and (found := _OF_PRODUCT.fullmatch(part)):
            order = (0, *map(int, found[2].split(".")))
            return Release(order, "/".join(parts[:number]), found[1])
        folder = "/".join(parts[:number])
        if part in _STANDING:
            return Release((_STANDING[part],), folder)
        if found := _RELEASE.fullmatch(part):
            numbers = found[1]
            # 0110 is 0.11.0, 082 is 0.8.2.
            if numbers.startswith("0") and "." not in numbers and len(numbers) > 1:
                numbers = f"0.{numbers[1:-1]}.{numbers[-1]}" if len(numbers) > 2 else f"0.{numbers[1]}"
            order = (0, *map(int, re.split(r"[._]", numbers)))
            return Release(order, "" if _YEAR.fullmatch(part) else folder)
    return Release((), "")

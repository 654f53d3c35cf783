"""Values of settings, which may come as text from a command line; each raises `ConfigurationError` with a remedy."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from scrapy.utils.misc import load_object

from scrapy_neardup.errors import ConfigurationError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return *value* if it is one of *choices*."""
    if not isinstance(value, str) or value not in choices:
        raise ConfigurationError(f"{name} is {value!r}: set it to {' or '.join(map(repr, choices))}.")
    return value


def boolean(name: str, value: object) -> bool:
    """Read True or False."""
    text = str(value).strip().lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ConfigurationError(f"{name} is {value!r}: set it to True or False.")


def integer(name: str, value: object, low: int, high: int) -> int:
    """Read a whole number."""
    try:
        number = int(str(value))
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigurationError(f"{name} is {value!r}: set it to a whole number from {low} to {high}.")
    return number


def share(name: str, value: object) -> float:
    """Read a number between 0 and 1."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number < 1:
        raise ConfigurationError(f"{name} is {value!r}: set it to a similarity between 0 and 1.")
    return number


def seconds(name: str, value: object, unit: str) -> float:
    """Read a length of time, in any *unit*."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ConfigurationError(f"{name} is {value!r}: set it to a number of {unit} above 0.")
    return number


def size(name: str, value: object, *, least: int = 1) -> int:
    """Read bytes, such as "5M"; not fewer than *least*."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise ConfigurationError(f"{name} is {value!r}: set it to a number of bytes such as 5000000 or '5M'.")
    if size < least:
        raise ConfigurationError(f"{name} is {value!r}: nothing works with less than {least} bytes.")
    return size


def path(name: str, value: object) -> Path:
    """Read a path."""
    try:
        if isinstance(value, (str, os.PathLike)) and b"\0" not in os.fsencode(value):
            return Path(os.fsdecode(value))
    except ValueError:  # characters that no file system takes
        pass
    raise ConfigurationError(f"{name} is {value!r}: set it to a path.")


def imported(name: str, value: object, remedy: str) -> object:
    """Return the object whose import path *value* is, or *value* itself if that is a class or a function.

    Importing runs code of the user's, which may raise anything; NotConfigured, too, which Scrapy takes for a wish not
    to run.
    """
    try:
        return load_object(value)  # type: ignore[arg-type]
    except Exception as error:
        raise ConfigurationError(
            f"{name} names {value!r}, which cannot be imported ({error!r}): {remedy}"
        ) from error

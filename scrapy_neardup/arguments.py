"""Arguments of public functions: a value that cannot work is refused where it comes in, in one sentence."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ConfigurationError


def require_whole(name: str, value: object, low: int | None = None, high: int | None = None) -> None:
    """Raise `ConfigurationError` unless *value* is a whole number, not below *low* and not above *high*."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigurationError(f"{name} is {value!r}: use a whole number.")
    if (low is not None and int(value) < low) or (high is not None and int(value) > high):
        allowed = f"at least {low}" if high is None else f"{low} to {high}"
        raise ConfigurationError(f"{name} is {value!r}: use {allowed}.")


def require_number(name: str, value: object) -> None:
    """Raise `ConfigurationError` unless *value* is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ConfigurationError(f"{name} is {value!r}: use a number.")


def require_type(name: str, value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Raise TypeError unless *value* is of *kind*, which *what* names."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {what}, not {type(value).__name__}.")


def takes(function: Callable[..., object], *arguments: object) -> bool:
    """Tell whether *function* can be called with *arguments*, as far as its signature is known."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # of some functions in C
        pass
    return True


def require_path(value: object) -> None:
    """Raise TypeError unless *value* is a path, `ConfigurationError` for one that no file can have."""
    require_type("A path", value, (str, os.PathLike), "a str or a path-like object")
    with suppress(UnicodeEncodeError):
        if value != "" and b"\0" not in os.fsencode(value):  # type: ignore[arg-type]
            return
    raise ConfigurationError(f"There can be no path {value!r}: name a file or a folder.")


def whole_numbers(name: str, values: ArrayLike, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Return *values* as an array of *dtype*. Raises `ConfigurationError` where NumPy would round or wrap."""
    array = np.asarray(values)
    if array.dtype == dtype or not array.size:
        return array.astype(dtype, copy=False)
    if array.dtype.kind not in "iu":
        array = np.array(values, object)  # of large whole numbers beside small ones NumPy makes floats
    limits = np.iinfo(dtype)
    whole = array.dtype.kind != "O" or all(isinstance(value, Integral) for value in array.flat)
    if not whole or int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ConfigurationError(f"{name} are whole numbers from {limits.min} to {limits.max}: use these.")
    return array.astype(dtype)


def escaped(text: str) -> str:
    """Return *text* with each lone surrogate, which JSON may bring, written out, so that UTF-8 takes it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

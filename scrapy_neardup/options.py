"""The options that a crawl, an audit and an evaluation share: default, check and parsing.

One is set by keyword (`distance`) or, from Scrapy's settings or a command line, as ``NEARDUP_DISTANCE``.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ConfigurationError
from .extraction import ContentArea, Workers, load_extractor
from .extraction.libraries import SEGMENT
from .fingerprint import SCHEMES, Features, Scheme
from .index.tables import LAYOUTS

if TYPE_CHECKING:
    from .fingerprint import Fingerprinter

Choice = TypeVar("Choice", str, int)
#: What the names of all settings begin with.
PREFIX = "NEARDUP_"
#: The most worker processes, and the least memory of each, in bytes, with which anything works.
MOST_WORKERS, LEAST_MEMORY = 1024, 1 << 24
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_FEATURES = Features()


def processors(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many processors this process may keep busy: of all, a container may get the time of one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        time, period = map(int, limit.read_text("ascii").split())
        return max(1, min(count, math.ceil(time / period)))
    except (OSError, ValueError, ZeroDivisionError):  # there is no such file, or "max" in it
        return count


def choice(name: str, value: object, choices: Iterable[Choice]) -> Choice:
    """Return which of *choices*, texts or numbers, is *value*. Raises `ConfigurationError`."""
    for each in choices:
        if str(value) == str(each):
            return each
    raise ConfigurationError(f"{name} is {value!r}: set it to {' or '.join(map(repr, choices))}.")


def boolean(name: str, value: object) -> bool:
    """Read True or False. Raises `ConfigurationError`."""
    found = {"true": True, "1": True, "false": False, "0": False}.get(str(value).strip().lower())
    if found is None:
        raise ConfigurationError(f"{name} is {value!r}: set it to True or False.")
    return found


def whole_number(name: str, value: object, low: int, high: int) -> int:
    """Read a whole number from *low* to *high*. Raises `ConfigurationError`."""
    try:
        number = int(str(value))
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigurationError(f"{name} is {value!r}: set it to a whole number from {low} to {high}.")
    return number


def number(name: str, value: object, low: float, high: float, what: str) -> float:
    """Read a number above *low* and below *high*, which is *what* to set. Raises `ConfigurationError`."""
    try:
        found = float(str(value))
    except ValueError:
        found = math.nan
    if not low < found < high:
        raise ConfigurationError(f"{name} is {value!r}: set it to {what}.")
    return found


def duration(name: str, value: object, unit: str) -> float:
    """Read a length of time above 0, in any *unit*. Raises `ConfigurationError`."""
    return number(name, value, 0, math.inf, f"a number of {unit} above 0")


def byte_count(name: str, value: object, least: int = 1) -> int:
    """Read a number of bytes, such as 5000000 or "5M", from *least* on. Raises `ConfigurationError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
    count = float(found[1]) * _UNITS[found[2].upper()] if found else 0.0
    if least <= count < math.inf:
        return int(count)
    raise ConfigurationError(
        f"{name} is {value!r}: set it to a number of bytes, at least {least}, such as 5000000000 or '5G'."
    )


def _extractor(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise ConfigurationError(f"{name} is {value!r}: set it to a name such as 'plain' or an import path.")


def _selectors(name: str, value: object) -> tuple[str, ...]:
    """Read CSS selectors: a list of them, or one, which may be several with commas."""
    selectors = (value,) if isinstance(value, str) else value
    if not isinstance(selectors, (list, tuple)) or not all(isinstance(each, str) for each in selectors):
        raise ConfigurationError(f"{name} is {value!r}: set it to a CSS selector, or to a list of these.")
    try:
        return ContentArea(tuple(selectors)).include
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None


def _features(name: str, value: object) -> Features:
    """Read a dict, or JSON with one, of some of the fields of `Features`."""
    try:
        if isinstance(value, str):
            value = json.loads(value)
        if isinstance(value, Features):  # read before
            return value
        return _FEATURES if value is None else Features(**value)  # type: ignore[arg-type]
    except (ConfigurationError, TypeError, ValueError, RecursionError) as error:
        known = ", ".join(each.name for each in fields(Features) if each.name != "version")
        why = str(error).rpartition("() ")[2].rstrip(".")  # without the name of the function
        raise ConfigurationError(
            f"{name} is {value!r} ({why}): set it to a dict with some of {known}."
        ) from None


def parsed(read: Callable[..., Any], *arguments: Any, setting: str = "") -> dict[str, Any]:
    """Return the metadata of a field that is a setting, too: ``read(name, value, *arguments)`` makes it."""
    return {"setting": setting, "read": lambda name, value: read(name, value, *arguments)}


#: The options that `Detector.open` has, too; only crawls have a window.
OF_THE_DETECTOR = (
    "scheme", "distance", "tables", "threshold", "verified", "features", "min_tokens", "window",
)  # fmt: skip


@dataclass(frozen=True)
class DetectionOptions:
    """How pages are read, signed and compared. docs/scrapy.md says what each option does."""

    #: How candidates are found: the name of one of `SCHEMES`.
    scheme: str = field(default="simhash+anchors", metadata=parsed(choice, tuple(SCHEMES)))
    #: Bits in which the fingerprints of candidates may differ.
    distance: int = field(default=Scheme.distance, metadata=parsed(whole_number, 0, 7))
    #: Permuted tables of the fingerprint.
    tables: int = field(default=Scheme.tables, metadata=parsed(choice, LAYOUTS))
    #: Least Jaccard similarity of candidates of the schemes minhash and bottomk.
    threshold: float = field(
        default=Scheme.threshold, metadata=parsed(number, 0, 1, "a similarity between 0 and 1")
    )
    #: Whether candidates have to be much alike, too.
    verified: bool = field(default=True, metadata=parsed(boolean, setting="verify"))
    features: Features = field(default=_FEATURES, metadata=parsed(_features))
    #: Tokens of the shortest text that is judged.
    min_tokens: int = field(default=40, metadata=parsed(whole_number, 0, 1_000_000))
    #: The name or import path of the extractor, which finds the main text of a page.
    extractor: str = field(default="segment", metadata=parsed(_extractor))
    #: CSS selectors of the parts of a page that count (all if there are none), and of parts that do not.
    include_area: tuple[str, ...] = field(default=(), metadata=parsed(_selectors))
    exclude_area: tuple[str, ...] = field(default=(), metadata=parsed(_selectors))
    #: Worker processes; 0: one for each usable processor.
    workers: int = field(default=0, metadata=parsed(whole_number, 1, MOST_WORKERS))
    #: Seconds that a page may take to extract.
    extract_timeout: float = field(default=10.0, metadata=parsed(duration, "seconds"))
    #: Bytes that a page may take to extract.
    extract_memory: int = field(default=1 << 30, metadata=parsed(byte_count, LEAST_MEMORY))
    #: Bytes of the largest page that is read.
    max_body_size: int = field(default=5 << 20, metadata=parsed(byte_count))

    @property
    def processes(self) -> int:
        """How many worker processes to use."""
        return self.workers or processors()

    @property
    def area(self) -> ContentArea:
        """Where on a page the extractor looks. Raises `ConfigurationError`."""
        return ContentArea(tuple(self.include_area), tuple(self.exclude_area))

    @property
    def extractor_identity(self) -> str:
        """Name, version and options of the extractor, and where on a page it looks."""
        extractor = self.extractor
        return self.area.identity(SEGMENT if extractor == "segment" else load_extractor(extractor).identity)

    def extracting(self, fingerprinter: Fingerprinter | None, **how: Any) -> Workers:
        """Return processes that extract main texts, and sign them with a *fingerprinter*; see `Workers`."""
        return Workers(
            fingerprinter, self.extractor, timeout=self.extract_timeout, memory=self.extract_memory,
            area=self.area, **{"processes": self.processes, **how},
        )  # fmt: skip

    @classmethod
    def settings(cls) -> dict[str, Field[Any]]:
        """Return the field of each setting, by the setting's public name."""
        return {
            PREFIX + (each.metadata["setting"] or each.name).upper(): each
            for each in fields(cls)
            if each.metadata
        }

    @classmethod
    def read(cls, get: Callable[[str], object]) -> dict[str, Any]:
        """Return the options that are set: *get* tells a setting's value. Raises `ConfigurationError`."""
        given = {name: get(name) for name in cls.settings()}
        return {
            option.name: option.metadata["read"](name, given[name])
            for name, option in cls.settings().items()
            if given[name] not in (None, "")
        }


def hint_at(name: str, names: Iterable[str]) -> str:
    """Return which of the *names* of settings *name* may be a misspelling of, or else all, for an error."""
    import difflib  # for those who misspell

    bare = [each.removeprefix(PREFIX) for each in names]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=0.7)
    return f"did you mean {PREFIX}{near[0]}?" if near else f"the settings are {', '.join(names)}."

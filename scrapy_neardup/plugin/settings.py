"""All settings, read and checked once."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.project import data_path

from scrapy_neardup.detector import SCHEME
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction.processors import processors
from scrapy_neardup.fingerprint import SCHEMES, Features
from scrapy_neardup.matching.matcher import MIN_TOKENS
from scrapy_neardup.matching.sites import host_of

from .values import boolean, choice, imported, integer, path, seconds, share, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

Policy = Literal["tag", "drop_items", "drop_page"]
POLICIES: tuple[Policy, ...] = ("tag", "drop_items", "drop_page")

SETTINGS: dict[str, Any] = {
    "NEARDUP_ENABLED": True,
    "NEARDUP_POLICY": "drop_items",
    "NEARDUP_SCHEME": SCHEME,
    "NEARDUP_DISTANCE": 3,
    "NEARDUP_TABLES": 4,
    "NEARDUP_THRESHOLD": 0.5,
    "NEARDUP_VERIFY": True,
    "NEARDUP_FEATURES": None,
    "NEARDUP_DIR": None,
    "NEARDUP_RESET": False,
    "NEARDUP_SCOPE": "global",
    "NEARDUP_WINDOW": None,
    "NEARDUP_EXTRACTOR": "trafilatura",
    "NEARDUP_WORKERS": None,
    "NEARDUP_EXTRACT_TIMEOUT": 10,
    "NEARDUP_EXTRACT_MEMORY": "1G",
    "NEARDUP_MAX_BODY_SIZE": "5M",
    "NEARDUP_MIN_TOKENS": MIN_TOKENS,
    "NEARDUP_ITEM_FIELDS": None,
    "NEARDUP_REPORT": None,
    "NEARDUP_DEBUG": False,
}


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings say. See docs/scrapy.md for each of them."""

    policy: Policy
    scheme: str
    distance: int
    tables: int
    #: Least similarity of candidates.
    threshold: float
    #: Whether candidates have to be much alike, too.
    verified: bool
    features: Features
    #: Folder of the index; None: a scratch index for this run.
    dir: Path | None
    reset: bool
    #: From the URL of a document and the spider to the name of the part of the index it is compared with.
    scope: Callable[[str, Spider], str]
    #: Days.
    window: float | None
    extractor: str
    workers: int
    #: Seconds.
    extract_timeout: float
    #: Bytes.
    extract_memory: int
    #: Bytes.
    max_body_size: int
    min_tokens: int
    #: Fields of each item class; ``object`` stands for every class.
    item_fields: Mapping[type, tuple[str, ...]]
    report: Path | None
    debug: bool

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Read the ``NEARDUP_*`` settings. Raises ConfigurationError for a value that cannot work."""
        for name in settings:
            if str(name).startswith("NEARDUP_") and name not in SETTINGS:
                logger.warning(unknown(str(name)))

        get = partial(_get, settings)
        workers = get("NEARDUP_WORKERS")
        window = get("NEARDUP_WINDOW")
        extractor = get("NEARDUP_EXTRACTOR")
        if not isinstance(extractor, str):
            raise ConfigurationError(
                f"NEARDUP_EXTRACTOR is {extractor!r}: set it to 'trafilatura', 'resiliparse', 'plain' or the"
                " import path of an extractor, as text."
            )
        report = get("NEARDUP_REPORT")
        return cls(
            policy=cast("Policy", choice("NEARDUP_POLICY", get("NEARDUP_POLICY"), POLICIES)),
            scheme=choice("NEARDUP_SCHEME", get("NEARDUP_SCHEME"), tuple(SCHEMES)),
            distance=integer("NEARDUP_DISTANCE", get("NEARDUP_DISTANCE"), 0, 7),
            tables=int(choice("NEARDUP_TABLES", str(get("NEARDUP_TABLES")), ("4", "10", "20"))),
            threshold=share("NEARDUP_THRESHOLD", get("NEARDUP_THRESHOLD")),
            verified=boolean("NEARDUP_VERIFY", get("NEARDUP_VERIFY")),
            features=_features(get("NEARDUP_FEATURES")),
            dir=_directory(get("NEARDUP_DIR"), settings),
            reset=boolean("NEARDUP_RESET", get("NEARDUP_RESET")),
            scope=_scope(get("NEARDUP_SCOPE")),
            window=None if window is None else seconds("NEARDUP_WINDOW", window, "days"),
            extractor=extractor,
            workers=processors() if workers is None else integer("NEARDUP_WORKERS", workers, 1, 1024),
            extract_timeout=seconds("NEARDUP_EXTRACT_TIMEOUT", get("NEARDUP_EXTRACT_TIMEOUT"), "seconds"),
            extract_memory=size("NEARDUP_EXTRACT_MEMORY", get("NEARDUP_EXTRACT_MEMORY"), least=1 << 24),
            max_body_size=size("NEARDUP_MAX_BODY_SIZE", get("NEARDUP_MAX_BODY_SIZE")),
            min_tokens=integer("NEARDUP_MIN_TOKENS", get("NEARDUP_MIN_TOKENS"), 0, 1_000_000),
            item_fields=_item_fields(get("NEARDUP_ITEM_FIELDS")),
            report=None if report is None else path("NEARDUP_REPORT", report).absolute(),
            debug=boolean("NEARDUP_DEBUG", get("NEARDUP_DEBUG")),
        )

    def fields_of(self, item: object) -> tuple[str, ...]:
        """Return the fields of *item* to compare: those of its class or its nearest base class."""
        for base in type(item).__mro__:
            if base in self.item_fields:
                return self.item_fields[base]
        return ()


def is_enabled(settings: BaseSettings) -> bool:
    """Whether detection is switched on; while it is off, no other setting matters. Raises ConfigurationError."""
    return boolean("NEARDUP_ENABLED", _get(settings, "NEARDUP_ENABLED"))


def _get(settings: BaseSettings, name: str) -> Any:
    value = settings.get(name)
    return SETTINGS[name] if value is None or value == "" else value


def unknown(name: str) -> str:
    names = [known.removeprefix("NEARDUP_") for known in SETTINGS]
    near = difflib.get_close_matches(name.removeprefix("NEARDUP_"), names, n=1, cutoff=0.5)
    hint = f"did you mean NEARDUP_{near[0]}?" if near else f"the settings are {', '.join(SETTINGS)}."
    return f"There is no setting {name}, so it has no effect: {hint}"


def _features(value: object) -> Features:
    known = {field.name: field.type for field in fields(Features) if field.name != "version"}
    remedy = f"set it to a dict with some of {', '.join(known)}."
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ConfigurationError(f"NEARDUP_FEATURES is {value!r}: {remedy}") from None
    if value is None:
        return Features()
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"NEARDUP_FEATURES is {value!r}: {remedy}")
    for name, part in value.items():
        if name not in known or type(part) is not (int if known[name] == "int" else str):
            raise ConfigurationError(f"NEARDUP_FEATURES has {name!r}: {part!r}: {remedy}")
    try:
        return Features(**value)
    except ConfigurationError as error:
        raise ConfigurationError(f"NEARDUP_FEATURES: {error}") from None


def _directory(value: object, settings: BaseSettings) -> Path | None:
    if value is None:
        job = job_dir(settings)
        return Path(job, "neardup") if job else None
    named = path("NEARDUP_DIR", value)
    try:
        return Path(data_path(named))
    except (NotConfigured, OSError) as error:  # SCRAPY_SETTINGS_MODULE without a scrapy.cfg, as under scrapyd
        raise ConfigurationError(
            f"NEARDUP_DIR is {str(named)!r}, but there is no project folder that it could be in ({error}): "
            "set it to an absolute path."
        ) from error


def _scope(value: object) -> Callable[[str, Spider], str]:
    if callable(value):
        return cast("Callable[[str, Spider], str]", value)
    if isinstance(value, str) and value in _SCOPES:
        return _SCOPES[value]
    remedy = "set it to 'global', 'spider', 'host' or the import path of a function (url, spider) -> str."
    function = imported("NEARDUP_SCOPE", value, remedy)
    if not callable(function):
        raise ConfigurationError(f"NEARDUP_SCOPE is {value!r}, which is not a function: {remedy}")
    return cast("Callable[[str, Spider], str]", function)


_SCOPES: dict[str, Callable[[str, Spider], str]] = {
    "global": lambda url, spider: "",
    "spider": lambda url, spider: spider.name,
    "host": lambda url, spider: host_of(url),
}


def _item_fields(value: object) -> dict[type, tuple[str, ...]]:
    remedy = "set it to a list of field names, or to {item class, its import path or '*': [field names]}."
    fail = ConfigurationError(f"NEARDUP_ITEM_FIELDS is {value!r}: {remedy}")
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.lstrip()[:1] in ("{", "[") else value.split(",")
        except ValueError:
            raise fail from None
    if value is None:
        return {}
    if isinstance(value, (list, tuple)):
        value = {"*": value}
    if not isinstance(value, dict):
        raise fail
    fields: dict[type, tuple[str, ...]] = {}
    for key, names in value.items():
        item_class = object if key == "*" else imported("NEARDUP_ITEM_FIELDS", key, remedy)
        names = [names] if isinstance(names, str) else names
        if (
            not isinstance(item_class, type)
            or not isinstance(names, (list, tuple))
            or not names
            or not all(isinstance(name, str) and name.strip() for name in names)
        ):
            raise fail
        fields[item_class] = tuple(name.strip() for name in names)
    return fields

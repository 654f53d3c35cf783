"""The settings of a crawl: read from Scrapy's and checked once, when the crawl starts."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import regex
from scrapy import Spider
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object
from scrapy.utils.project import data_path

from scrapy_neardup.arguments import require_path, takes
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.stores import BACKENDS
from scrapy_neardup.matching.sites import host_of, rewritten
from scrapy_neardup.options import PREFIX, DetectionOptions, boolean, choice, duration, hint_at, parsed

Policy = Literal["tag", "drop_items", "drop_page"]
#: What happens to a page that is stored already, under its URL and with its text.
Revisits = Literal["keep", "drop_items", "drop_page"]
#: What happens to requests that would bring copies.
How = Literal["defer", "skip"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

#: From the URL of a document and the spider to the name of the part of the index that it is compared with.
Scope = Callable[[str, Spider], str]
SCOPES: dict[str, Scope] = {
    "global": lambda url, spider: "",
    "spider": lambda url, spider: spider.name,
    "host": lambda url, spider: host_of(url),
}

#: Processor seconds after which a URL is no longer matched with patterns: URLs may be made to take long.
SEARCH_SECONDS = 0.02
_RULES = (
    "set it to a list of rules such as {'url': a regular expression, 'policy': a policy or False, "
    "'scope': a scope} or {'url': a regular expression, 'to': a replacement}, or to a JSON file with one."
)
_SCOPE = "set it to 'global', 'spider', 'host', or a function (url, spider) -> str or its import path."


class Rule(NamedTuple):
    """What applies to the pages in whose URL a pattern is found. None stands for what the settings say."""

    pattern: Any
    #: False: the pages are neither examined nor stored.
    policy: Policy | Literal[False] | None
    scope: Scope | None
    #: What replaces the pattern, so that URLs of one page become equal; None if the rule rewrites nothing.
    to: str | None = None


def rule_for(url: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the first of *rules* whose pattern is found in *url*. Raises TimeoutError if that takes long."""
    ends = time.thread_time() + SEARCH_SECONDS if rules else 0.0
    for rule in rules:
        # With concurrent=True other threads would run meanwhile, and their time would count.
        left = max(ends - time.thread_time(), 1e-6)
        if rule.to is None and rule.pattern.search(url, timeout=left, concurrent=False):
            return rule
    return None


def plain_url(url: str, rules: Sequence[Rule]) -> str:
    """Return *url* after those of *rules* that rewrite it. Raises TimeoutError if that takes long."""
    ends = time.thread_time() + SEARCH_SECONDS
    for rule in rules:
        if rule.to is not None:
            url = rewritten(url, rule.pattern, rule.to, ends=ends)
    return url


def _path(name: str, value: object) -> Path:
    try:
        require_path(value)
    except (TypeError, ConfigurationError):
        raise ConfigurationError(f"{name} is {value!r}: set it to a path.") from None
    return Path(os.fsdecode(value))  # type: ignore[arg-type]


def _store(name: str, value: object) -> str:
    if isinstance(value, str) and value.partition(":")[0].lower() in BACKENDS:
        return value
    raise ConfigurationError(
        f"{name} is not the URL of an index: set it to redis://host:6379/0?name=news, "
        "or set NEARDUP_DIR to a directory."
    )


def _scope(name: str, value: object) -> Scope:
    if isinstance(value, str) and value in SCOPES:
        return SCOPES[value]
    try:
        function = value if callable(value) else load_object(value)  # type: ignore[arg-type]
    except Exception as error:  # also NotConfigured, which Scrapy takes for the wish to do without
        message = f"{name} names {value!r}, which cannot be imported ({error!r}): {_SCOPE}"
        raise ConfigurationError(message) from error
    if not callable(function) or not takes(function, "", None):
        raise ConfigurationError(f"{name} is {value!r}, which is no such function: {_SCOPE}")
    return cast("Scope", function)


def _names(name: str, value: object) -> tuple[str, ...]:
    """Read the names of fields: a list, or text with commas."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(
        isinstance(each, str) and each.strip() for each in names
    ):
        raise ConfigurationError(f"{name} is {value!r}: set it to a list of field names.")
    return tuple(each.strip() for each in names)


def read_rules(name: str, value: object) -> tuple[Rule, ...]:
    """Read a list of dicts, or JSON with one, or a file of that. Raises `ConfigurationError`, by the rule."""
    rules = value
    try:
        if isinstance(value, str) and value.lstrip()[:1] not in ("[", "{"):
            if (path := _path(name, value)).exists() and not path.is_file():
                raise OSError("it is no regular file")
            rules = path.read_text("utf-8")
        rules = json.loads(rules) if isinstance(rules, str) else rules
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{name} is {value!r}, which cannot be read ({error}): {_RULES}") from None
    if not isinstance(rules, (list, tuple)):
        raise ConfigurationError(f"{name} is {value!r}: {_RULES}")
    return tuple(_rule(f"{name}[{number}]", each) for number, each in enumerate(rules))


def _rule(name: str, value: object) -> Rule:
    texts = isinstance(value, Mapping) and [value.get("url"), value.get("to", "")]
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in texts or ()):
        raise ConfigurationError(f"{name} is {value!r}: {_RULES}")
    unknown = [key for key in value if key not in ("url", "policy", "scope", "to", "why")]
    if unknown:
        raise ConfigurationError(f"{name} has {unknown[0]!r}: {_RULES}")
    to, told = value.get("to"), f"the pattern {value['url']!r}, which is no regular expression"
    try:
        pattern = regex.compile(value["url"])
        if to is not None and to != r"\L":
            told = f"the replacement {to!r}, which cannot be put in place of {value['url']!r}"
            regex.sub(f"{value['url']}|", to, "")  # it finds nothing, so the replacement is read
    except (regex.error, IndexError) as error:
        raise ConfigurationError(f"{name} has {told} ({error}): {_RULES}") from None
    policy, scope = value.get("policy"), value.get("scope")
    if policy is not None and policy is not False:
        policy = choice(f"{name}['policy']", policy, POLICIES)
    if isinstance(scope, str) and scope not in SCOPES:
        return Rule(pattern, cast("Policy", policy), lambda url, spider: str(scope), to)
    scope = None if scope is None else _scope(f"{name}['scope']", scope)
    return Rule(pattern, cast("Policy", policy), scope, to)


#: The settings that differ for a kind of site. docs/scrapy.md says why.
PRESETS: dict[str, dict[str, object]] = {
    "news": {"NEARDUP_WINDOW": 90},
    "shop": {"NEARDUP_SCOPE": "host", "NEARDUP_BUDGET": "defer"},
    "forum": {"NEARDUP_SCOPE": "host", "NEARDUP_BUDGET": "defer"},
    "archive": {"NEARDUP_POLICY": "drop_page"},
}


@dataclass(frozen=True)
class CrawlOptions(DetectionOptions):
    """The options of a crawl; docs/scrapy.md says what each does."""

    #: The kind of site, which gives settings that are not set their values.
    preset: str | None = field(default=None, metadata=parsed(choice, tuple(PRESETS)))
    policy: Policy = field(default="drop_items", metadata=parsed(choice, POLICIES))
    #: Folder of the index; None: a scratch index for this run.
    dir: Path | None = field(default=None, metadata=parsed(_path))
    #: URL of an index on a server, in place of a folder.
    store: str | None = field(default=None, metadata=parsed(_store))
    reset: bool = field(default=False, metadata=parsed(boolean))
    scope: Scope = field(default=SCOPES["global"], metadata=parsed(_scope))
    rules: Sequence[Rule] = field(default=(), metadata=parsed(read_rules))
    revisits: Revisits = field(default="keep", metadata=parsed(choice, get_args(Revisits)))
    #: Whether pages say which of their paragraphs are new.
    changes: bool = field(default=False, metadata=parsed(boolean))
    prefer_canonical: bool = field(default=True, metadata=parsed(boolean))
    #: Name of the field of items that gets the identifier of their story.
    cluster_field: tuple[str, ...] = field(default=(), metadata=parsed(_names))
    pending_timeout: float = field(default=60.0, metadata=parsed(duration, "seconds"))
    window: float | None = field(default=None, metadata=parsed(duration, "days"))
    #: What becomes of requests whose pages would bring nothing new.
    budget: How | None = field(default=None, metadata=parsed(choice, get_args(How)))
    #: Names of the fields whose text is compared.
    item_fields: tuple[str, ...] = field(default=(), metadata=parsed(_names))
    #: Names of fields that never tell items apart.
    item_ignore: tuple[str, ...] = field(default=(), metadata=parsed(_names))
    report: Path | None = field(default=None, metadata=parsed(_path))

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> CrawlOptions:
        """Read the settings. Raises `ConfigurationError` for a value that cannot work or an unknown name."""
        for name in map(str, settings):
            misspelt = name not in SETTINGS and _LIKE_OURS.match(name)
            if misspelt:
                hint = hint_at(name[misspelt.end() :].upper(), SETTINGS)
                raise ConfigurationError(f"There is no setting {name}: {hint}")
        preset = settings.get(PREFIX + "PRESET") or ""
        implied = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
        values = cls.read(
            lambda name: implied.get(name) if settings.get(name) in (None, "") else settings.get(name)
        )
        if "store" not in values:
            values["dir"] = _index_folder(values.get("dir"), settings)
        elif "dir" in values:
            raise ConfigurationError("NEARDUP_STORE and NEARDUP_DIR both name an index: set one of them.")
        return cls(**values)


_ENABLED = PREFIX + "ENABLED"
#: How the names of settings begin that are likely to be misspelt ones of ours.
_LIKE_OURS = re.compile(r"near_?dup(?:e|licates?)?_?", re.IGNORECASE)
#: The names of all settings.
SETTINGS = (_ENABLED, *CrawlOptions.settings())


def is_enabled(settings: BaseSettings) -> bool:
    """Tell whether detection is switched on; while it is off, no other setting matters."""
    value = settings.get(_ENABLED)
    return value is None or value == "" or boolean(_ENABLED, value)


def _index_folder(named: Path | None, settings: BaseSettings) -> Path | None:
    """Return the folder of the index: in the project's data, or in the folder of the job; else None."""
    if named is None:
        job = job_dir(settings)
        return Path(job, "neardup") if job else None
    try:
        return Path(data_path(named))
    except (NotConfigured, OSError) as error:  # SCRAPY_SETTINGS_MODULE without a scrapy.cfg, as under scrapyd
        raise ConfigurationError(
            f"NEARDUP_DIR is {str(named)!r}, but there is no project folder that it could be in ({error}): "
            "set it to an absolute path."
        ) from error

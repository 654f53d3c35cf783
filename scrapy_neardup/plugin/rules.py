"""What may happen to a duplicate, which pages are compared, and ``NEARDUP_RULES``, which say both by URL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import regex
from scrapy import Spider

from scrapy_neardup.arguments import takes
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.sites import host_of
from scrapy_neardup.options import choice

if TYPE_CHECKING:
    from collections.abc import Sequence

Policy = Literal["tag", "drop_items", "drop_page"]
POLICIES: tuple[Policy, ...] = ("tag", "drop_items", "drop_page")

#: What happens to a page that is stored already, under its URL and with its text.
Revisits = Literal["keep", "drop_items", "drop_page"]
REVISITS: tuple[Revisits, ...] = ("keep", "drop_items", "drop_page")

#: From the URL of a document and the spider to the name of the part of the index that it is compared with.
Scope = Callable[[str, Spider], str]
SCOPES: dict[str, Scope] = {
    "global": lambda url, spider: "",
    "spider": lambda url, spider: spider.name,
    "host": lambda url, spider: host_of(url),
}


def scope_named(name: str) -> Scope:
    """Return one of `SCOPES`, or else the scope of just that name."""
    return SCOPES.get(name) or (lambda url, spider: name)


#: Seconds of this thread's processor time after which the search of a URL for all patterns is given up, at
#: the next occasion. A pattern is the user's, but a URL is anybody's. Time spent waiting for a processor does
#: not count: on a machine that is busy any search would take long.
SEARCH_SECONDS = 0.02
_REMEDY = (
    "set it to a list of rules such as "
    "{'url': a regular expression, 'policy': a policy or False, 'scope': a scope}."
)
_SCOPE = "set it to 'global', 'spider', 'host', a function (url, spider) -> str or a name."


class Rule(NamedTuple):
    """What applies to the pages in whose URL a pattern is found. None stands for what the settings say."""

    pattern: Any
    #: False: the pages are neither examined nor stored.
    policy: Policy | Literal[False] | None
    scope: Scope | None


class UrlRules:
    """The rules of a crawl, of which the first one whose pattern is found in a URL applies."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)

    def find(self, url: str) -> Rule | None:
        """Return the rule for *url*. Raises TimeoutError if that takes longer than `SEARCH_SECONDS`."""
        if not self.rules:
            return None
        ends = time.thread_time() + SEARCH_SECONDS
        for rule in self.rules:
            left = ends - time.thread_time()
            if left <= 0:
                raise TimeoutError
            # With concurrent=True other threads would run meanwhile, and their time would count.
            if rule.pattern.search(url, timeout=left, concurrent=False):
                return rule
        return None


def read_rules(name: str, value: object) -> UrlRules:
    """Read a list of dicts, or JSON with one. Raises `ConfigurationError`, which names the rule."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ConfigurationError(f"{name} is {value!r}: {_REMEDY}") from None
    if not isinstance(value, (list, tuple)):
        raise ConfigurationError(f"{name} is {value!r}: {_REMEDY}")
    return UrlRules([_rule(f"{name}[{number}]", each) for number, each in enumerate(value)])


def _rule(name: str, value: object) -> Rule:
    if not isinstance(value, Mapping) or not isinstance(value.get("url"), str):
        raise ConfigurationError(f"{name} is {value!r}: {_REMEDY}")
    unknown = [key for key in value if key not in ("url", "policy", "scope")]
    if unknown:
        raise ConfigurationError(f"{name} has {unknown[0]!r}: {_REMEDY}")
    try:
        pattern = regex.compile(value["url"])
    except regex.error as error:
        raise ConfigurationError(
            f"{name} has the pattern {value['url']!r}, which is no regular expression ({error}): {_REMEDY}"
        ) from None
    policy, scope = value.get("policy"), value.get("scope")
    if policy is not None and policy is not False:
        choice(f"{name}['policy']", policy, (*POLICIES, "False"))
    if scope is not None and not callable(scope):
        if not isinstance(scope, str) or not scope:
            raise ConfigurationError(f"{name}['scope'] is {scope!r}: {_SCOPE}")
        scope = scope_named(scope)
    if scope is not None and not takes(scope, "", None):
        raise ConfigurationError(f"{name}['scope'] is {scope!r}, which takes other arguments: {_SCOPE}")
    return Rule(pattern, policy, scope)

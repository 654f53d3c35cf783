"""The options of an audit: how pages are signed, what makes duplicates, which page of a cluster is kept."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scrapy_neardup.arguments import require_number
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Fingerprinter, Scheme, load_scheme
from scrapy_neardup.index import Header
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import header_for
from scrapy_neardup.options import DetectionOptions

#: Raised whenever stored signatures would no longer be those that this version makes.
VERSION = 13


@dataclass(frozen=True)
class AuditOptions(DetectionOptions):
    """The options of an audit: those that it shares with a crawl, and its own."""

    #: Least estimated similarity of near-duplicates, 0 to 1, beside what the rules ask.
    min_similarity: float = 0.0
    #: Seed of the hashes, 0 to 2³² - 1. None draws one, so that nobody can craft a page that matches another.
    seed: int | None = None
    #: Hosts and patterns of URLs (* for anything) whose pages are preferred as canonical: `canonical_ranks`.
    hosts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    #: Least similarity to its canonical page of a near-duplicate that is listed in drop.txt, 0 to 1.
    drop_similarity: float = 0.9
    #: Fields of feeds and tables with the text or HTML, and the URL, with dots for fields of fields; None
    #: guesses. The URL of the folder that HTML files are in; None takes that of a folder called like a host.
    text_field: str | None = None
    url_field: str | None = None
    base_url: str | None = None

    def __post_init__(self) -> None:
        for name in ("min_similarity", "drop_similarity"):
            require_number(name, value := getattr(self, name))
            if not 0 <= value <= 1:
                raise ConfigurationError(f"{name} is {value}: use a number from 0 to 1.")
        for option in self.settings().values():
            if (value := getattr(self, option.name)) != option.default:
                object.__setattr__(self, option.name, option.metadata["read"](option.name, value))
        for name in ("hosts", "urls"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if self.seed is None:
            object.__setattr__(self, "seed", secrets.randbelow(1 << 32))
        _ = self.loaded_scheme, self.area  # which raise

    @cached_property
    def loaded_scheme(self) -> Scheme:
        """The scheme, with its options."""
        return load_scheme(self.scheme, tables=self.tables, distance=self.distance, threshold=self.threshold)

    @cached_property
    def header(self) -> Header:
        """How documents are filed."""
        return header_for(self.fingerprinter, "")

    @property
    def fingerprinter(self) -> Fingerprinter:
        """Makes the signatures."""
        assert self.seed is not None  # it has been drawn
        return Fingerprinter(self.features, self.seed, self.loaded_scheme)

    @property
    def matcher(self) -> Matcher:
        """What makes two pages near-duplicates."""
        return Matcher(self.loaded_scheme, self.verified)

    def identity(self) -> dict[str, Any]:
        """Return all that signatures depend on: stored ones of another identity are of no use."""
        identity = {
            **self.header.parameters,
            "version": VERSION,
            "extractor": self.extractor_identity,
            "timeout": self.extract_timeout,
            "memory": self.extract_memory,
            "size": self.max_body_size,
            "seed": self.header.seed,
            "fields": [self.text_field, self.url_field, self.base_url],
            "record": self.header.record,
        }
        return json.loads(json.dumps(identity))  # type: ignore[no-any-return]  # as it is stored

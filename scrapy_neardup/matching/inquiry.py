"""What the index is asked about one document: what it is to the stored ones, and how it is filed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.index.protocol import Filing

from .decision import Decision, Preference, decide
from .records import WEAK, as_template, with_flags

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_neardup.index.protocol import Documents, Found

    from .candidates import Candidates
    from .matcher import Matcher


class Answer(NamedTuple):
    """What is said of a document, and the candidates by which it was decided."""

    decision: Decision = Decision("unique", filed=True)
    #: None if the document meets no stored one.
    candidates: Candidates | None = None
    #: Whether its lookups have met a bound.
    bounded: bool = False


@dataclass(frozen=True)
class Inquiry:
    """Decides on *document* (one row). It changes nothing, so that an index may ask again."""

    matcher: Matcher
    document: Documents
    #: What was stored before does not count: seconds since 1970.
    oldest: float = 0
    #: What was stored before will soon be too old, so that a revisit is filed anew: seconds since 1970.
    renewed: float = -math.inf
    #: Whether the document's page yields items.
    has_items: bool = False
    preference: Preference | None = None
    #: Whether what the document shares with the one stored under a URL is of its own site, if that is known.
    is_of_the_site: Callable[[str], bool] | None = None

    def answer(self, found: Found) -> Answer:
        """Decide what the document is, given what its lookups have *found*."""
        if not len(found.documents):  # most pages are new
            return Answer(bounded=found.narrowed)
        candidates = self.matcher.candidates(self.document, found, self.oldest)
        decision = decide(
            candidates,
            self.renewed,
            has_items=self.has_items,
            preference=self.preference,
            is_of_the_site=self.is_of_the_site,
        )
        return Answer(decision, candidates, not candidates.complete)

    def filing(self, decision: Decision, *, crowded: bool = False) -> Filing | None:
        """Return how the document is filed after *decision*; None if it is not.

        A *crowded* one is like more documents than a lookup finds. It is filed as the pages of a template
        are: lookups would not find it among the others, and each would take longer.
        """
        if not decision.filed:
            return None
        document = self.document
        if crowded or decision.of_template:
            document = as_template(document, self.matcher.scheme, keyed=decision.keyed and not crowded)
        # What is stored of a page without items stays if it has none again.
        weak = None if decision.known_weak else with_flags(document, WEAK)
        return Filing(document, decision.replaces, weak)

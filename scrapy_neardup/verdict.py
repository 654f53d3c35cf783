"""The answer for one document: is it new, and if not, what is it a copy of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from .index.pending import Pending, Reservation

#: What each means is in docs/glossary.md. ``items_differ`` is said by a crawl alone.
Kind = Literal[
    "unique", "exact", "near", "revisit", "too_short", "wall", "template", "boilerplate", "fuller",
    "preferred", "items_differ",
]  # fmt: skip


class Repeated(NamedTuple):
    """A stored document that another one repeats."""

    url: str
    #: What is kept of its page's items, see `matching.items`.
    note: bytes
    #: The key of its site, and whether the other document may be of the same one.
    site: int
    one_site: bool
    #: Whether the normalised texts are equal.
    exact: bool
    #: Its handle while nobody knows what becomes of it: its note is empty then.
    pending: Pending | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the detector says of one document, and why."""

    kind: Kind
    #: URL of the stored document that it matches.
    url: str | None = None
    #: Hamming distance of the two fingerprints, in bits; 0 for an exact match.
    distance: int | None = None
    #: Estimated Jaccard similarity of the two shingle sets, 0 to 1; 1 for an exact match.
    similarity: float | None = None
    #: This document's own place in the index, to be confirmed or released; ``add`` has confirmed it.
    reservation: Reservation | None = None
    #: The handle of the matched document while that is not settled.
    pending: Pending | None = None
    #: Whether this is a revisit, and its text is the stored one.
    unchanged: bool = False
    #: Whether so many like documents are stored that not all of them were compared.
    bounded: bool = False
    #: Returns all stored documents that this one repeats, the matched one first.
    repeats: Callable[[], list[Repeated]] | None = field(default=None, repr=False, compare=False)
    #: Returns what `explanation` says. It is made when somebody asks: most verdicts are never explained.
    explain: Callable[[], dict[str, Any]] | None = field(default=None, repr=False, compare=False)

    @property
    def explanation(self) -> dict[str, Any]:
        """How it was decided: figures, rules and thresholds by the names in docs/scrapy.md."""
        return {} if self.explain is None else self.explain()

    @property
    def if_items_agree(self) -> Verdict:
        """The verdict if the items of the page turn out to be those of a page that it may repeat.

        ``boilerplate`` then repeats the page of its site with an equal text; a ``wall``, unless its words say
        that it is one, the near-duplicates on its site.
        """
        repeats = self.repeats() if self.kind in ("boilerplate", "wall") and self.repeats is not None else []
        alike = [each for each in repeats if each.one_site and (each.exact or self.kind == "wall")]
        if not alike:
            return self
        found = replace(self, kind="near", url=alike[0].url, repeats=lambda: alike)
        if alike[0].exact:
            told = {"step": "digest", "found_by": ["digest"]}
            found = replace(found, kind="exact", distance=0, similarity=1.0, explain=lambda: told)
        return found

    @property
    def is_duplicate(self) -> bool:
        """Whether the document repeats one under another URL."""
        return self.kind in ("exact", "near")

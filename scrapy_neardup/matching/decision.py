"""The decision: what a document is, given the stored documents that it was compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.verdict import Kind

    from .matcher import Candidates

#: A text that so many stored pages of a site have under other titles is not what they are about. A page
#: whose short lines are theirs, too, says nothing that could be repeated, even if another page has its title.
BOILERPLATE = 2
#: The first so many pages of such a text are found by their keys: some of them may have other short lines.
KEYED = 2 * BOILERPLATE


class Decision(NamedTuple):
    """What a new document is to those that are stored, and how it is to be filed."""

    kind: Kind
    #: The row of the candidate that has decided it; None if none has.
    row: int | None = None
    #: Whether the document is to be filed, and the numbers of those whose place it takes then.
    filed: bool = False
    replaces: Sequence[int] = ()
    #: Whether it is filed as one of many pages of a template, and found by the keys of its text nevertheless.
    of_template: bool = False
    keyed: bool = False
    #: Whether it is a revisit, and its text is the stored one.
    unchanged: bool = False


def decide(
    candidates: Candidates,
    renewed: float = -np.inf,
    *,
    beside: Collection[tuple[str, bytes]] = (),
    named_by: Callable[[str, bytes], bool] = lambda url, note: False,
    is_of_the_site: Callable[[int], bool] = lambda row: False,
    is_wall: Callable[[int], bool] = lambda row: False,
) -> Decision:
    """Decide what a document is to its *candidates*.

    A match under the document's own URL is a revisit, never a duplicate. The stored document of that URL
    stays as long as the text does, unless it was stored before *renewed* (seconds since 1970) and so will
    soon expire. If a bound has left candidates out, only equal texts repeat each other.

    It repeats none of the settled pages whose URLs and notes are *beside* it: its items differ from theirs.
    *named_by* tells of URL and note of a page whether that names this one as its canonical version: then it
    takes the place of what it repeats. Of the row of a near-duplicate *is_of_the_site* tells whether what the
    document shares with it is of the document's own site, and *is_wall* whether their text is a wall.
    """
    found, judgement, own = candidates.found, candidates.judgement, candidates.own
    settled = np.array([pending is None for pending in found.pending], bool)
    pages = [*zip(found.stored.urls, found.stored.notes, strict=True)]
    apart = settled & np.array([page in beside for page in pages], bool)
    near = judgement.near & ~apart
    if not candidates.complete:
        # One of those that were left out might show that it is a page of its own, as boilerplate does.
        near &= own | judgement.exact
    kind, row = _strongest(candidates, near)
    with_its_text = judgement.text_only & ~own
    same_text = int(with_its_text.sum())
    # Of a text that is the site's, short lines of its own still make a page that can be repeated.
    telling = with_its_text & candidates.same_lines if same_text and kind == "near" else with_its_text
    if telling.sum() >= BOILERPLATE and kind != "revisit":
        kind, row = "boilerplate", candidates.best(with_its_text)
    of_the_site = kind == "near" and row is not None and not judgement.exact[row] and is_of_the_site(row)
    if of_the_site:
        kind = "boilerplate"
    if row is not None and kind == "near":
        naming = near & settled & np.array([named_by(*page) for page in pages])
        if naming.any():
            replaces = found.documents[own | naming].tolist()
            return Decision("preferred", candidates.best(naming), filed=True, replaces=replaces)
        if is_wall(row):
            return Decision("wall", row)
        return Decision("exact" if judgement.exact[row] else "near", row)
    stored_since = found.stored.records["time"] > renewed
    of_template = same_text > 0 or of_the_site or bool((judgement.template & ~own).any())
    return Decision(
        kind,
        row,
        filed=not (own & ~apart & judgement.exact & stored_since).any(),
        replaces=found.documents[own].tolist(),
        of_template=of_template and not apart.any(),
        keyed=0 < same_text < KEYED and not near.any(),
        unchanged=kind == "revisit" and bool(judgement.exact[row] and judgement.near[row]),
    )


def _strongest(candidates: Candidates, near: NDArray[np.bool_]) -> tuple[Kind, int | None]:
    """Return the strongest of what a document is to a candidate, and the row of that."""
    judgement, own = candidates.judgement, candidates.own
    kinds: tuple[tuple[Kind, NDArray[np.bool_]], ...] = (
        ("revisit", near & own),
        ("near", near),
        ("revisit", own),
        ("template", judgement.template),
        ("fuller", judgement.fuller),
    )
    for kind, among in kinds:
        row = candidates.best(among)
        if row is not None:
            return kind, row
    return "unique", None

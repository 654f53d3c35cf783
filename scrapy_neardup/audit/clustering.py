"""From the pages of a crawl to verdicts, clusters and pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.site_counter import LONGEST, SITES
from scrapy_neardup.matching.sites import UNKNOWN

from .arrays import begins
from .canonical import canonical_ranks
from .notes import clashing, differ
from .pairs.closest import closest_leaders
from .pairs.compare import Groups, compare_all
from .pairs.components import components
from .pairs.judge import PairJudge
from .pairs.leaders import leader_clusters
from .preferences import Pages
from .verdicts import number_clusters, pages_table, pairs_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_neardup.matching.candidates import Judgement

    from .crawl import Crawl
    from .names import Names
    from .pairs.compare import Compared
    from .settings import AuditOptions

    Rows = NDArray[np.int64]

#: Pairs are kept for review if their similarity is at most this much lower than the rules ask for.
MARGIN = 0.2


class Clustered(NamedTuple):
    """The tables that `cluster` makes; `Audit` describes them."""

    pages: NDArray[Any]
    clusters: NDArray[Any]
    pairs: NDArray[Any]


@dataclass(frozen=True)
class AuditJudge(PairJudge):
    """Asks for more than the rules, see `cluster`.

    A near-duplicate has at least the similarity *least*. A page of a *template* (bool[n]) is repeated by an
    equal text alone, and so is a page of the same site that has another one of the *names*; None if names are
    not known.
    """

    template: NDArray[np.bool_]
    least: float
    names: Names | None

    def judge(self, a: Rows, b: Rows) -> Judgement:
        judgement = self._with_like_items(a, b, super().judge(a, b))
        near = judgement.near & (judgement.similarity >= np.float32(self.least))
        other, again = self._compare_names(a, b, near & ~judgement.exact)
        siblings = near & ~judgement.exact & (other | (self.template[b] & ~again))
        return judgement._replace(near=near & ~siblings, template=judgement.template | siblings)

    @cached_property
    def _noted(self) -> bool:
        return any(self.documents.notes)

    def _with_like_items(self, a: Rows, b: Rows, judgement: Judgement) -> Judgement:
        """Return *judgement* without the pairs of one site whose items say different things."""
        notes, sites = self.documents.notes, self.documents.records["site"]
        wanted = (judgement.near | judgement.fuller) & (sites[a] == sites[b])
        other = np.zeros(len(a), bool)
        for pair in np.flatnonzero(wanted).tolist() if self._noted else ():
            other[pair] = differ(notes[a[pair]], notes[b[pair]])
        return judgement._replace(
            exact=judgement.exact & ~other,
            near=judgement.near & ~other,
            fuller=judgement.fuller & ~other,
        )

    def _compare_names(
        self, a: Rows, b: Rows, wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which *wanted* pairs of one site differ by name, and which are one page in two releases.

        Returns bool[m] each.
        """
        other, again = np.zeros(len(a), bool), np.zeros(len(a), bool)
        sites = self.documents.records["site"]
        if self.names is not None:
            for pair in np.flatnonzero(wanted & (sites[a] == sites[b])).tolist():
                rows = int(a[pair]), int(b[pair])
                other[pair], again[pair] = self.names.differ(*rows), self.names.are_releases(*rows)
        return other, again


def cluster(crawl: Crawl, settings: AuditOptions, advance: Callable[[int], None]) -> Clustered:
    """Compare all pages and group the duplicates around their canonical pages.

    A page repeats its canonical page, as in a crawl, if it brings next to nothing new: a fuller page is in no
    cluster of an excerpt's. Two kinds of pages are repeated by equal texts alone: a page of a template, but
    for the same page in another release; and a page of the same site with another name. A cluster of short
    texts on many sites is a wall, as in a crawl (`scrapy_neardup.matching.site_counter`): its pages are in no
    cluster.
    """
    judge = judge_of(crawl, settings, np.zeros(len(crawl), bool))
    compared = compare_all(
        judge, Groups.of(judge.documents), least=settings.least_similarity - MARGIN, advance=advance
    )
    near = compared.judgement.near
    edges = np.stack((compared.a[near], compared.b[near]), axis=1)
    pages = Pages(
        crawl.urls, crawl.declared, crawl.tokens, crawl.fetched, crawl.documents.keys[DIGEST], crawl.noindex,
        stories=components(len(crawl), edges), sites=crawl.documents.records["site"],
    )  # fmt: skip
    ranks = canonical_ranks(pages, settings.rules, settings.hosts, settings.urls)
    judge = replace(judge, template=_of_templates(ranks, compared))
    siblings = np.zeros(len(crawl), bool)
    for rows in (compared.a, compared.b):
        siblings[rows[compared.judgement.template]] = True
    table = group_pages(crawl, judge, edges, ranks, siblings)
    clusters = number_clusters(table)
    return Clustered(table, clusters, pairs_table(judge, compared))


def judge_of(crawl: Crawl, settings: AuditOptions, template: NDArray[np.bool_]) -> AuditJudge:
    """Return what judges pairs of pages, of which some are known to be of a *template* (bool[n])."""
    fit = crawl.long & ~crawl.wall
    return AuditJudge(crawl.documents, fit, settings.matcher, template, settings.min_similarity, crawl.names)


def group_pages(
    crawl: Crawl, judge: AuditJudge, edges: Rows, ranks: Rows, siblings: NDArray[np.bool_]
) -> NDArray[Any]:
    """Group pages around canonical pages; return their table, as `pages_table` does.

    *edges* (int64[m, 2]) are the pairs of which one repeats the other. *ranks* (int64[n]) say which page is
    preferred, *siblings* which ones are in a pair of a template (bool[n]). Pages that no edges connect do not
    matter to each other, so the components of a crawl may be grouped apart.
    """
    # Each page is judged as if the leader were stored and the page came next.
    leaders = leader_clusters(ranks, edges, lambda kept, pages: judge.judge(pages, kept).near)
    leaders = closest_leaders(leaders, ranks, edges, lambda kept, pages: _likeness(judge.judge(pages, kept)))
    leaders = _apart_by_items(leaders, judge, edges, ranks)
    spread = _spread(crawl, leaders)
    leaders = np.where(spread, np.arange(len(crawl)), leaders)
    return pages_table(crawl, judge, siblings, leaders, ranks, spread)


def _apart_by_items(leaders: Rows, judge: AuditJudge, edges: Rows, ranks: Rows) -> Rows:
    """Return *leaders* such that no two pages of one site are in a cluster whose items differ.

    Two of them may be like one page of another site, where only the text decides. The one that is preferred
    stays. The others are clustered apart, until no two of a cluster differ.
    """
    found = leaders.copy()
    apart = _differing(leaders, judge, ranks)
    while apart.any():
        inside = edges[apart[edges[:, 0]] & apart[edges[:, 1]]]
        again = leader_clusters(ranks, inside, lambda kept, pages: judge.judge(pages, kept).near)
        found[apart] = again[apart]
        apart = _differing(np.where(apart, again, np.arange(len(again))), judge, ranks)
    return found


def _differing(leaders: Rows, judge: AuditJudge, ranks: Rows) -> NDArray[np.bool_]:
    """Tell which pages have items unlike those of a better page of their site and cluster; bool[n]."""
    notes, sites = judge.documents.notes, judge.documents.records["site"]
    found = np.zeros(len(leaders), bool)
    rows = np.flatnonzero(np.array([bool(note) for note in notes], bool))
    rows = rows[np.lexsort((ranks[rows], sites[rows], leaders[rows]))]
    new = begins(leaders[rows]) | begins(sites[rows])
    for own in np.split(rows, np.flatnonzero(new)[1:]) if len(rows) else ():
        found[own[[*clashing(notes[row] for row in own.tolist())]]] = True
    return found


def _likeness(judgement: Judgement) -> NDArray[np.float64]:
    """Return the similarity of near-duplicates, 2 of equal texts, NaN of others; float64[n]."""
    alike = np.where(judgement.exact, 2.0, judgement.similarity.astype(np.float64))
    return np.where(judgement.near, alike, np.nan)


def _of_templates(ranks: Rows, compared: Compared) -> NDArray[np.bool_]:
    """Tell which pages a crawl would file as pages of a template, had it met them by their *ranks*; bool[n].

    Those are the pages that differ from one of lower rank but for their numbers, title or short lines.
    Nothing but an equal text repeats them: where other numbers agree, that is chance.
    """
    pairs = compared.judgement.template
    a, b = compared.a[pairs], compared.b[pairs]
    template = np.zeros(len(ranks), bool)
    template[np.where(ranks[a] < ranks[b], b, a)] = True
    return template


def _spread(crawl: Crawl, leaders: Rows) -> NDArray[np.bool_]:
    """Tell which pages are of a short text that is met on many sites; bool[n]."""
    sites = crawl.documents.records["site"].astype(np.int64)
    short = (crawl.tokens <= LONGEST) & (sites != UNKNOWN)
    pairs = np.unique(np.stack((leaders[short], sites[short]), axis=1), axis=0)
    many = np.bincount(pairs[:, 0], minlength=len(crawl)) > SITES
    return many[leaders]

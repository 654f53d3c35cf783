"""From the pages of a crawl to verdicts, clusters and pairs, and the tables of these."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.matching.records import DIGEST, filed_url
from scrapy_neardup.matching.site_counter import LONGEST, SITES
from scrapy_neardup.matching.sites import UNKNOWN

from .arrays import begins
from .canonical import Pages, canonical_ranks
from .model import CLUSTERS, NO_DISTANCE, PAGES, PAIR_KINDS, PAIRS
from .names import clashing, differ
from .pairs.compare import Groups, PairJudge, compare_all
from .pairs.components import closest_leaders, components, leader_clusters
from .thresholds import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_neardup.matching.candidates import Judgement

    from .crawl import Crawl
    from .names import Names
    from .pairs.compare import Compared
    from .settings import AuditOptions

    Rows = NDArray[np.int64]


def pages_table(
    crawl: Crawl,
    judge: PairJudge,
    siblings: NDArray[np.bool_],
    leaders: Rows,
    ranks: Rows,
    spread: NDArray[np.bool_],
) -> NDArray[Any]:
    """Return the table of pages, as `Audit.pages`, but for the numbers of clusters.

    *siblings* are the pages in a pair of a template (bool[n]), *leaders* the canonical pages of all
    (int64[n]). *ranks* say which page is preferred (int64[n]), and *spread* tells which are of a short text
    that is on many sites (bool[n]).
    """
    pages = np.zeros(len(crawl), PAGES)
    pages["url"], pages["title"] = crawl.urls, crawl.titles
    pages["declared"], pages["noindex"], pages["alternates"] = crawl.declared, crawl.noindex, crawl.alternates
    pages["rank"], pages["canonical"] = ranks, leaders
    pages["tokens"], pages["fetched"] = crawl.tokens, crawl.fetched
    pages["distance"], pages["similarity"], pages["cluster"] = NO_DISTANCE, np.nan, -1
    pages["verdict"] = "unique"
    sizes = np.bincount(leaders, minlength=len(crawl))
    alone = sizes[leaders] == 1
    pages["verdict"][siblings & alone] = "template"
    pages["verdict"][~crawl.long] = "too_short"
    pages["verdict"][(crawl.wall & crawl.long) | spread] = "wall"
    members = np.flatnonzero(leaders != np.arange(len(crawl)))
    found = judge.judge(members, leaders[members])
    pages["distance"][members], pages["similarity"][members] = found.distance, found.similarity
    filed = np.array([filed_url(url) for url in crawl.urls], "O")
    again = (filed[members] == filed[leaders[members]]).astype(bool)
    part = parts(judge, members, leaders[members], found)
    verdicts = np.select([again, found.exact, part], ["revisit", "exact", "part"], "near")
    pages["verdict"][members] = verdicts
    pages["cluster"][~alone] = 0  # numbered by `number_clusters`
    pages["handled"][members] = [_handled(pages, filed, row) for row in members.tolist()]
    pages["renamed"][members] = [
        _renamed(crawl, row, leaders[row], pages["verdict"][row] == "exact") for row in members.tolist()
    ]
    return pages


def _renamed(crawl: Crawl, page: int, kept: int, exact: bool) -> bool:
    """Tell whether the titles of two pages of one site have different words.

    Of pages with equal texts each must have one that the other lacks.
    """
    sites = crawl.documents.records["site"]
    if crawl.names is None or sites[page] != sites[kept]:
        return False
    return crawl.names.differ(page, kept) if exact else not crawl.names.are_equal(page, kept)


def _handled(pages: NDArray[Any], filed: NDArray[np.object_], row: int) -> str:
    """Return what tells search engines already that the page in *row* repeats its canonical page.

    "" is nothing. Else it is one of ``noindex``, ``canonical`` (it names that page, or what that one names)
    and ``hreflang`` (one is the other in another language or region).
    """
    page, kept = pages[row], pages[pages["canonical"][row]]
    if page["noindex"]:
        return "noindex"
    own, original = filed[row], filed[page["canonical"]]
    declared = filed_url(page["declared"]) if page["declared"] else own
    if declared != own and declared in (original, filed_url(kept["declared"] or kept["url"])):
        return "canonical"
    if original in _versions(page["alternates"]) or own in _versions(kept["alternates"]):
        return "hreflang"
    return ""


def _versions(alternates: str) -> set[str]:
    return {filed_url(url) for url in json.loads(alternates).values()} if alternates else set()


def number_clusters(pages: NDArray[Any]) -> NDArray[Any]:
    """Give the clusters of *pages* their numbers, and return their table, as `Audit.clusters`.

    The largest comes first, then by the rank of their canonical pages.
    """
    rows = np.flatnonzero(pages["cluster"] == 0)
    canonical, which, sizes = np.unique(pages["canonical"][rows], return_inverse=True, return_counts=True)
    order = np.lexsort((pages["rank"][canonical], -sizes))
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    pages["cluster"][rows] = numbers[which]
    clusters = np.zeros(len(order), CLUSTERS)
    clusters["canonical"], clusters["size"] = canonical[order], sizes[order]
    for verdict in ("exact", "near", "part", "revisit"):
        members = pages["cluster"][rows[pages["verdict"][rows] == verdict]]
        clusters[verdict] = np.bincount(members, minlength=len(order))
    return clusters


def pairs_table(judge: PairJudge, compared: Compared) -> NDArray[Any]:
    """Return the table of pairs, as `Audit.pairs`."""
    judgement = compared.judgement
    pairs = np.zeros(len(compared.a), PAIRS)
    pairs["first"], pairs["second"] = compared.a, compared.b
    pairs["distance"], pairs["similarity"] = judgement.distance, judgement.similarity
    pairs["containment"] = judgement.containment
    tokens = judge.documents.records["tokens"]
    longer = tokens[compared.a] > tokens[compared.b]
    part = parts(
        judge,
        np.where(longer, compared.b, compared.a),
        np.where(longer, compared.a, compared.b),
        judgement,
    )
    conditions = [judgement.exact, part, judgement.near, judgement.template]
    kinds = [PAIR_KINDS.index(kind) for kind in ("exact", "part", "near", "template")]
    pairs["kind"] = np.array(PAIR_KINDS)[np.select(conditions, kinds, PAIR_KINDS.index("rejected"))]
    return pairs


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

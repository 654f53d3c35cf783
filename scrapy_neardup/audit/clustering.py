"""From the pages of a crawl to verdicts, clusters and pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.matching.records import DIGEST, filed_url
from scrapy_neardup.matching.site_counter import LONGEST, SITES
from scrapy_neardup.matching.sites import UNKNOWN

from .canonical import Pages, canonical_ranks
from .evaluate.labelled import Judge
from .model import CLUSTERS, NO_DISTANCE, PAGES, PAIR_KINDS, PAIRS
from .pairs.compare import Groups, compare_all
from .pairs.components import components
from .pairs.leaders import leader_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_neardup.matching.matcher import Judgement

    from .crawl import Crawl
    from .pairs.compare import Compared
    from .settings import AuditOptions

    Rows = NDArray[np.int64]

#: A page that differs only in its numbers from this many others is a page of a template.
SIBLINGS = 3
#: Pairs are kept for review if their similarity is at most this much lower than the rules ask for.
MARGIN = 0.2


class Clustered(NamedTuple):
    """The tables that `cluster` makes; `Audit` describes them."""

    pages: NDArray[Any]
    clusters: NDArray[Any]
    pairs: NDArray[Any]


@dataclass(frozen=True)
class _Judge(Judge):
    """Asks for *least* similarity beside the rules, and of pages of a *template* (bool[n]) for equality."""

    template: NDArray[np.bool_]
    least: float

    def judge(self, a: Rows, b: Rows) -> Judgement:
        judgement = super().judge(a, b)
        near = judgement.near & (judgement.similarity >= np.float32(self.least))
        siblings = near & ~judgement.exact & (self.template[a] | self.template[b])
        return judgement._replace(near=near & ~siblings, template=judgement.template | siblings)


def cluster(crawl: Crawl, settings: AuditOptions, advance: Callable[[int], None]) -> Clustered:
    """Compare all pages and group the duplicates around their canonical pages.

    A page repeats its canonical page, as in a crawl, if it brings next to nothing new: a fuller one is in no
    cluster of an excerpt's. Pages of a template repeat nothing but equal texts. A cluster of short texts on
    many sites is a wall, as in a crawl (`scrapy_neardup.matching.site_counter`): its pages are in none.
    """
    nothing = np.zeros(len(crawl), bool)
    judge = _Judge(
        crawl.documents, crawl.long & ~crawl.wall, settings.matcher, nothing, settings.min_similarity
    )
    compared = compare_all(judge, Groups.of(judge), least=settings.least_similarity - MARGIN, advance=advance)
    judge = replace(judge, template=_of_templates(len(crawl), compared))
    compared = compared._replace(judgement=judge.either(compared.a, compared.b))
    near = compared.judgement.near
    edges = np.stack((compared.a[near], compared.b[near]), axis=1)
    pages = Pages(
        crawl.urls, crawl.declared, crawl.tokens, crawl.fetched, crawl.documents.keys[DIGEST], crawl.noindex,
        stories=components(len(crawl), edges), sites=crawl.documents.records["site"],
    )  # fmt: skip
    ranks = canonical_ranks(pages, settings.rules, settings.hosts)
    # As if the leader were stored and the page came next.
    leaders = leader_clusters(ranks, edges, lambda kept, pages: judge.judge(pages, kept).near)
    spread = _spread(crawl, leaders)
    own = np.arange(len(crawl))
    leaders = np.where(spread, own, leaders)
    table = _pages(crawl, judge, compared, leaders, ranks, spread)
    clusters = _number(table)
    return Clustered(table, clusters, _pairs(compared))


def _of_templates(count: int, compared: Compared) -> NDArray[np.bool_]:
    """Tell which pages are of a template: alike several others but for their numbers; bool[n].

    Some of those are alike even in numbers, by chance: that makes them no copies.
    """
    template = compared.judgement.template
    siblings = np.bincount(np.concatenate((compared.a[template], compared.b[template])), minlength=count)
    return siblings >= SIBLINGS


def _pages(
    crawl: Crawl,
    judge: Judge,
    compared: Compared,
    leaders: Rows,
    ranks: Rows,
    spread: NDArray[np.bool_],
) -> NDArray[Any]:
    pages = np.zeros(len(crawl), PAGES)
    pages["url"], pages["title"] = crawl.urls, crawl.titles
    pages["rank"], pages["canonical"] = ranks, leaders
    pages["tokens"], pages["fetched"] = crawl.tokens, crawl.fetched
    pages["distance"], pages["similarity"], pages["cluster"] = NO_DISTANCE, np.nan, -1
    pages["verdict"] = "unique"
    sizes = np.bincount(leaders, minlength=len(crawl))
    alone = sizes[leaders] == 1
    template = np.zeros(len(crawl), bool)
    for rows in (compared.a, compared.b):
        template[rows[compared.judgement.template]] = True
    pages["verdict"][template & alone] = "template"
    pages["verdict"][~crawl.long] = "too_short"
    pages["verdict"][(crawl.wall & crawl.long) | spread] = "wall"
    members = np.flatnonzero(leaders != np.arange(len(crawl)))
    found = judge.judge(members, leaders[members])
    pages["distance"][members], pages["similarity"][members] = found.distance, found.similarity
    filed = np.array([filed_url(url) for url in crawl.urls], "O")
    again = filed[members] == filed[leaders[members]]
    pages["verdict"][members] = np.select([again.astype(bool), found.exact], ["revisit", "exact"], "near")
    pages["cluster"][~alone] = 0  # numbered by `_number`
    return pages


def _spread(crawl: Crawl, leaders: Rows) -> NDArray[np.bool_]:
    """Tell which pages are of a short text that is met on many sites; bool[n]."""
    sites = crawl.documents.records["site"].astype(np.int64)
    short = (crawl.tokens <= LONGEST) & (sites != UNKNOWN)
    pairs = np.unique(np.stack((leaders[short], sites[short]), axis=1), axis=0)
    many = np.bincount(pairs[:, 0], minlength=len(crawl)) > SITES
    return many[leaders]


def _number(pages: NDArray[Any]) -> NDArray[Any]:
    """Give clusters their numbers, the largest first, then by the rank of their canonical pages."""
    rows = np.flatnonzero(pages["cluster"] == 0)
    canonical, which, sizes = np.unique(pages["canonical"][rows], return_inverse=True, return_counts=True)
    order = np.lexsort((pages["rank"][canonical], -sizes))
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    pages["cluster"][rows] = numbers[which]
    clusters = np.zeros(len(order), CLUSTERS)
    clusters["canonical"], clusters["size"] = canonical[order], sizes[order]
    for verdict in ("exact", "near", "revisit"):
        members = pages["cluster"][rows[pages["verdict"][rows] == verdict]]
        clusters[verdict] = np.bincount(members, minlength=len(order))
    return clusters


def _pairs(compared: Compared) -> NDArray[Any]:
    judgement = compared.judgement
    pairs = np.zeros(len(compared.a), PAIRS)
    pairs["first"], pairs["second"] = compared.a, compared.b
    pairs["distance"], pairs["similarity"] = judgement.distance, judgement.similarity
    pairs["containment"] = judgement.containment
    kinds = np.where(judgement.exact, 3, np.where(judgement.near, 2, judgement.template))
    pairs["kind"] = np.array(PAIR_KINDS)[kinds.astype(np.int64)]
    return pairs

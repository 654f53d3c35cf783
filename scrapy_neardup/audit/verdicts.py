"""The tables of an audit: what became of each page, the clusters with their numbers, the pairs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.matching.records import filed_url

from .model import CLUSTERS, NO_DISTANCE, PAGES, PAIR_KINDS, PAIRS
from .thresholds import parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .crawl import Crawl
    from .pairs.compare import Compared
    from .pairs.judge import PairJudge

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

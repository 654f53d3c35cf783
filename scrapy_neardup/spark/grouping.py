"""Components of pages, their order of preference, and clusters, each component by the audit's own code.

The components of a graph of pairs that no machine holds are found in few rounds, after Kiveris, Lattanzi,
Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond" (SoCC 2014): every round
hangs the larger neighbours of each page, then the smaller ones, on the least of them. A graph of n pages
becomes stars in O(log² n) rounds; of real crawls, whose components are small, in a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.audit.canonical import COLUMNS, RULES, Pages, earliest
from scrapy_neardup.audit.clustering import group_pages, judge_of
from scrapy_neardup.audit.components import components
from scrapy_neardup.audit.urls import release_of, split_url
from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import UNKNOWN, site_key

from .candidates import REPEATS
from .frames import (
    DOCUMENT_COLUMNS,
    crawl_of,
    keys_of,
    mapped,
    names_of,
    numbers,
    pieces,
    records_of,
    schema_of,
    texts,
    whole_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

    Rows = NDArray[np.int64]

EDGE = "a long, b long"
#: Up to so many edges are solved by one task, in some 100 MB.
ALONE = 1 << 20


def connected(edges: DataFrame, space: Workspace, alone: int = ALONE) -> DataFrame:
    """Keep the least page that each page with *edges* is connected with: ``row`` and ``component``.

    *edges* have the columns ``a`` and ``b``, in any order. Up to *alone* of them are left to one task.
    """
    count = edges.count()
    if count <= alone:
        single = mapped(edges.select("a", "b").coalesce(1), solve, "row long, component long")
        return space.keep(single, "work/components")
    stars = edges.select("a", "b")
    before: tuple[int, int] = (-1, -1)
    number = 0
    while True:
        large = mapped(_around(stars, space), larger, EDGE).distinct()
        small = mapped(_smaller(large, space), smaller, EDGE).distinct()
        number += 1
        stars = space.keep(small, f"work/stars{number}")
        space.remove(f"work/stars{number - 1}")
        now = stars.selectExpr("count(*)", "coalesce(sum(cast(xxhash64(a, b) as decimal(38))), 0)").collect()[
            0
        ]
        if (state := (int(now[0]), int(now[1]))) == before:
            break
        before = state
    leaves = stars.selectExpr("a row", "b component")
    centres = stars.selectExpr("b row", "b component").distinct()
    found = space.keep(leaves.unionByName(centres), "work/components")
    space.remove(f"work/stars{number}")
    return found


def _around(edges: DataFrame, space: Workspace) -> DataFrame:
    """Return all neighbours of each page, the least first."""
    both = edges.unionByName(edges.selectExpr("b a", "a b"))
    return space.grouped(both, ["a"], ["b"])


def _smaller(edges: DataFrame, space: Workspace) -> DataFrame:
    """Return the smaller neighbours of each page, the least first."""
    return space.grouped(edges.selectExpr("greatest(a, b) a", "least(a, b) b"), ["a"], ["b"])


def larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hang the larger neighbours of each page on the least of its neighbours and itself."""
    for a, b, least in _with_least(batches):
        wanted = b > a
        yield _edges(b[wanted], np.minimum(least, a)[wanted])


def smaller(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hang each page and its smaller neighbours on the least of these."""
    for a, b, least in _with_least(batches):
        other = b != least
        yield _edges(np.concatenate((a, b[other])), np.concatenate((least, least[other])))


def solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the component of each page of all edges."""
    import pyarrow as pa

    parts = [_arrays(batch) for batch in batches]
    if not parts:
        return
    pages, places = np.unique(np.concatenate([np.stack(part) for part in parts], axis=1), return_inverse=True)
    found = components(len(pages), places.reshape(2, -1).T)
    yield pa.RecordBatch.from_pydict({"row": pa.array(pages), "component": pa.array(pages[found])})


def _with_least(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Yield edges that come by page, with the least neighbour of each page; a page may have any number."""
    page = least = -1
    for batch in batches:
        if not batch.num_rows:
            continue
        a, b = _arrays(batch)
        starts = np.flatnonzero(np.append(True, a[1:] != a[:-1]))
        firsts = b[starts]
        if a[0] == page:
            firsts[0] = least
        page, least = int(a[-1]), int(firsts[-1])
        yield a, b, np.repeat(firsts, np.diff(starts, append=len(a)))


def _arrays(batch: pa.RecordBatch) -> tuple[Rows, Rows]:
    a, b = (batch.column(name).to_numpy(zero_copy_only=False).copy() for name in ("a", "b"))
    return a, b


def _edges(a: Rows, b: Rows) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"a": pa.array(a), "b": pa.array(b)})


_COMPARED = ("row", "url", "declared", "noindex", "fetched", "keys", "record", "site")
#: What the rules look at in one page alone. A number is the less, the more a page is preferred.
FACTS = (
    "row long, url string, noindex boolean, site long, named_elsewhere int, earliest double, "
    "decoded string, length long, longest long, digest binary, https long, hosts long, urls long, "
    "release array<long>, latest double, own string, named string"
)


def ranked(
    documents: DataFrame, components: DataFrame, involved: DataFrame, space: Workspace, settings: AuditOptions
) -> DataFrame:
    """Keep the ``rank`` of each ``page`` that is *involved*: numbers in the order of preference, with gaps.

    *components* has the ``component`` of each ``row`` with an edge; all pages of a cluster have the same.
    """
    from pyspark.sql import functions as F  # noqa: N812

    pages = documents.select(*_COMPARED)
    with_edges = pages.select("row", "site").join(components, "row")
    among = mapped(pages.join(involved, "row"), facts_of, FACTS, settings)
    among = among.withColumnRenamed("row", "number")
    facts = among.join(components.withColumnRenamed("row", "number"), "number", "left")
    facts = facts.withColumn("story", F.coalesce("component", "number"))
    declared = documents.where("declared <> ''").select("declared")
    targets = mapped(declared, without_fragments, "own string").distinct()
    facts = facts.join(targets.withColumn("target", F.lit(1)), "own", "left")
    standing = F.when(F.col("named") == F.col("own"), 0).when(F.col("named") != "", 2)
    facts = facts.withColumn("declared", standing.when(F.col("target") == 1, 0).otherwise(1))
    stories = facts.groupBy("story", "site").agg(
        F.max("named_elsewhere").alias("of_other"),
        F.min("earliest").alias("first"),
        F.min(F.struct("length", "decoded", "url", "number")).alias("least"),
    )
    shares = _own_shares(with_edges, pages, components)
    facts = facts.join(stories, ["story", "site"]).join(shares, "site")
    order: list[Column] = [F.col("noindex")]
    rules = RULES if settings.rules is None else settings.rules
    for rule in rules:
        order += _columns(rule)
    if "alphabetical" not in rules:
        order += _columns("alphabetical")
    order += [F.col("earliest"), F.col("longest"), F.col("digest"), F.col("number")]
    names = [f"p{place}" for place in range(len(order))]
    sortable = facts.select("number", *(each.alias(name) for each, name in zip(order, names, strict=True)))
    return space.numbered(sortable, names, "work/ranks").selectExpr("number page", "row rank")


def _columns(rule: str) -> list[Column]:
    """Return the columns of a rule, the most significant first, that ascend from the preferred page on."""
    from pyspark.sql import functions as F  # noqa: N812

    site = [F.col("site") == UNKNOWN, F.col("of_other"), F.col("first"), -F.col("share"), F.col("least")]
    columns = {
        "site": site,
        "longest": [F.col("longest")],
        "earliest": [F.col("earliest")],
        "shortest": [F.col("length")],
        "alphabetical": [F.col("decoded"), F.col("url")],
        "latest": [F.col("release"), F.col("latest")],
    }
    return columns.get(rule, [F.col(rule)])


def _own_shares(with_edges: DataFrame, pages: DataFrame, components: DataFrame) -> DataFrame:
    """Return for each site the ``share`` of its stories that no other site has."""
    from pyspark.sql import functions as F  # noqa: N812

    stories = with_edges.select("component", "site").distinct()
    sites = stories.groupBy("component").agg(F.count("*").alias("sites"))
    shared = stories.join(sites, "component").selectExpr("site", "1 stories", "int(sites = 1) alone")
    single = pages.select("row", "site").join(components, "row", "left_anti")
    each = shared.unionByName(single.selectExpr("site", "1 stories", "1 alone"))
    return each.groupBy("site").agg((F.sum("alone") / F.sum("stories")).alias("share"))


def without_fragments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the URLs that pages name as canonical, without their fragments."""
    import pyarrow as pa

    for batch in batches:
        own = [urldefrag(url).url for url in texts(batch, "declared")]
        yield pa.RecordBatch.from_pydict({"own": pa.array(own, pa.string())})


def facts_of(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Look at each page alone, with the columns of the rules where these are of one page."""
    import pyarrow as pa

    for batch in batches:
        header, count = settings.header, batch.num_rows
        urls, declared = texts(batch, "url"), texts(batch, "declared")
        sites, digests = numbers(batch, "site"), keys_of(batch, header)[DIGEST]
        pages = Pages(
            urls, declared, records_of(batch, header)["tokens"], numbers(batch, "fetched"), digests,
            numbers(batch, "noindex"), np.arange(count), sites,
        )  # fmt: skip
        named = np.array([site_key(url) if url else UNKNOWN for url in declared], np.int64)
        own, other = ([urldefrag(url).url if url else "" for url in each] for each in (urls, declared))
        decoded = [unquote(url) for url in urls]
        single: dict[str, Any] = {
            rule: COLUMNS[rule](pages, wished)
            for rule, wished in (("https", ()), ("hosts", settings.hosts), ("urls", settings.urls))
        }
        single = {name: found[0] if found else np.zeros(count, np.int64) for name, found in single.items()}
        releases = [release_of(url).order for url in urls]
        yield pa.RecordBatch.from_pydict(
            {
                "row": batch.column("row"),
                "url": batch.column("url"),
                "noindex": batch.column("noindex"),
                "site": batch.column("site"),
                "named_elsewhere": pa.array(((named != UNKNOWN) & (named != sites)).astype(np.int32)),
                "earliest": pa.array(earliest(pages, ())[0]),
                "decoded": pa.array(decoded, pa.string()),
                "length": pa.array([*map(len, decoded)], pa.int64()),
                "longest": pa.array(COLUMNS["longest"](pages, ())[0]),
                "digest": pa.array(pieces(digests.astype(">u8")), pa.binary()),
                **{name: pa.array(found) for name, found in single.items()},
                "release": pa.array([_descending(release) for release in releases], pa.list_(pa.int64())),
                "latest": pa.array(COLUMNS["latest"](pages, ())[1]),
                "own": pa.array(own, pa.string()),
                "named": pa.array(other, pa.string()),
            }
        )


def _descending(release: tuple[int, ...]) -> list[int]:
    """Return numbers that ascend from the newest release on, as tuples of the release descend."""
    # A tuple sorts before a longer one that it begins, so in reverse its end comes after any number.
    return [*(-number for number in release), _END]


#: More than any number of a release, negated.
_END = 1 << 62


_SHOWN = ("url", "title", "declared", "alternates", "noindex", "fetched")
#: What becomes known of a page. The columns from ``size`` on are set of the canonical page of a cluster.
GROUPED = (
    "row long, url string, verdict string, leader long, canonical string, distance int, similarity float, "
    "tokens long, fetched double, title string, noindex boolean, declared string, hreflang string, "
    "handled string, renamed boolean, kept_noindex boolean, copies long, rank long, host string, "
    "size long, exact long, near long, part long, revisit long, hosts long, members array<string>"
)
_COUNTED = ("exact", "near", "part", "revisit")


def flags(pairs: DataFrame, ranks: DataFrame) -> DataFrame:
    """Return which pages are in a pair of a template, and which of these a crawl would file as its pages."""
    from pyspark.sql import functions as F  # noqa: N812

    template = pairs.where("kind = 'template'").select("a", "b")
    for side in "ab":
        template = template.join(ranks.selectExpr(f"page {side}", f"rank rank_{side}"), side)
    sides = template.selectExpr("a row", "rank_a > rank_b template").unionByName(
        template.selectExpr("b row", "rank_b > rank_a template")
    )
    return sides.groupBy("row").agg(F.max("template").alias("template"))


def grouped(
    documents: DataFrame,
    pairs: DataFrame,
    components: DataFrame,
    ranks: DataFrame,
    space: Workspace,
    settings: AuditOptions,
) -> DataFrame:
    """Keep `GROUPED` of all pages. Those without edges are looked at where they are."""
    notes = (
        components.join(flags(pairs, ranks).withColumn("sibling", _true()), "row", "full")
        .join(ranks.withColumnRenamed("page", "row"), "row", "full")
        .selectExpr(
            "row",
            "component",
            "coalesce(template, false) template",
            "coalesce(sibling, false) sibling",
            "rank",
        )
    )
    pages = documents.select(*DOCUMENT_COLUMNS, *_SHOWN).join(notes, "row", "left")
    pages = pages.selectExpr(
        *DOCUMENT_COLUMNS, *_SHOWN, "component", "coalesce(template, false) template",
        "coalesce(sibling, false) sibling", "coalesce(rank, 0) rank", "cast(null as long) a",
        "cast(null as long) b",
    )  # fmt: skip
    edges = (
        pairs.where(REPEATS).join(components.withColumnRenamed("row", "a"), "a").select("component", "a", "b")
    )
    together = pages.where("component is not null").unionByName(edges, allowMissingColumns=True)
    connected = mapped(space.grouped(together, ["component"], ["rank"]), group_components, GROUPED, settings)
    alone = mapped(pages.where("component is null"), group_alone, GROUPED, settings)
    return space.keep(connected.unionByName(alone), "work/grouped")


def _true() -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(True)


def group_components(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages that come with the edges between them, component by component."""
    # No name holds the table of a component beside its pages, which are a copy.
    for pages, edges in map(_pages_and_edges, whole_groups(batches, ["component"])):
        yield _group(pages, edges, settings)


def _pages_and_edges(table: pa.Table) -> tuple[pa.Table, Any]:
    import pyarrow.compute as pc

    is_edge = pc.is_valid(table.column("a"))
    edges = table.select(["a", "b"]).filter(is_edge)
    return table.filter(pc.invert(is_edge)), np.stack([numbers(edges, name) for name in "ab"], axis=1)


def group_alone(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages without edges, each by itself."""
    for batch in batches:
        if batch.num_rows:
            yield _group(batch, np.empty((0, 2), np.int64), settings)


def _group(pages: Any, edges: Any, settings: AuditOptions) -> pa.RecordBatch:
    import pyarrow as pa

    header, rows = settings.header, numbers(pages, "row")
    shown = {name: texts(pages, name) for name in _SHOWN}
    documents = Documents(
        keys_of(pages, header), records_of(pages, header), shown["url"], texts(pages, "note")
    )
    crawl = crawl_of(
        documents,
        numbers(pages, "wall"),
        names_of(pages),
        settings,
        urls=shown["url"],
        titles=shown["title"],
        declared=shown["declared"],
        alternates=shown["alternates"],
        noindex=numbers(pages, "noindex"),
        fetched=numbers(pages, "fetched"),
    )
    order = np.argsort(rows)
    places = order[np.searchsorted(rows[order], edges)]
    judge = judge_of(crawl, settings, numbers(pages, "template"))
    ranks = numbers(pages, "rank")
    table = group_pages(crawl, judge, places, ranks, numbers(pages, "sibling"))
    leaders = table["canonical"]
    sizes = np.bincount(leaders, minlength=len(table))
    compared = ~np.isnan(table["similarity"])
    inside = table["cluster"] >= 0
    lists = _members(table, sizes)
    columns: dict[str, Any] = {
        "row": rows,
        "url": shown["url"],
        "verdict": table["verdict"],
        "leader": rows[leaders],
        "canonical": _where(table["url"][leaders], inside),
        "distance": _where(table["distance"], compared),
        "similarity": _where(table["similarity"], compared),
        "tokens": table["tokens"],
        "fetched": _where(table["fetched"], ~np.isnan(table["fetched"])),
        "title": shown["title"],
        "noindex": shown["noindex"],
        "declared": [each or None for each in shown["declared"]],
        "hreflang": [each or None for each in shown["alternates"]],
        "handled": [each or None for each in table["handled"].tolist()],
        "renamed": table["renamed"],
        "kept_noindex": table["noindex"][leaders],
        "copies": np.where(inside, sizes[leaders] - 1, 0),
        "rank": ranks,
        "host": [split_url(url).host for url in shown["url"]],
        "size": _where(sizes, sizes > 1),
        **{
            verdict: _where(
                np.bincount(leaders[inside & (table["verdict"] == verdict)], minlength=len(table)),
                sizes > 1,
            )
            for verdict in _COUNTED
        },
        "hosts": [None if each is None else len({split_url(url).host for url in each}) for each in lists],
        "members": lists,
    }
    return pa.RecordBatch.from_pydict(columns, schema_of(GROUPED))


def _members(table: Any, sizes: Any) -> list[list[str] | None]:
    """Return for each page the URLs of the cluster that it leads, its own first; None if it leads none."""
    found: list[list[str] | None] = [None] * len(table)
    rows = np.flatnonzero(sizes[table["canonical"]] > 1)
    rows = rows[np.lexsort((table["rank"][rows], table["canonical"][rows]))]
    leaders, starts = np.unique(table["canonical"][rows], return_index=True)
    ends = np.append(starts[1:], len(rows)).tolist()
    for leader, start, end in zip(leaders.tolist(), starts.tolist(), ends, strict=False):
        found[leader] = table["url"][rows[start:end]].tolist()
    return found


def _where(values: Any, wanted: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, mask=~wanted)

"""A crawl of any size, made up at once: copies under parameters, on other hosts and in other versions."""

from __future__ import annotations

import numpy as np

from scrapy_neardup.audit.model import CLUSTERS, PAGES, PAIR_KINDS, PAIRS, VERDICTS, Input
from scrapy_neardup.audit.output.report import Particulars, ReportData

from .crawl import text


def large_crawl(count: int = 100_000, clusters: int = 10_000) -> ReportData:
    """Make *count* pages, four in ten of them in *clusters* clusters."""
    rng = np.random.default_rng(7)
    sizes = 2 + rng.geometric(0.5, clusters)
    sizes[0] = count // 50
    in_clusters = int(min(sizes.sum(), count * 0.6))
    sizes = sizes[np.cumsum(sizes) <= in_clusters]
    labels = np.full(count, -1, np.int32)
    members = np.repeat(np.arange(len(sizes)), sizes)
    labels[: len(members)] = members
    canonical = (np.cumsum(sizes) - sizes).astype(np.int32)
    own = canonical[members]
    place = np.arange(len(members)) - own
    exact = (rng.random(len(members)) < 0.4) & (place > 0)
    verdicts = np.zeros(count, np.uint8)
    verdicts[: len(members)] = np.where(place == 0, 0, np.where(exact, 1, 2))
    verdicts[len(members) :] = rng.choice(8, count - len(members), p=[0.9, 0, 0, 0, 0.04, 0.02, 0.03, 0.01])
    distances = np.full(count, 255, np.uint8)
    distances[: len(members)] = np.where(exact, 0, rng.integers(0, 4, len(members)))
    similarities = np.full(count, np.nan, np.float32)
    similarities[: len(members)] = np.where(exact, 1, 0.8 + 0.2 * rng.random(len(members)) ** 0.5)
    heads = place == 0
    distances[: len(members)][heads], similarities[: len(members)][heads] = 255, np.nan
    story = np.concatenate((members, np.arange(clusters, clusters + count - len(members))))
    step = np.concatenate((place, np.zeros(count - len(members), np.int64)))
    urls = [
        _url(s, p, e) for s, p, e in zip(story.tolist(), step.tolist(), (verdicts == 1).tolist(), strict=True)
    ]
    others = np.flatnonzero(place > 0)
    odd = rng.integers(0, count, (count // 5, 2))
    first = np.concatenate((own[others], odd[:, 0]))
    second = np.concatenate((others, odd[:, 1]))
    kinds = np.where(exact[others], PAIR_KINDS.index("exact"), PAIR_KINDS.index("near"))
    pages = np.zeros(count, PAGES)
    pages["url"], pages["title"] = urls, [_title(s) for s in story.tolist()]
    pages["verdict"], pages["cluster"], pages["rank"] = np.array(VERDICTS)[verdicts], labels, np.arange(count)
    pages["distance"], pages["similarity"] = distances, similarities
    pages["tokens"] = rng.integers(50, 1500, count)
    pages["fetched"] = 1_760_000_000 + rng.random(count) ** 0.5 * 86_400 * 200
    groups = np.zeros(len(canonical), CLUSTERS)
    groups["canonical"] = canonical
    pairs = np.zeros(len(first), PAIRS)
    pairs["first"], pairs["second"] = first, second
    pairs["distance"] = np.concatenate((distances[others], rng.integers(1, 8, len(odd))))
    pairs["similarity"] = np.concatenate((similarities[others], 0.5 + 0.35 * rng.random(len(odd))))
    pairs["kind"] = np.array(PAIR_KINDS)[np.concatenate((kinds, rng.integers(0, 2, len(odd))))]
    return ReportData(
        pages,
        groups,
        pairs,
        lambda page: text(int(story[page]), 0 if verdicts[page] < 2 else int(step[page]), 450),
        Particulars(
            inputs=[
                (Input("crawl-1.warc.gz", "WARC"), count // 2),
                (Input("feeds/*.jl.gz", "feed"), count - count // 2),
            ],
            max_distance=3,
            min_similarity=0.8,
            version="0.1.0",
            settings={
                "Extractor": "trafilatura 2.0.0",
                "Tokens, at least": "50",
                "Canonical": "https, longest text",
            },
            problems=[("crawl-1.warc.gz", f"record {i}", "truncated gzip member") for i in range(40)],
        ),
    )


def _title(story: int) -> str:
    return text(story, 0, 12).split(".")[0][:60]


def _url(story: int, place: int, exact: bool) -> str:
    host = ("www.herald.example", "city-news.example", "wire.example", "blog.example")[story % 4]
    slug = _title(story).lower().replace(" ", "-")
    if exact:
        return f"https://{host}/news/2026/{slug}-{story}?" + (
            f"sessionid={place * 7919}" if place % 2 else f"utm_source=s{place}"
        )
    if place == 0:
        return f"https://{host}/news/2026/{slug}-{story}"
    if place % 3 == 0:
        return f"https://{host}/print/{slug}-{story}?id={place}"
    return f"https://{('aggregator.example', 'mirror.example')[place % 2]}/story/{story}{place}"

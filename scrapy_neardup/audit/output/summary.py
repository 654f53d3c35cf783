"""Makes the summary of an audit: totals, figures by host, and the largest clusters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import HANDLED, VERDICTS
from scrapy_neardup.audit.thresholds import in_words
from scrapy_neardup.audit.urls import split_url

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.audit.model import Audit
    from scrapy_neardup.audit.settings import AuditOptions

#: Problems listed in the summary; all are in problems.jsonl.
PROBLEMS = 100
LARGEST = 20


def summarise(audit: Audit) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    from scrapy_neardup import __version__

    settings = audit.settings
    pages = audit.pages
    return {
        "version": __version__,
        "settings": settings_of(settings),
        "sources": [{"name": each.name, "kind": each.kind, "pages": count} for each, count in audit.inputs],
        "pages": len(pages),
        "verdicts": count_verdicts(pages["verdict"]),
        "handled": handled(audit),
        "boilerplate": [
            {
                "host": split_url(pages["url"][each.pages[0]]).host,
                "paragraphs": each.paragraphs,
                "pages": len(each.pages),
                "example": each.example,
            }
            for each in audit.boilerplate
        ],
        "clusters": len(audit.clusters),
        "pairs": _kinds(audit),
        "skipped": audit.skipped,
        "problems": len(audit.problems),
        "first_problems": [
            {"file": file, "place": place, "reason": reason}
            for file, place, reason in audit.problems[:PROBLEMS]
        ],
        "hosts": count_hosts(pages),
        "largest_clusters": [
            {"cluster": number, "size": size, "canonical": str(pages["url"][row])}
            for number, (row, size) in enumerate(audit.clusters[["canonical", "size"]][:LARGEST].tolist())
        ],
    }


def settings_of(settings: AuditOptions) -> dict[str, Any]:
    """Return what an audit was asked for."""
    return {
        "scheme": settings.loaded_scheme.name,
        "distance": settings.distance,
        "min_similarity": settings.min_similarity,
        "asked": in_words(settings.min_similarity) if settings.verified else None,
        "drop_similarity": settings.drop_similarity,
        "indexable_only": settings.indexable_only,
        "verified": settings.verified,
        "extractor": settings.extractor,
        "include_area": list(settings.include_area),
        "exclude_area": list(settings.exclude_area),
        "min_tokens": settings.min_tokens,
        "seed": settings.header.seed,
        "rules": list(settings.rules) if settings.rules is not None else None,
        "hosts": list(settings.hosts),
    }


def count_hosts(pages: NDArray[Any]) -> list[dict[str, Any]]:
    """Return how many *pages* of each verdict every host has, those with the most duplicates first."""
    counts: dict[str, Counter[str]] = {}
    for url, verdict in zip(pages["url"].tolist(), pages["verdict"].tolist(), strict=True):
        counts.setdefault(split_url(url).host, Counter())[verdict] += 1
    rows = [
        {"host": host, "pages": found.total(), **{name: found[name] for name in VERDICTS}}
        for host, found in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row["exact"] - row["near"], -row["pages"], row["host"]))


def count_verdicts(verdicts: NDArray[Any]) -> dict[str, int]:
    """Return how many there are of each verdict."""
    found, counts = np.unique(verdicts, return_counts=True)
    return dict.fromkeys(VERDICTS, 0) | dict(zip(found.tolist(), counts.tolist(), strict=True))


def handled(audit: Audit) -> dict[str, int]:
    """Return how many repeats search engines know of, by what tells them, and how many are ``to_fix``."""
    pages = audit.pages
    repeats = pages[np.isin(pages["verdict"], ("exact", "near"))]
    counts = {name: int((repeats["handled"] == name).sum()) for name in HANDLED}
    return counts | {"to_fix": int((repeats["handled"] == "").sum())}


def _kinds(audit: Audit) -> dict[str, int]:
    found, counts = np.unique(audit.pairs["kind"], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))

"""What the report shows of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .report import PAIR_KINDS, VERDICTS, Pages, Pairs, Problem, ReportData, Source, Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.audit.run import Audit

#: Problems listed.
PROBLEMS = 1000


def report_data(audit: Audit) -> ReportData:
    """Return the results in columns; nothing that differs from run to run."""
    from scrapy_neardup import __version__

    pages, pairs, settings = audit.pages, audit.pairs, audit.settings
    return ReportData(
        pages=Pages(
            urls=pages["url"].tolist(),
            titles=pages["title"].tolist(),
            verdicts=_positions(pages["verdict"], VERDICTS),
            clusters=pages["cluster"],
            ranks=pages["rank"],
            distances=pages["distance"],
            similarities=pages["similarity"],
            tokens=pages["tokens"],
            fetched=pages["fetched"],
        ),
        canonical=audit.clusters["canonical"].astype(np.int32),
        pairs=Pairs(
            first=pairs["first"].astype(np.int32),
            second=pairs["second"].astype(np.int32),
            distances=pairs["distance"],
            similarities=pairs["similarity"],
            kinds=_positions(pairs["kind"], PAIR_KINDS),
        ),
        text=audit.text,
        summary=Summary(
            sources=[Source(each.name, each.kind, count) for each, count in audit.inputs],
            max_distance=settings.distance,
            min_similarity=settings.least_similarity,
            version=__version__,
            settings={
                "Scheme": settings.loaded_scheme.name,
                "Extractor": settings.extractor,
                "Shortest text": f"{settings.min_tokens} tokens",
                "Canonical page": ", ".join(settings.rules) if settings.rules is not None else "by all rules",
                **({"Preferred hosts": ", ".join(settings.hosts)} if settings.hosts else {}),
            },
            problems=[Problem(*each) for each in audit.problems[:PROBLEMS]],
            skipped=len(audit.problems),
        ),
    )


def _positions(names: NDArray[np.str_], among: Sequence[str]) -> NDArray[np.uint8]:
    positions = np.zeros(len(names), np.uint8)
    for position, name in enumerate(among):
        positions[names == name] = position
    return positions

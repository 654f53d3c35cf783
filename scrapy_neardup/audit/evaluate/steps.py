"""Which step of judging decided what became of a pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.explaining import reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.audit.pairs.judge import PairJudge
    from scrapy_neardup.matching.candidates import Judgement


def steps(judge: PairJudge, a: NDArray[np.int64], b: NDArray[np.int64], judgement: Judgement) -> list[str]:
    """Say what decided each pair of rows *a* and *b* (int64[m] each).

    *judge* judged them as *judgement* says. What is judged near but is not in *judgement* was never compared.
    """
    records = judge.documents.records
    tokens = np.minimum(records["tokens"][a], records["tokens"][b])
    # Without verification, near-duplicates are what the scheme takes for candidates.
    candidate = replace(judge, matcher=replace(judge.matcher, verified=False)).judge(a, b).near
    never_compared = judge.judge(a, b).near & ~judgement.near
    found = []
    for row, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if not (judge.fit[one] and judge.fit[other]):
            short = tokens[row] < judge.matcher.min_tokens
            found.append(
                f"too short: {tokens[row]} tokens" if short else "a wall: captcha, log-in, error page"
            )
        elif judgement.exact[row]:
            found.append("equal texts")
        elif never_compared[row] or not candidate[row]:
            found.append(_no_candidate(judge, int(judgement.distance[row])))
        elif judge.matcher.verified:
            found.append(reason(judge.told(one, other)))
        else:
            found.append("a candidate")
    return found


def _no_candidate(judge: PairJudge, distance: int) -> str:
    scheme = judge.matcher.scheme
    bits = f"fingerprints {distance} bits apart" if scheme.simhash else ""
    keys = ("no long shingle" if scheme.simhash else "too few bands") + " shared" if scheme.keys else ""
    return f"no candidate: {', '.join(filter(None, (bits, keys)))}"

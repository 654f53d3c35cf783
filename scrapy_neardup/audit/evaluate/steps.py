"""Which step of judging decided what became of a pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.thresholds import apart, asked
from scrapy_neardup.fingerprint.filters import NUMBERS
from scrapy_neardup.matching.sites import UNKNOWN

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
    scheme = judge.matcher.scheme
    # Without verification, near-duplicates are what the scheme takes for candidates.
    candidate = replace(judge, matcher=replace(judge.matcher, verified=False)).judge(a, b).near
    alone = judge.judge(a, b).near
    missing, numbers = NUMBERS.substituted(records["numbers"][a], records["numbers"][b])
    sites = records["site"]
    elsewhere = (sites[a] != sites[b]) & (sites[a] != UNKNOWN) & (sites[b] != UNKNOWN)
    least = np.where(elsewhere, asked(tokens, elsewhere=True), asked(tokens))
    found = []
    for row in range(len(a)):
        if not (judge.fit[a[row]] and judge.fit[b[row]]):
            short = tokens[row] < judge.matcher.min_tokens
            found.append(
                f"too short: {tokens[row]} tokens" if short else "a wall: captcha, log-in, error page"
            )
        elif judgement.exact[row]:
            found.append("equal texts")
        elif judgement.near[row]:
            found.append("a candidate, and alike enough" if judge.matcher.verified else "a candidate")
        elif not candidate[row] or alone[row]:
            bits = f"fingerprints {judgement.distance[row]} bits apart" if scheme.simhash else ""
            keys = (
                ("no long shingle" if scheme.simhash else "too few bands") + " shared" if scheme.keys else ""
            )
            found.append(f"no candidate: {', '.join(filter(None, (bits, keys)))}")
        elif judgement.fuller[row]:
            found.append("fuller: it has most of the stored one, and more")
        elif judgement.template[row]:
            found.append(
                f"alike but for other numbers, as pages of a template: {missing[row]:.0f} of "
                f"{numbers[row]:.0f} substituted"
            )
        elif judge.matcher.verified and (said := apart(judge.told(a[row], b[row]))):
            found.append(said)
        else:
            found.append(
                f"not alike enough: similarity {judgement.similarity[row]:.2f}, where {least[row]:.2f} is "
                f"asked as a rule; containment {judgement.containment[row]:.2f}"
            )
    return found

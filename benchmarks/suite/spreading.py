"""How evenly the bits of fingerprints spread, by language: how much of an index one probe meets."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.fingerprint import Features, Fingerprinter
from scrapy_neardup.index.tables import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import MainText, Weight

#: A text has as many fingerprints, of different seeds: so many times 64 bits tell how much two texts agree.
SEEDS = 8
#: At most so many texts of a language.
TEXTS = 400
WEIGHTS: tuple[Weight, ...] = ("keywords", "tf", "sqrt", "set")


def table(texts: Mapping[str, Sequence[str | MainText]]) -> Iterator[str]:
    """Yield the lines of a table, a row for each language; *texts* of a language are on different things."""
    yield "### Bits of fingerprints\n"
    tables = tuple(LAYOUTS)[:2]
    titles = [f"{weight}, {count} tables" for weight, count in product(WEIGHTS, tables)]
    yield f"| language | texts | bits that agree | {' | '.join(titles)} |"
    yield "|---|---|---|" + "---|" * len(titles)
    uniform = " | ".join(f"{compared(np.array([0.5]), count):.3g}" for _, count in product(WEIGHTS, tables))
    yield f"| *uniform* | | .500 | {uniform} |"
    for language, found in sorted(texts.items()):
        shares = {weight: agreement(signed(found[:TEXTS], weight)) for weight in WEIGHTS}
        cells = [f"{compared(shares[weight], count):.3g}" for weight, count in product(WEIGHTS, tables)]
        row = (language, len(found[:TEXTS]), f"{shares[WEIGHTS[0]].mean():.3f}", *cells)
        yield f"| {' | '.join(map(str, row))} |"
    yield ""


def signed(texts: Sequence[str | MainText], weight: Weight) -> NDArray[np.bool_]:
    """Return the bits of the fingerprints of *texts*; bool[texts, 64 × seeds]."""
    columns = []
    for seed in range(SEEDS):
        made = Fingerprinter(Features(weight=weight), seed).signatures(texts)
        marks = np.array([each.fingerprint for each in made], "<u8")
        columns.append(np.unpackbits(marks.view(np.uint8)).reshape(len(texts), -1))
    return np.hstack(columns).astype(bool)


def agreement(bits: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return which share of their bits each two texts have in common; float64[pairs]."""
    signs = np.where(bits, 1.0, -1.0)
    shares = (signs @ signs.T / bits.shape[1] + 1) / 2
    pairs: NDArray[np.float64] = shares[np.triu_indices(len(bits), 1)]
    return pairs


def compared(shares: NDArray[np.float64], tables: int) -> float:
    """Compute with how many of a million a probe is compared, if each bit agrees with such a chance."""
    return float(sum((shares**bits).mean() for bits in LAYOUTS[tables].prefix_bits) * 1e6)

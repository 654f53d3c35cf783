"""The inputs of measurements: real pages and texts if there are any, else those of the example network."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index import Header
from scrapy_neardup.index.protocol import Documents

EXAMPLE = Path(__file__).parents[2] / "example_project"
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
#: How many ways there are to rewrite a text.
VARIANTS = len(_VOWELS) * len(_CONSONANTS)
_PROSE = re.compile(r">[^<>]{40,}<")


def pages(data: Path | None) -> list[str]:
    """Return HTML pages, each with other text."""
    if data is not None:
        with gzip.open(data / "derived_syndication" / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line)["html"] for line in lines]
    return [rewrite_html(page, variant) for variant in range(VARIANTS) for page in _example_pages()]


def texts(data: Path | None) -> list[str]:
    """Return main texts, all of them different."""
    if data is not None:
        found = []
        for name in ("derived_syndication/gold", "senate_press/docs"):
            with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
                found += [json.loads(line)["text"] for line in lines]
        order = np.random.default_rng(1).permutation(len(found))
        return [found[place] for place in order.tolist()]
    articles = [path.read_text("utf-8") for path in sorted((EXAMPLE / "network" / "articles").glob("*.txt"))]
    articles = [text for text in articles if rewrite(text, 1) != text]
    return [rewrite(text, variant) for variant in range(VARIANTS) for text in articles]


def rewrite(text: str, variant: int) -> str:
    """Put other letters in the place of those of *text*: another text, of words as long and as frequent."""
    return text.translate(_letters(variant))


def rewrite_html(html: str, variant: int) -> str:
    """Rewrite the prose of a page, and leave its mark-up as it is."""
    return _PROSE.sub(lambda found: rewrite(found[0], variant), html) if variant else html


@lru_cache(maxsize=VARIANTS)
def _letters(variant: int) -> dict[int, str]:
    consonants, vowels = divmod(variant % VARIANTS, len(_VOWELS))
    table = {}
    for letters, by in ((_VOWELS, vowels), (_CONSONANTS, consonants)):
        for place, letter in enumerate(letters):
            other = letters[(place + by) % len(letters)]
            table |= {ord(letter): other, ord(letter.upper()): other.upper()}
    return table


def fingerprints(count: int) -> NDArray[np.uint64]:
    """Random ones; uint64[count]. The first of a larger number are not those of a smaller."""
    return np.random.default_rng(count).integers(0, 2**64, count, np.uint64)


def queries(stored: NDArray[np.uint64], count: int, distance: int, seed: int) -> NDArray[np.uint64]:
    """Return uint64[count]: every other is a stored one with up to *distance* bits flipped, others random."""
    dice = np.random.default_rng(seed)
    wanted = dice.integers(0, 2**64, count, np.uint64)
    near = stored[dice.integers(0, len(stored), len(wanted[::2]))]
    for _ in range(distance):
        near ^= np.uint64(1) << dice.integers(0, 64, len(near), np.uint64)
    wanted[::2] = near
    return wanted


def documents(header: Header, count: int, seed: int) -> Documents:
    """Return *count* documents that have nothing in common, as an index with *header* stores them."""
    from scrapy_neardup.index import Documents

    dice = np.random.default_rng(seed)
    records = np.frombuffer(dice.bytes(count * header.dtype.itemsize), header.dtype).copy()
    records["scope"] = records["flags"] = 0
    records["time"] = 1_700_000_000 + np.arange(count) // 50  # so many pages a second
    records["tokens"] = records["runs"] = records["shingles"] = dice.integers(100, 2000, count)
    for name, bits in (("numbers", 16), ("figures", 16), ("words", 66), ("title", 32)):  # as in pages of news
        sketch = records[name].view(np.uint8)
        sketch[:] = 0
        for place in dice.integers(0, 8 * sketch.shape[1], (bits, count)):
            sketch[np.arange(count), place // 8] ^= (1 << place % 8).astype(np.uint8)
    keys = dice.integers(0, 2**64 - 1, (header.keys, count), np.uint64)
    return Documents(keys, records, list(itertools.islice(urls(seed), count)), [b""] * count)


def urls(seed: int) -> Iterator[str]:
    """Yield URLs as news sites have them, some 75 characters long."""
    dice = np.random.default_rng(seed)
    syllables = [a + b for a in _CONSONANTS for b in _VOWELS]
    words = ["".join(syllables[each] for each in row) for row in dice.integers(0, 105, (4096, 3)).tolist()]
    for block in itertools.count():
        drawn = dice.integers(0, 4096, (4096, 6)).tolist()
        for place, (host, *slug) in enumerate(drawn):
            number = f"{seed}{block:04}{place:04}"
            yield (
                f"https://www.{words[host % 500]}.example/news/20{host % 20 + 10}/{host % 12 + 1:02}/"
                f"{'-'.join(words[each] for each in slug)}-{number}"
            )


@lru_cache(maxsize=1)
def _example_pages() -> tuple[str, ...]:
    """Return the articles in Latin letters, which `rewrite` makes others of."""
    sys.path.append(str(EXAMPLE))
    from site_pages import load_network

    found = [
        site.render(page.plain_path, "http://127.0.0.1")
        for site in load_network()
        for page in site.pages
        if "article" in page.row and site.language == "en"
    ]
    return tuple(page for page in found if page)

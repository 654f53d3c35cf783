"""Other implementations' published values come out of this vote, fed with their hashes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import mmh3
import numpy as np
import pytest

from scrapy_neardup.fingerprint import hamming, vote

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOZ = json.loads((Path(__file__).parents[1] / "known_answers" / "moz.json").read_text(encoding="utf-8"))


def md5(features: list[str], shift: int = 0) -> NDArray[np.uint64]:
    """Low 64 bits, after *shift*, of the MD5 digest read as a big-endian number."""
    numbers = [
        int(hashlib.md5(feature.encode(), usedforsecurity=False).hexdigest(), 16) for feature in features
    ]
    return np.array([number >> shift & (2**64 - 1) for number in numbers], np.uint64)


@pytest.mark.parametrize("vector", MOZ["compute"], ids=lambda vector: vector["case"])
def test_moz_compute(vector: dict[str, object]) -> None:
    hashes = [int(value, 16) for value in vector["hashes"]] * vector["repeat"]  # type: ignore[attr-defined, operator]
    assert vote(np.array(hashes, np.uint64)) == int(str(vector["fingerprint"]), 16)


def test_moz_differing_bits() -> None:
    known = MOZ["differing_bits"]
    assert hamming(int(known["a"], 16), int(known["b"], 16)) == known["bits"]


@pytest.mark.parametrize("name", ["find_all", "find_all_diverse"])
def test_moz_pairs_are_those_within_the_distance(name: str) -> None:
    known = MOZ[name]
    hashes = np.array([int(value, 16) for value in known["hashes"]], np.uint64)
    within = np.argwhere(np.triu(hamming(hashes[:, None], hashes) <= known["distance"], 1))
    found = {frozenset((int(hashes[i]), int(hashes[j]))) for i, j in within}
    assert found == {frozenset(int(value, 16) for value in pair) for pair in known["pairs"]}


# https://github.com/1e0ng/simhash, commit 78f3b8d (2022), tests/test_simhash.py; values retyped


def test_1e0ng_two_words() -> None:
    assert vote(md5(["aaa", "bbb"])) == 57087923692560392


def test_1e0ng_many_features() -> None:
    assert vote(md5([str(i) for i in range(500)])) == 7984652473404407437


def test_1e0ng_weighted_features() -> None:
    weights = np.array([50 * i for i in range(500)], np.float64)
    assert vote(md5([str(i) for i in range(500)]), weights) == 3372825719632739723


# https://github.com/internetarchive/wayback-discover-diff, commit 0060bda (2025), tests/test_discover.py;
# value retyped. The vote is 64 bits wide; since every bit is voted on its own, 128 bits are two votes.


def test_wayback_128_bits_in_two_halves() -> None:
    features, weights = ["two", "three", "one"], np.array([2.0, 3.0, 1.0])
    both = vote(md5(features, 64), weights) << 64 | vote(md5(features), weights)
    assert both == 66237222457941138286276456718971054176


# Apache Lucene, MinHashFilterTest.testIntHash and testStringHash: murmur3_x64_128 with seed 0; values retyped


@pytest.mark.parametrize(
    ("data", "halves"),
    [
        (bytes(4), (-3485513579396041028, 6383328099726337777)),
        ("woof woof woof woof woof".encode("utf-16-le"), (7638079586852243959, 4378804943379391304)),
    ],
)
def test_lucene_murmur(data: bytes, halves: tuple[int, int]) -> None:
    assert mmh3.hash64(data, 0) == halves

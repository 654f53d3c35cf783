"""The ways to judge pairs that docs/quality.md compares, each a column of its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from scrapy_neardup.audit.all_pairs import PairJudge
from scrapy_neardup.audit.evaluate import judge_documents, judge_orders, rows_of
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.cli.parameters import read_assignments
from scrapy_neardup.fingerprint.schemes import ANCHORS
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching import rules

from .labelled_sets import Loaded


class Column(NamedTuple):
    """A way to judge."""

    title: str
    settings: tuple[str, ...] = ()
    #: Seeds of the hashes: as many as asked for, or one.
    several: bool = False
    sites: bool = True
    #: Whether the pairs are shown with the shorter document stored, too.
    both_orders: bool = False
    #: Fields of the records that are taken for unknown, and constants of the rules that have another value.
    unknown: tuple[str, ...] = ()
    rules: tuple[tuple[str, Any], ...] = ()
    #: As if a text had half as many anchors.
    half_the_anchors: bool = False


SIMHASH = ("SCHEME=simhash",)
TEXT_BOOK = ('FEATURES={"shingle": 3, "weight": "set", "min_paragraph": 0}', "VERIFY=False")
COLUMNS = (
    Column("default", several=True, both_orders=True),
    Column("sites unknown", sites=False, several=True),
    Column("titles unknown", several=True, unknown=("title",)),
    Column("short lines unknown", several=True, unknown=("figures", "words")),
    Column("no rule for notes", several=True, rules=(("BRIEF", 2.0),)),
    Column("4 anchors", several=True, half_the_anchors=True),
    Column("trafilatura", ("EXTRACTOR=trafilatura",)),
    Column("resiliparse", ("EXTRACTOR=resiliparse",)),
    Column("SimHash ≤ 3", SIMHASH),
    Column("SimHash ≤ 7", (*SIMHASH, "DISTANCE=7")),
    Column("SimHash ≤ 3, not verified", (*SIMHASH, "VERIFY=False")),
    Column("SimHash ≤ 7, not verified", (*SIMHASH, "DISTANCE=7", "VERIFY=False")),
    Column("text-book SimHash ≤ 3", (*SIMHASH, *TEXT_BOOK)),
    Column("MinHash", ("SCHEME=minhash",)),
    Column("bottom-k", ("SCHEME=bottomk",)),
    Column("super-shingles", ("SCHEME=supershingles",)),
    Column("MinHash ≥ .8, not verified", ("SCHEME=minhash", "THRESHOLD=0.8", "VERIFY=False")),
)
#: Columns of the default settings, and of them without one of their parts; the others are another table.
OWN = ("default", "shorter first", *(column.title for column in COLUMNS[1:6]))


def changed(judge: PairJudge, column: Column) -> PairJudge:
    """Return *judge* with the documents as *column* sees them."""
    keys, records = judge.documents.keys.copy(), judge.documents.records.copy()
    for field in column.unknown:
        records[field] = 0
    if column.half_the_anchors:
        first, second = keys[-ANCHORS : -ANCHORS // 2], keys[-ANCHORS // 2 :]
        first[:] = np.minimum(first, second)
        second[:] = NO_KEY
    return replace(judge, documents=judge.documents._replace(keys=keys, records=records))


def shares(loaded: Loaded, column: Column, seeds: int) -> dict[str, list[np.ndarray]]:
    """What is judged duplicate, bool[pairs], for each seed; by the titles of columns."""
    options = AuditOptions(**read_assignments(column.settings), seed=0)
    texts = loaded.texts.get(options.extractor, {})
    if not texts:
        return {}
    documents = [*texts.values()]
    if not column.sites:
        documents = [each._replace(url="") for each in documents]
    a, b = rows_of(loaded.pairs, [*texts])
    longer_first, shorter_first = [], []
    for seed in range(seeds if column.several else 1):
        judge = changed(judge_documents(documents, replace(options, seed=seed)), column)
        with patch.dict(vars(rules), dict(column.rules)):
            orders = judge_orders(judge, a, b)
        longer_first.append(orders.longer_first)
        shorter_first.append(orders.shorter_first)
    found = {column.title: longer_first}
    return found | {"shorter first": shorter_first} if column.both_orders else found

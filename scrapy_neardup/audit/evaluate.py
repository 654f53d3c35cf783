"""Judges pairs of texts as a crawl would, explains the verdicts, and scores them against labels."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import Page
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.matching.records import entries, filed_url

from .all_pairs import Flags, PairJudge, Rows
from .crawl import load_crawl
from .options import AuditOptions
from .output.files import is_url
from .run import opened_audit
from .sources.records import DAMAGE, read_whole
from .sources.responses import looks_like_html, read_head

#: Words of each text that are compared: the time grows with the square.
_LONGEST = 20_000
#: The same text · a near-duplicate · partly shared, not scored · different; empty: unsure, not scored.
LABELS = ("3", "2", "1", "0", "")


class Document(NamedTuple):
    """The main text of a document, and its URL; "" if that is not known."""

    main: MainText = MainText("")
    url: str = ""


def read_document(path: Path, settings: AuditOptions) -> Document:
    """Read a file with a text, or with HTML, which is extracted. Raises `ConfigurationError`."""
    try:
        content = read_whole(path)
    except DAMAGE as error:
        raise ConfigurationError(f"{path} cannot be compared ({error}): name another file.") from error
    url, main, reason = "", None, None
    if looks_like_html(content) and path.suffix.lower() not in (".txt", ".md"):
        url = read_head(content, None, "")["declared"]
        with closing(settings.extracting(None, processes=1, keep_text=True)) as workers:
            done = workers.submit(Page(content, url, None)).result()
        reason, main = done.reason, done.text
    elif is_binary(content) or is_noise(text := decode(content, None)):
        reason = "not_text"
    else:
        main = main_text(text)
    if reason is not None:
        raise ConfigurationError(f"{path} cannot be compared ({reason}): name another file.")
    return Document(main or MainText(""), url)


def judge_documents(documents: Sequence[Document], settings: AuditOptions) -> PairJudge:
    """Make ready to judge pairs of *documents*."""
    signatures = [*settings.fingerprinter.signatures([each.main for each in documents])]
    fit = np.array([each.tokens >= settings.min_tokens and not each.wall for each in signatures], bool)
    filed = entries(signatures, [each.url for each in documents], settings.header)
    return PairJudge(filed, fit, settings.matcher)


def explain(one: Document, other: Document, settings: AuditOptions) -> dict[str, Any]:
    """Compare two documents as a crawl that has stored *other*; return what is known, as JSON has it."""
    judge = judge_documents((one, other), settings)
    found = judge.judge(np.array([0]), np.array([1]))
    kinds, tokens = ("exact", "near", "fuller", "template"), judge.documents.records["tokens"].tolist()
    verdict = next((kind for kind in kinds if getattr(found, kind)[0]), "different")
    if not judge.fit.all():
        verdict = "too_short" if min(tokens) < settings.min_tokens else "wall"
    elif one.url and filed_url(one.url) == filed_url(other.url):
        verdict = "revisit"
    return {
        "verdict": verdict,
        "decided_by": judge.decided_by(0, 1),
        "distance": int(found.distance[0]),
        "similarity": round(float(found.similarity[0]), 4),
        "containment": round(float(found.containment[0]), 4),
        "tokens": tokens,
        "why": judge.told(0, 1),
    }


def differences(one: str, other: str) -> Iterator[str]:
    """Yield which words are in *one* alone (- …) and in *other* alone (+ …); of long texts at the start."""
    a, b = (text.split()[:_LONGEST] for text in (one, other))
    changed = islice(difflib.unified_diff(a, b, n=0, lineterm=""), 2, None)
    for mark, words in groupby(changed, key=lambda word: word[0]):
        if mark != "@":
            yield f"{mark} {' '.join(word[1:] for word in words)}"


class LabelledPairs(NamedTuple):
    """Pairs of documents that a person, or a construction, has labelled: columns of n."""

    id1: list[str]
    id2: list[str]
    label: list[str]
    kind: list[str]


def read_pairs(path: Path) -> LabelledPairs:
    """Read a TSV with the columns ``id1 id2 label`` and perhaps ``kind``. Raises `ConfigurationError`."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    if not rows or not {"id1", "id2", "label"} <= rows[0].keys():
        raise ConfigurationError(
            f"{path} is no table with columns id1, id2 and label, separated by tabs, under a line with these."
        )
    for number, row in enumerate(rows, 1):
        if None in row.values() or row["label"] not in LABELS:
            raise ConfigurationError(
                f"{path}, pair {number}: it has too few columns, or a label that is not 3, 2, 1, 0 or empty."
            )
    return LabelledPairs(*([row.get(name, "") for row in rows] for name in LabelledPairs._fields))


def audited_documents(folder: Path, asked: Collection[str]) -> tuple[list[str], list[Document], AuditOptions]:
    """Return the URLs (sorted) and main texts of the pages *asked* for of an audit, and its settings.

    Of several pages with one URL the first is taken. Raises `ConfigurationError`.
    """
    with opened_audit(folder) as (store, options):
        crawl = load_crawl(store, options)
        rows = {url: row for row, url in reversed([*enumerate(crawl.urls)]) if url in asked}
        if missing := sorted({*asked} - rows.keys()):
            raise ConfigurationError(
                f"Of the ids in the pairs {len(missing)} are not among the pages of the audit, such as "
                f"{missing[0]!r}: use URLs, or else identifiers, as pages.jsonl has them."
            )
        names, documents = sorted(rows), []
        for name in names:
            text = store.main_text(int(crawl.ids[rows[name]]))
            url = name if is_url(name) else crawl.declared[rows[name]]
            documents.append(Document(text, url) if text else Document(url=url))
        return names, documents, options


def rows_of(pairs: LabelledPairs, names: Sequence[str]) -> tuple[Rows, Rows]:
    """Return the rows of both documents of each pair among *names*; int64[n] twice."""
    places = {name: row for row, name in enumerate(names)}
    a, b = (np.array([places[each] for each in ids], np.int64) for ids in (pairs.id1, pairs.id2))
    return a, b


class Orders(NamedTuple):
    """Which pairs are judged duplicates with the longer document stored, and with the shorter: bool[n]."""

    longer_first: Flags
    shorter_first: Flags


def judge_orders(judge: PairJudge, a: Rows, b: Rows) -> Orders:
    """Judge the pairs of rows *a* and *b* (int64[n] each) in both orders."""
    new, stored = judge.by_length(a, b)
    return Orders(judge.judge(new, stored).near, judge.judge(stored, new).near)


def score(pairs: LabelledPairs, orders: Orders) -> dict[str, Any]:
    """Count what was found, by label and kind, and score it: 3 and 2 are wanted, 0 is wrong, either way."""
    keys = [*zip(pairs.label, pairs.kind, strict=True)]
    labels, found, by_kind = np.array(pairs.label), np.stack(orders), []
    for label, kind in sorted({*keys}, key=lambda key: (LABELS.index(key[0]), key[1])):
        own = np.array([each == (label, kind) for each in keys])
        counts = dict(zip(Orders._fields, found[:, own].sum(axis=1).tolist(), strict=True))
        by_kind.append({"label": label, "kind": kind, "n": int(own.sum()), **counts})
    wanted = np.isin(labels, ("3", "2"))
    hits, alarms = int((found & wanted).sum()), int((found & (labels == "0")).sum())
    precision, recall = hits / max(hits + alarms, 1), hits / max(2 * int(wanted.sum()), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"pairs": len(labels), "by_kind": by_kind, "precision": precision, "recall": recall, "f1": f1}


def worst(
    pairs: LabelledPairs, orders: Orders, judge: PairJudge, a: Rows, b: Rows, most: int
) -> list[dict[str, Any]]:
    """Return the *most* wrong pairs: different ones found alike, then same ones missed, the longer stored."""
    labels, alike = np.array(pairs.label), judge.either(a, b).similarity
    alarms = (labels == "0") & (orders.longer_first | orders.shorter_first)
    missed = np.isin(labels, ("3", "2")) & ~orders.longer_first
    # A different pair is the more wrong the more alike it seemed, a missed one the less.
    degree = np.where(alarms, 1 + alike, 1 - alike)
    rows = np.flatnonzero(alarms | missed)
    new, stored = judge.by_length(a, b)
    return [
        {
            **{name: getattr(pairs, name)[row] for name in pairs._fields},
            "similarity": round(float(alike[row]), 4),
            "decided_by": judge.decided_by(int(new[row]), int(stored[row])),
        }
        for row in rows[np.argsort(-degree[rows], kind="stable")][:most].tolist()
    ]

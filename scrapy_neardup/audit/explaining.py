"""Two texts side by side, whether one repeats the other and why; two audits, what has changed."""

from __future__ import annotations

import difflib
from contextlib import closing
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import Page
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText, changes, main_text, paragraphs_of
from scrapy_neardup.matching.records import entries, filed_url

from .crawl import load_crawl
from .pairs import PairJudge
from .run import opened_audit
from .sources.records import DAMAGE, read_whole
from .sources.responses import looks_like_html, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .settings import AuditOptions
    from .store import Store

#: Words of each text that are compared: the time grows with the square.
_LONGEST = 20_000


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
        url = read_head(content, None, "").declared
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
    matcher = settings.matcher
    signatures = [*settings.fingerprinter.signatures([each.main for each in documents])]
    fit = np.array([each.tokens >= matcher.min_tokens and not each.wall for each in signatures], bool)
    return PairJudge(entries(signatures, [each.url for each in documents], settings.header), fit, matcher)


def explain(one: Document, other: Document, settings: AuditOptions) -> dict[str, Any]:
    """Compare two documents as a crawl would, with *other* stored; return what is known, as JSON has it.

    *verdict* is that of a crawl, or "different"; *why* is of `Matcher.explain`.
    """
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


def changed_pages(old: Path, new: Path) -> Iterator[dict[str, Any]]:
    """Yield ``url`` and ``change`` of all pages: "new", "gone", "unchanged"; or "changed", and as `changes`.

    Of several pages with one URL the last is taken. Raises `ConfigurationError`.
    """
    if old.resolve() == new.resolve():
        raise ConfigurationError(f"{old} is named twice: name the directories of two audits.")
    with opened_audit(old) as (before, options), opened_audit(new) as (after, others):
        one, other = (store.meta("identity")["extractor"] for store in (before, after))
        if one != other:
            raise ConfigurationError(
                f"{new} has texts of another extractor ({other}, not {one}): audit one crawl anew."
            )
        known, found = _last(before, options), _last(after, others)
        for url in sorted(known | found):
            if url not in known or url not in found:
                yield {"url": url, "change": "gone" if url in known else "new"}
                continue
            was, now = before.main_text(known[url]), after.main_text(found[url])
            if was == now:
                yield {"url": url, "change": "unchanged"}
            else:
                texts = [main.text if main else "" for main in (was, now)]
                what = changes(b"".join(paragraphs_of(texts[0])), paragraphs_of(texts[1]))
                yield {"url": url, "change": "changed", **what}


def _last(store: Store, options: AuditOptions) -> dict[str, int]:
    """Return where the text of each URL is in *store*: of the page that was fetched last."""
    crawl = load_crawl(store, options)
    order = np.argsort(np.nan_to_num(crawl.fetched), kind="stable").tolist()
    return {filed_url(crawl.urls[row]): int(crawl.ids[row]) for row in order}

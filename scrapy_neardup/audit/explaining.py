"""Two texts side by side: whether one repeats the other, and why."""

from __future__ import annotations

import difflib
import re
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import Page, TextOnly, Workers
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.fingerprint.values import compare
from scrapy_neardup.matching.records import entries, filed_url

from .pairs import PairJudge
from .signing import sign
from .sources.records import DAMAGE, read_whole
from .sources.responses import looks_like_html, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .settings import AuditOptions

_WORD = re.compile(r"\w+")
#: Words of both texts up to which frequent ones are matched, too, and words of each that are compared at all:
#: the time grows with the square.
_THOROUGH, _LONGEST = 4_000, 20_000
#: What is said of each rule that decides, and the figures that it looks at.
_SAID = {
    "similarity": ("not alike enough", "similarity containment"),
    "variety": ("the same few words again and again are compared for equality only", "similarity"),
    "numbers": ("alike but for other numbers, as pages of a template", "substituted numbers"),
    "title": ("alike but for the title, as pages of a template", "title titled retitled"),
    "short_lines": ("alike but for the short lines, as pages of a template", "values"),
    "known": ("more than a copy", "known"),
    "length": ("a part", "length"),
    "alike": ("alike enough", "similarity"),
    "within": ("contained in the other", "containment similarity"),
    "mostly_within": ("mostly contained in the other, with the same numbers", "containment similarity"),
    "brief": ("a note that was cut or extended, with the same numbers", "containment similarity"),
    "elsewhere": ("alike enough for two sites", "similarity containment"),
    "elsewhere_within": ("contained enough for two sites", "containment similarity"),
}
#: Endings of files that are texts, whatever is in them.
_TEXT = (".txt", ".md")


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
    if looks_like_html(content) and path.suffix.lower() not in _TEXT:
        url = read_head(content, None, "").indexing.declared
        workers = Workers(
            TextOnly(), settings.extractor, processes=1, timeout=settings.extract_timeout,
            memory=settings.extract_memory, keep_text=True, area=settings.area,
        )  # fmt: skip
        with closing(workers):
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
    with closing(sign((each.main for each in documents), settings.fingerprinter)) as signed:
        signatures = [*signed]
    fit = np.array([each.tokens >= matcher.min_tokens and not each.wall for each in signatures], bool)
    return PairJudge(entries(signatures, [each.url for each in documents], settings.header), fit, matcher)


def explain(one: Document, other: Document, settings: AuditOptions) -> dict[str, Any]:
    """Compare two documents as a crawl would, with *other* stored; return what is known, as JSON has it.

    *verdict* is "exact", "near", "fuller", "template", "different", "too_short", "wall", or "revisit" (of one
    URL), *why* what decided. *substituted* are the numbers, about, that each text has in place of others, of
    the *numbers* of the text that has fewer.
    """
    judge = judge_documents((one, other), settings)
    records = judge.documents.records
    found = replace(judge, fit=np.ones(2, bool)).judge(np.array([0]), np.array([1]))
    numbers, tokens = compare(*records["numbers"]), records["tokens"].tolist()
    kinds = ("exact", "near", "fuller", "template")
    verdict = next((kind for kind in kinds if getattr(found, kind)[0]), "different")
    if not judge.fit.all():
        verdict = "too_short" if min(tokens) < settings.min_tokens else "wall"
    elif one.url and filed_url(one.url) == filed_url(other.url):
        verdict = "revisit"
    return {
        "verdict": verdict,
        "why": decided_by(judge, 0, 1),
        "distance": int(found.distance[0]),
        "similarity": round(float(found.similarity[0]), 4),
        "containment": round(float(found.containment[0]), 4),
        "substituted": int(numbers.substituted),
        "numbers": int(numbers.fewer),
        "tokens": tokens,
    }


def decided_by(judge: PairJudge, a: int, b: int) -> str:
    """Say what decided about rows *a* and *b*, with *b* stored."""
    if not (judge.fit[a] and judge.fit[b]):
        return "too short, or a wall: captcha, cookie notice, log-in, error page"
    if judge.equal(np.array([a]), np.array([b]))[0]:
        return "equal texts"
    if told := judge.told(a, b):
        return reason(told) if judge.matcher.verified else "a candidate"
    return "no candidate: other fingerprints, and no long shingle or band shared"


def reason(told: dict[str, Any]) -> str:
    """Say what decided about two texts, by what `Matcher.explain` has *told* of them."""
    rule = told["decided_by"]
    words, names = _SAID[rule]
    figures = told | {"similarity": told["jaccard"]}
    said = [f"{name} {round(figures[name], 2)}" for name in names.split()]
    usual = "elsewhere" if told["two_sites"] else "alike"
    if asked := told.get(f"{usual if rule == 'similarity' else rule}_asked"):
        said.append(f"{round(asked, 2)} is asked")
    return f"{'fuller' if rule == 'known' and told['length'] > 1 else words}: {', '.join(said)}"


def differences(one: str, other: str) -> Iterator[str]:
    """Yield what is in *one* alone (- …) and in *other* alone (+ …), in their order.

    Words are compared, whatever their case. Of long texts the beginning is compared.
    """
    a, b = ([*islice(_WORD.finditer(text), _LONGEST)] for text in (one, other))
    words, others = ([match[0].casefold() for match in matches] for matches in (a, b))
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=len(a) + len(b) > _THOROUGH)
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        sides = (("-", one, a[start:stop]), ("+", other, b[other_start:other_stop]))
        for mark, text, changed in sides if kind != "equal" else ():
            if changed:
                yield f"{mark} {' '.join(text[changed[0].start() : changed[-1].end()].split())}"

"""The labelled sets of docs/quality.md, and how they are read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_neardup.audit.evaluate import Document, LabelledPairs
from scrapy_neardup.audit.sources.responses import read_head
from scrapy_neardup.extraction import Page, Workers, load_extractor
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.options import DetectionOptions, processors

Row = dict[str, str]
#: The extractor of the columns that name none.
DEFAULT = DetectionOptions().extractor
#: Where extracted texts are kept, a file for each set and extractor: extraction takes most of the time.
CACHE = Path.home() / ".cache" / "scrapy-neardup"
_HTML = "text/html; charset=utf-8"


class Set(NamedTuple):
    """Documents, pairs, and how a row of its table is labelled: label and kind."""

    name: str
    documents: str
    pairs: str
    label: Callable[[Row], tuple[str, str]]
    html: bool = False


def by_overlap(row: Row) -> tuple[str, str]:
    low = min(int(float(row["j5"]) * 10), 9) / 10
    return ("3" if low == 0.9 else "", f"exact j5 {low:.1f} to {low + 0.1:.1f}")


SETS = (
    Set("derived_syndication", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("derived_syndication_multi", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("consent_comments", "pages", "pairs", lambda row: (row["label"], row["kind"]), html=True),
    Set("short_texts", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("hard_wrapped", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("senate_press", "docs", "pairs", lambda row: (row["label"], row["kind"])),
    Set("ota_recrawl_html", "pages", "pairs", lambda row: (row["label"], "recrawl"), html=True),
    Set("docs_versions_html", "pages", "pairs", by_overlap, html=True),
    Set("wiki_versions", "docs", "pairs", lambda row: ("", by_overlap(row)[1])),
    Set("minhash_tutorial", "docs_2500", "pairs_2500", lambda row: ("3", "planted edit")),
)


class Loaded(NamedTuple):
    pairs: LabelledPairs
    #: Of each pair; empty where there is one language only.
    languages: list[str]
    #: By extractor, then by id, sorted.
    texts: dict[str, dict[str, Document]]


def load(each: Set, folder: Path) -> Loaded:
    """Read a set; the texts by extractor."""
    with (folder / f"{each.pairs}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    labels = [each.label(row) for row in rows]
    ids = ([row[name] for row in rows] for name in ("id1", "id2"))
    pairs = LabelledPairs(*ids, *map(list, zip(*labels, strict=True)))
    wanted = None if each.name == "minhash_tutorial" else {*pairs.id1, *pairs.id2}
    texts = {
        extractor: read_texts(folder / f"{each.documents}.jsonl.gz", wanted, extractor)
        for extractor in ((DEFAULT, "trafilatura", "resiliparse") if each.html else (DEFAULT,))
    }
    languages = [row.get("lang", "") for row in rows]
    return Loaded(pairs, languages if len(set(languages)) > 1 else [""] * len(rows), texts)


def read_texts(path: Path, wanted: Collection[str] | None, extractor: str) -> dict[str, Document]:
    """Read lines with ``id``, ``url`` or ``host``, ``text`` or ``html``: the documents *wanted*, by id."""
    texts: dict[str, Document] = {}
    pages: dict[str, Page] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            name, url = str(row["id"]), row.get("url") or ""
            if name in texts or name in pages or (wanted is not None and name not in wanted):
                continue
            if "//" not in url:
                url = f"//{row['host']}/" if row.get("host") else ""
            if isinstance(row.get("text"), str):
                texts[name] = Document(main_text(row["text"])._replace(title=row.get("title") or ""), url)
            else:
                body = row["html"].encode("utf-8", "replace")
                pages[name] = Page(body, url or read_head(body, _HTML, "")["declared"], _HTML)
    if pages:
        found = extracted(path, pages, extractor)
        texts |= {name: Document(found[name], page.url) for name, page in pages.items()}
    return {name: texts[name] for name in sorted(texts)}


def extracted(path: Path, pages: dict[str, Page], extractor: str) -> dict[str, MainText]:
    """Return the main texts of *pages*, from the cache if they have been extracted before."""
    identity = [load_extractor(extractor).identity, str(path), path.stat().st_mtime_ns, sorted(pages)]
    digest = hashlib.blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest()
    cached = CACHE / f"{path.parent.name}-{digest}.json"
    if cached.exists():
        return {name: MainText(*parts) for name, parts in json.loads(cached.read_text()).items()}
    limits: dict[str, Any] = {"processes": processors(), "timeout": 60, "memory": 1 << 30}
    with closing(Workers(None, extractor, keep_text=True, **limits)) as workers:
        jobs = [(name, workers.submit(page)) for name, page in pages.items()]
        found = {name: job.result().text or MainText("") for name, job in jobs}
    CACHE.mkdir(parents=True, exist_ok=True)
    cached.write_text(json.dumps(found))
    return found

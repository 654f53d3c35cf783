"""The audit of a finished crawl: which pages repeat others, which to keep, what has changed since another."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_neardup.arguments import escaped, require_path, require_type
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import changes, paragraphs_of
from scrapy_neardup.matching.records import filed_url

from .clustering import cluster
from .crawl import leave_out_boilerplate, load_crawl
from .model import Audit, Input
from .options import VERSION, AuditOptions
from .output import files as results
from .output.report import write_report
from .reading import Reader
from .sources import copies, copy_without, find_sources
from .sources.records import Origin, SourceUnavailable
from .store import FILE, Store

#: Sources that a message names.
_NAMED = 3
#: A function that is called with the step that an audit is at, how many pages or pairs of it are done, and
#: where the last of them was found (None if there is no place).
Watch = Callable[["str", "int", "Origin | None"], None]


def audit(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    kept: str | os.PathLike[str] | None = None,
    watch: Watch = lambda what, done, where: None,
    **settings: Any,
) -> Audit:
    """Find the duplicates among the pages of *sources*: feeds, archives, caches, folders.

    Results, and what was read, go to the directory *out*: the next audit there signs what is new, if it has
    all sources of the one before and its settings, or else *overwrite*. *settings* are those of
    `AuditOptions`. *kept* is a directory for copies of the sources without what drop.txt lists; *watch* is
    told how far it is. Raises `ConfigurationError`, `SourceUnavailable`, `IndexUnavailable` and `OSError`.
    """
    require_type("A source", sources, (str, os.PathLike, Iterable), "a path or a list of paths")
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not paths:
        raise SourceUnavailable("There are no sources: name what was crawled.")
    for path in paths:
        require_path(path)
    options = AuditOptions(**settings)
    inputs = find_sources(paths)
    copied = [] if kept is None else copies(inputs, Path(kept))
    store = _open(None if out is None else Path(out))
    try:
        with store.trusting():
            stored = store.meta("identity") or {}
            if settings.get("seed") is None and stored.get("version") == VERSION:
                options = replace(options, seed=stored.get("seed"))
            identity = options.identity()
            if not overwrite:
                _require_same(store, inputs, identity)
        store.begin(identity)
        store.set_meta("inputs", inputs)
        Reader(store, options, lambda where, done: watch("Reading", done, where)).read_all(inputs)
        store.finish()
        store.set_meta("settings", asdict(options))
        watch("Comparing", 0, None)
        audited = _compare(store, options, inputs, lambda done: watch("Comparing", done, None))
        if out is not None:
            watch("Writing", 0, None)
            results.write(Path(out), audited)
            write_report(Path(out, "report.html"), audited)
        if kept is not None:
            Path(kept).mkdir(parents=True, exist_ok=True)
            names, left_out = {*results.dropped(audited)}, defaultdict[str, set[str]](set)
            for file, place, url in store.places():
                if results.name_of(url) in names:
                    left_out[file].add(place)
            for each, copy in zip(inputs, copied, strict=True):
                copy_without(each, copy, left_out[escaped(each.name)])
        return audited
    except BaseException:
        store.close()
        raise


def _open(out: Path | None) -> Store:
    """Open or make the store in the directory *out*, unless that has such files of others."""
    if out is None:
        return Store(None)
    out.mkdir(parents=True, exist_ok=True)
    taken = [name for name in results.FILES if (out / name).exists()]
    if taken and not (out / FILE).exists():
        raise ConfigurationError(f"{out / taken[0]} is no audit's: name another directory for the results.")
    return Store(out / FILE)


@contextmanager
def opened_audit(out: Path) -> Iterator[tuple[Store, AuditOptions]]:
    """Open the store of the audit in *out*; with its settings. Raises `ConfigurationError`."""
    if not (out / FILE).is_file():
        raise ConfigurationError(f"There is no audit in {out}: name the directory that one has written.")
    with closing(Store(out / FILE)) as store:
        with store.trusting():
            complete = store.meta("complete") and store.meta("identity")["version"] == VERSION
            options = AuditOptions(**store.meta("settings")) if complete else None
        if options is None:
            raise ConfigurationError(
                f"The audit in {out} was interrupted, or is of another version: run it again."
            )
        yield store, options


def _require_same(store: Store, inputs: Sequence[Input], identity: dict[str, Any]) -> None:
    """Raise `ConfigurationError` if pages are stored that an audit of *inputs* would not keep."""
    if not store.signed():
        return
    names, stored = {each.name for each in inputs}, store.meta("identity")
    gone = [name for name, _ in store.meta("inputs") if name not in names]
    others = [name for name, value in identity.items() if stored.get(name) != value]
    if others or gone:
        what = "made with other settings" if others else "of other sources"
        raise ConfigurationError(
            f"{store.path} has results {what} ({', '.join(others or gone[:_NAMED])}): name another "
            "directory, or pass --overwrite to replace them."
        )


def _compare(
    store: Store, settings: AuditOptions, inputs: Sequence[Input], advance: Callable[[int], None]
) -> Audit:
    crawl = load_crawl(store, settings)
    if not len(crawl):
        raise _no_pages(inputs, store)
    crawl, boilerplate = leave_out_boilerplate(crawl, store, settings)
    found = cluster(crawl, settings, advance)
    counts = Counter(crawl.roots)
    read = tuple((each, counts[escaped(each.name)]) for each in inputs)
    skipped = store.skipped() | ({"revisit_of_another_crawl": crawl.elsewhere} if crawl.elsewhere else {})
    problems = tuple(store.problems())
    return Audit(*found, settings, read, problems, skipped, tuple(boilerplate), store, crawl.ids)


def _no_pages(inputs: Sequence[Input], store: Store) -> SourceUnavailable:
    """Return an error for an audit without pages: it names the first problem, or what was left out."""
    where, why = ", ".join(each.name for each in inputs[:_NAMED]), ""
    if problems := store.problems():
        path, place, reason = problems[0]
        why = f"; problems: {len(problems):,}, first in {Origin(path, place)}: {reason}"
    elif skipped := store.skipped():
        reasons = (f"{count:,} {reason.replace('_', ' ')}" for reason, count in skipped.items())
        why = f" (left out: {', '.join(reasons)}): name what was crawled."
    return SourceUnavailable(f"No pages in {where}{why or ': name what was crawled.'}")


def changed_pages(old: Path, new: Path) -> Iterator[dict[str, Any]]:
    """Yield ``url`` and ``change`` of each page: new, gone, unchanged, or changed and how: see `changes`.

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

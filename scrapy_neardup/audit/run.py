"""The audit of a finished crawl: which pages repeat others, and which of them to keep."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.arguments import require_path, require_type
from scrapy_neardup.errors import ConfigurationError

from .boilerplate import leave_out_boilerplate
from .clustering import cluster
from .crawl import load_crawl
from .model import Audit, Input
from .output import files as results
from .output.report import write_report
from .reading import fill
from .settings import VERSION, AuditOptions
from .sources import find_sources
from .sources.records import SourceUnavailable
from .store import FILE, Store, encodable

if TYPE_CHECKING:
    from .sources.records import Origin

#: Sources that a message names.
_NAMED = 3
#: A function that is called with the step that an audit is at, how many pages or pairs of it are done, and
#: where the last of them was found (None if there is no place).
Watch = Callable[["str", "int", "Origin | None"], None]


def find_inputs(paths: Sequence[str | os.PathLike[str]]) -> list[Input]:
    """Return the sources that *paths* name, sorted by name.

    Raises `SourceUnavailable` if one is missing or unknown.
    """
    return sorted(Input(str(source.path), source.kind) for source in find_sources(paths))


def _require_same(store: Store, inputs: Sequence[Input], identity: dict[str, Any]) -> None:
    """Raise `ConfigurationError` if pages are stored that an audit of *inputs* would not keep."""
    if not store.signed():
        return
    names = {each.name for each in inputs}
    gone = [name for name, _ in store.meta("inputs") if name not in names]
    if others := _differing(store, identity):
        what = f"made with other settings ({', '.join(others)})"
    elif gone:
        what = f"of other sources ({', '.join(gone[:_NAMED])})"
    else:
        return
    remedy = "name another directory, or pass --overwrite to replace them."
    raise ConfigurationError(f"{store.directory} has results {what}: {remedy}")


def _differing(store: Store, identity: dict[str, Any]) -> list[str]:
    """Return the names of the settings in *identity* whose values are not those of the stored signatures."""
    stored = store.meta("identity")
    return [name for name, value in json.loads(json.dumps(identity)).items() if stored.get(name) != value]


def _no_pages(inputs: Sequence[Input], store: Store) -> SourceUnavailable:
    """Return an error for an audit without pages: it names the first problem, or what was left out."""
    where, nothing = ", ".join(each.name for each in inputs[:_NAMED]), ""
    if problems := list(store.problems()):
        *place, why = problems[0]
        first = ", ".join(filter(None, place))
        return SourceUnavailable(f"No pages in {where}; problems: {len(problems):,}, first in {first}: {why}")
    if skipped := store.skipped():
        reasons = (f"{count:,} {reason.replace('_', ' ')}" for reason, count in skipped.items())
        nothing = f" (left out: {', '.join(reasons)})"
    return SourceUnavailable(f"No pages in {where}{nothing}: name what was crawled.")


def _nobody(what: str, done: int, where: Origin | None) -> None:
    """Ignore how far the audit is."""


def audit(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    watch: Watch = _nobody,
    **settings: Any,
) -> Audit:
    """Find the duplicates among the pages of *sources*: feeds, archives, caches, folders.

    The results are written to the directory *out*, if one is given. What was read is stored there, too, so
    the next audit there signs only pages that are new. Unless *overwrite* is set, that next audit must have
    all sources of the one before, and all settings that signatures depend on, so that nothing stored is lost.
    *settings* are those of `AuditOptions`. If no seed is given, it is the seed of the audit before in *out*.
    *watch* is told how far the audit is.

    Raises `ConfigurationError`, `SourceUnavailable` (also if there is no page), `IndexUnavailable` and
    `OSError`. A record of a source that cannot be read raises nothing; it is listed in `Audit.problems`.
    """
    what = "a path or a list of paths"
    require_type("A source", sources, (str, os.PathLike, Iterable), what)
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not paths:
        raise SourceUnavailable("There are no sources: name what was crawled.")
    for path in paths:
        require_path(path)
    options = AuditOptions(**settings)
    inputs = find_inputs(paths)
    with _opened(out) as store:
        with store.trusting():
            stored = store.meta("identity") or {}
            if settings.get("seed") is None and stored.get("version") == VERSION:
                options = replace(options, seed=stored.get("seed"))
            identity = options.identity()
            if not overwrite:
                _require_same(store, inputs, identity)
        started = store.begin(identity)
        store.set_meta("inputs", inputs)
        fill(store, inputs, options, lambda where, done: watch("Reading", done, where))
        store.set_meta("settings", options.to_json())
        return _judge(store, options, inputs, started, out, watch)


def rethreshold(
    out: str | os.PathLike[str],
    *,
    watch: Watch = _nobody,
    **settings: Any,
) -> Audit:
    """Compare the pages again that an audit has stored in *out*; no source is read or extracted again.

    *settings* are the `AuditOptions` that differ from those of the audit. The results are written anew.
    Raises `ConfigurationError` if there is nothing, or if with these settings pages have other signatures.
    """
    if not Path(out, FILE).is_file():
        raise ConfigurationError(f"There is no audit in {out}: name the directory that one has written.")
    with _opened(out) as store:
        options, inputs = _kept(store, Path(out))
        options = replace(options, **settings)
        reading = ("timeout", "memory", "size", "fields")
        if others := [name for name in _differing(store, options.identity()) if name not in reading]:
            raise ConfigurationError(
                f"The audit in {out} was made with other settings ({', '.join(others)}): run the audit again "
                "with these."
            )
        return _judge(store, options, inputs, "resumed", out, watch)


def _kept(store: Store, out: Path) -> tuple[AuditOptions, list[Input]]:
    """Return the settings and the sources of the audit in *out*.

    Raises `ConfigurationError` if it is not complete, or was written by another version or damaged.
    """
    with store.trusting():
        if not store.meta("complete"):
            raise ConfigurationError(f"The audit in {out} was interrupted: run it again, and it goes on.")
        if store.meta("identity")["version"] != VERSION:
            why = "was written by another version"
        else:
            inputs = [Input(*each) for each in store.meta("inputs")]
            try:
                return AuditOptions.from_json(store.meta("settings")), inputs
            except ConfigurationError as error:  # they worked once
                why = f"has settings that cannot work ({error})"
    raise ConfigurationError(f"The audit in {out} {why}: run it again, with --overwrite.")


@contextmanager
def _opened(out: str | os.PathLike[str] | None) -> Iterator[Store]:
    """Open or make the store in the directory *out*; it stays open unless something is raised.

    Raises `ConfigurationError` if *out* has such files of others.
    """
    path = None if out is None else Path(out)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        taken = [name for name in results.FILES if (path / name).exists()]
        if taken and not (path / FILE).exists():
            raise ConfigurationError(
                f"{path / taken[0]} is no audit's: name another directory for the results."
            )
    store = Store(None if path is None else path / FILE)
    try:
        yield store
    except BaseException:
        store.close()
        raise


def _judge(
    store: Store,
    settings: AuditOptions,
    inputs: Sequence[Input],
    started: str,
    out: str | os.PathLike[str] | None,
    watch: Watch,
) -> Audit:
    watch("Comparing", 0, None)
    crawl = load_crawl(store, settings)
    if not len(crawl):
        raise _no_pages(inputs, store)
    crawl, boilerplate = leave_out_boilerplate(crawl, store, settings)
    found = cluster(crawl, settings, lambda done: watch("Comparing", done, None))
    counts, ids = Counter(crawl.roots), crawl.ids
    skipped = store.skipped() | ({"revisit_of_another_crawl": crawl.elsewhere} if crawl.elsewhere else {})
    audited = Audit(
        *found,
        settings,
        tuple((each, counts[encodable(each.name)]) for each in inputs),
        tuple(store.problems()),
        skipped,
        tuple(boilerplate),
        started,
        store,
        ids,
    )
    del crawl  # the signatures take more than all that is written
    if out is not None:
        watch("Writing", 0, None)
        results.write(Path(out), audited)
        write_report(Path(out, "report.html"), audited)
    return audited

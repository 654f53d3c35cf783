"""Finding the sources of an audit, and reading one after the other."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.index.lmdb.directory import is_index

from .dbm_cache import first_file, require_trust
from .earlier import AUDIT
from .fields import clean
from .kinds import EXTRAS, READERS, is_in_folder, is_named_html, kind_of_directory, kind_of_file, remedy
from .limits import MAX_PROBLEMS
from .records import BrokenRecord, CrawledPage, Options, Origin, Skipped, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .kinds import Kind
    from .records import Record


@dataclass(frozen=True, slots=True)
class Source:
    """A file or directory to read."""

    path: Path
    kind: Kind


def open_sources(
    paths: Sequence[str | os.PathLike[str]],
    *,
    text_field: str | None = None,
    url_field: str | None = None,
    trust_pickle: bool = False,
) -> Iterator[Record]:
    """Return an iterator over the pages of all sources, in the order of *paths*, file names and positions.

    Paths may have wildcards. Raises `SourceUnavailable` at once if one does not exist or cannot be read; from
    then on nothing raises: what is broken comes out as a `BrokenRecord`, what is no page as `Skipped`.
    """
    options = Options(text_field, url_field, trust_pickle)
    sources = find_sources(paths)
    require_trusted(sources, trust_pickle)
    return (record for source in sources for record in read_source(source, options))


def find_sources(paths: Sequence[str | os.PathLike[str]]) -> list[Source]:
    """Return what *paths* name, each once.

    Raises `SourceUnavailable` for one that is not there or not known.
    """
    sources: dict[Path, Source] = {}
    for given in paths:
        for path in _expanded(os.fspath(given)):
            sources.setdefault(_resolved(path), Source(path, _kind(path)))
    return list(sources.values())


def require_trusted(sources: Sequence[Source], trust_pickle: bool) -> None:
    """Raise `SourceUnavailable` if one of *sources* is unpickled, and the user does not trust it."""
    for source in sources:
        if source.kind == "dbm":
            require_trust(str(source.path), trust_pickle)


def read_source(source: Source, options: Options) -> Iterator[Record]:
    """Yield all records of a source; nothing raises."""
    if source.kind == "folder":
        yield from _read_folder(source.path, options)
    else:
        label = clean(str(source.path))
        yield from _guarded(READERS[source.kind](source.path, label, options), label)


def _read_folder(folder: Path, options: Options) -> Iterator[Record]:
    options = replace(options, folder=folder)
    inside = _resolved(folder)
    sites: set[str] = set()  # directories of sites: those with pages, and all below them
    for directory, directories, names in os.walk(folder):
        for results in [name for name in sorted(directories) if Path(directory, name, AUDIT).is_file()]:
            yield Skipped(Origin(clean(str(Path(directory, results)))), "results_of_an_audit")
            directories.remove(results)
        directories.sort()
        if str(Path(directory).parent) in sites or any(is_named_html(name) for name in names):
            sites.add(directory)
        for name in sorted(names):
            path = Path(directory, name)
            try:
                # Who made the mirror may not know where its links lead on this machine.
                if path.is_symlink() and inside not in _resolved(path).parents:
                    yield Skipped(Origin(clean(str(path))), "link_out_of_folder")
                    continue
                kind = kind_of_file(path) if path.is_file() else None
                wanted = is_in_folder(path, kind, of_site=directory in sites)
            except OSError as error:
                yield BrokenRecord(Origin(clean(str(path))), error.strerror or str(error))
                continue
            if kind is not None and wanted:
                yield from read_source(Source(path, kind), options)
            else:
                yield Skipped(Origin(clean(str(path))), "other_file")


def _resolved(path: Path) -> Path:
    """Return *path* without links; a link that leads to itself, which pathlib cannot resolve, as it is."""
    return Path(os.path.realpath(path))


def _guarded(records: Iterator[Record], label: str) -> Iterator[Record]:
    """Yield *records*, and whatever ends them early as a `BrokenRecord`."""
    origin, problems = Origin(label), 0
    try:
        for record in records:
            origin = record.origin
            if isinstance(record, CrawledPage):
                problems = 0
            elif isinstance(record, BrokenRecord):
                problems += 1
            yield record
            if problems >= MAX_PROBLEMS:
                yield BrokenRecord(origin, f"{problems} broken records in a row: the rest is left out")
                return
    except Exception as error:  # noqa: BLE001  # parsers of hostile input raise whatever they like
        what = str(error) or type(error).__name__
        yield BrokenRecord(Origin(label, f"after {origin.place}" if origin.place else ""), what)


def _expanded(given: str) -> list[Path]:
    path = first_file(Path(given))
    if path.exists() or not glob.has_magic(given):
        return [path]
    found = sorted(glob.glob(given, recursive=True))  # noqa: PTH207  # of absolute patterns too
    if not found:
        raise SourceUnavailable(f"No file matches {given}: check the pattern.")
    return [Path(name) for name in found]


def _kind(path: Path) -> Kind:
    """Return the kind of *path*. Raises `SourceUnavailable` if it cannot be read."""
    try:
        if is_index(path):
            raise SourceUnavailable(f"{path} is an index, which has no pages: name what was crawled.")
        if path.is_dir():
            with os.scandir(path):
                return kind_of_directory(path)
        if not path.exists():
            raise SourceUnavailable(f"{path} does not exist: check the path.")
        if not path.is_file():
            raise SourceUnavailable(f"{path} is neither a file nor a directory: save it to a file first.")
        with path.open("rb"):
            kind = kind_of_file(path)
    except OSError as error:
        raise SourceUnavailable(
            f"{path} cannot be read ({error.strerror}): change its permissions."
        ) from error
    if kind is None:
        raise SourceUnavailable(f"{path} is of no known kind: {remedy(path)}.")
    if kind in EXTRAS and find_spec(EXTRAS[kind][0]) is None:
        module, extra = EXTRAS[kind]
        raise SourceUnavailable(f"{path} needs {module}: run `pip install 'scrapy-neardup[{extra}]'`.")
    return kind

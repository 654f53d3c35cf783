"""Finding the sources of an audit by their content first and their names second, and reading them."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote

from scrapy_neardup.extraction.decoding import is_binary
from scrapy_neardup.index.lmdb.directory import is_index
from scrapy_neardup.matching.sites import is_domain

from .archives import is_cache, read_cache, read_wacz, read_warc
from .contents import looks_like_html
from .feeds import read_csv, read_json, read_json_lines, read_parquet
from .fields import clean
from .index import AUDIT, read_audit
from .records import MAX_PROBLEMS, BrokenRecord, CrawledPage, Options, Origin, Skipped, SourceUnavailable
from .streams import head, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .records import Record

Kind: TypeAlias = Literal[
    "json lines", "json", "csv", "parquet", "warc", "wacz", "html", "cache", "audit", "folder"
]

#: For kinds that need one: the module, and the extra that brings it.
_EXTRAS: dict[Kind, tuple[str, str]] = {
    "parquet": ("pyarrow", "parquet"),
    "warc": ("fastwarc", "warc"),
    "wacz": ("fastwarc", "warc"),
}
_KNOWN = (
    "feeds (.jl .jsonl .json .csv, also .gz .bz2), .parquet, .warc, .warc.gz, .wacz, .html, "
    "Scrapy's HTTP cache, the folder of an audit and folders of such files"
)
_SUFFIXES: dict[str, Kind] = {
    ".jl": "json lines", ".jsonl": "json lines", ".jsonlines": "json lines", ".ndjson": "json lines",
    ".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".warc": "warc", ".wacz": "wacz",
    ".wet": "warc", ".html": "html", ".htm": "html", ".xhtml": "html",
}  # fmt: skip
_PACKED = (".gz", ".bz2")
#: What else files are packed with.
_TO_UNPACK = (".zst", ".xz", ".zip", ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".lz4", ".br")
#: Files that have the URL of their folder in a mirror of a site.
_INDEX = ("index.html", "index.htm")
#: What stays as it is in a part of a path: a name with a ? is one with a query.
_SAFE = "%?=&;:@!$'()*+,~[]"


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
) -> Iterator[Record]:
    """Return an iterator over the pages of all sources, in the order of *paths*, file names and positions.

    Paths may have wildcards. Raises `SourceUnavailable` at once if one does not exist or cannot be read; from
    then on nothing raises: what is broken comes out as a `BrokenRecord`, what is no page as `Skipped`.
    """
    options = Options(text_field, url_field)
    return (record for source in find_sources(paths) for record in read_source(source, options))


def find_sources(paths: Sequence[str | os.PathLike[str]]) -> list[Source]:
    """Return what *paths* name, each once.

    Raises `SourceUnavailable` for one that is not there or not known.
    """
    sources: dict[Path, Source] = {}
    for given in paths:
        for path in _expanded(os.fspath(given)):
            sources.setdefault(_resolved(path), Source(path, _kind(path)))
    return list(sources.values())


def read_source(source: Source, options: Options) -> Iterator[Record]:
    """Yield all records of a source; nothing raises."""
    if source.kind == "folder":
        yield from _read_folder(source.path, options)
    else:
        label = clean(str(source.path))
        yield from _guarded(_READERS[source.kind](source.path, label, options), label)


def _read_folder(folder: Path, options: Options) -> Iterator[Record]:
    options = replace(options, folder=folder)
    inside = _resolved(folder)
    sites: set[str] = set()  # directories of sites: those with pages, and all below them
    for directory, directories, names in os.walk(folder):
        for results in [name for name in sorted(directories) if Path(directory, name, AUDIT).is_file()]:
            yield Skipped(Origin(clean(str(Path(directory, results)))), "results_of_an_audit")
            directories.remove(results)
        directories.sort()
        if str(Path(directory).parent) in sites or any(_kind_by_name(name) == "html" for name in names):
            sites.add(directory)
        for name in sorted(names):
            path = Path(directory, name)
            try:
                # Who made the mirror may not know where its links lead on this machine.
                if path.is_symlink() and inside not in _resolved(path).parents:
                    yield Skipped(Origin(clean(str(path))), "link_out_of_folder")
                    continue
                kind = kind_of_file(path) if path.is_file() else None
                wanted = _is_in_folder(path, kind, of_site=directory in sites)
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
    path = Path(given)
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
                return _kind_of_directory(path)
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
        raise SourceUnavailable(f"{path} is of no known kind: {_remedy(path)}.")
    if kind in _EXTRAS and find_spec(_EXTRAS[kind][0]) is None:
        module, extra = _EXTRAS[kind]
        raise SourceUnavailable(f"{path} needs {module}: run `pip install 'scrapy-neardup[{extra}]'`.")
    return kind


def _kind_of_directory(path: Path) -> Kind:
    """Tell caches and the results of an audit from a folder."""
    if (path / AUDIT).is_file():
        return "audit"
    return "cache" if is_cache(path) else "folder"


def kind_of_file(path: Path) -> Kind | None:
    """Tell the kind of a file; None if the kind is not known."""
    named = _kind_by_name(path.name)
    start = head(path).removeprefix(b"\xef\xbb\xbf")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"WARC/"):
        return "warc"
    if start.startswith(b"PK\x03\x04") and named == "wacz":
        return "wacz"
    if named in ("json lines", "json"):
        return "json" if start.lstrip()[:1] == b"[" else named
    return named or ("html" if looks_like_html(start) else None)


def _is_in_folder(path: Path, kind: Kind | None, *, of_site: bool) -> bool:
    """Tell whether a file of a folder is to be read.

    *of_site* says that pages are beside or above it. Then JSON and CSV files are data of the site, such as
    the search index that repeats all its pages, and no feeds.
    """
    if kind in ("json", "csv"):
        return not of_site and (kind == "csv" or head(path).lstrip()[:1] == b"[")
    return kind is not None


def _remedy(path: Path) -> str:
    """Return what to do with a file of no known kind."""
    return "unpack it" if path.name.lower().endswith(_TO_UNPACK) else f"name {_KNOWN}"


def _kind_by_name(name: str) -> Kind | None:
    name = name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def _read_html(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the page in a file: under the URL that it was mirrored from, else that of the file."""
    body = read_whole(path)
    origin = Origin(label)
    if not body.strip():
        yield Skipped(origin, "empty")
    elif is_binary(body):
        yield Skipped(origin, "not_html")
    else:
        url = mirror_url(path, options.folder or path.parent, options.base_url) or path.absolute().as_uri()
        yield CrawledPage(url, None, body, None, None, origin)


def mirror_url(path: Path, folder: Path, base_url: str | None) -> str | None:
    """Return the URL of the page in the file *path*, which is somewhere in *folder*; None if it is not known.

    *base_url* is that of *folder*. Without it, the host is the first folder below *folder* that is called
    like one, or else the last such folder above. An index file has the URL of its folder.
    """
    below = list(path.relative_to(folder).parts)
    if base_url is not None:
        return f"{base_url.rstrip('/')}/{_path(below)}"
    above = list(folder.absolute().parts)
    for place, name in enumerate(below[:-1]):
        if is_domain(name):
            return f"https://{name.lower()}/{_path(below[place + 1 :])}"
    for place in range(len(above) - 1, -1, -1):
        if is_domain(above[place]):
            return f"https://{above[place].lower()}/{_path(above[place + 1 :] + below)}"
    return None


def _path(parts: list[str]) -> str:
    """Return the path of a file in a folder, as URLs have it."""
    last = "" if parts[-1].lower() in _INDEX else parts[-1]
    return "/".join(
        quote(part.encode("utf-8", "surrogateescape"), safe=_SAFE) for part in [*parts[:-1], last]
    )


#: Readers take the path, its name in messages, and the options. A folder is read by those of its files.
_READERS: dict[Kind, Callable[[Path, str, Options], Iterator[Record]]] = {
    "json lines": read_json_lines,
    "json": read_json,
    "csv": read_csv,
    "parquet": read_parquet,
    "warc": read_warc,
    "wacz": read_wacz,
    "html": _read_html,
    "cache": read_cache,
    "audit": read_audit,
}

"""The sources of an audit: feeds, tables, archives, caches, folders, as one stream of pages, or copied."""

from __future__ import annotations

import bz2
import glob
import gzip
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.store import FILE
from scrapy_neardup.extraction.decoding import is_binary
from scrapy_neardup.index.lmdb.directory import is_index, renamed
from scrapy_neardup.matching.sites import is_domain

from .feeds import batches_of, open_table, read_json, read_json_lines, read_parquet
from .records import (
    MAX_PROBLEMS,
    BrokenRecord,
    Origin,
    PageRecord,
    Record,
    Skipped,
    SourceUnavailable,
    head,
    open_regular,
    opened,
    read_whole,
    unlisted,
)  # fmt: skip
from .responses import is_cache, looks_like_html, read_cache, read_warc

if TYPE_CHECKING:
    from scrapy_neardup.audit.options import AuditOptions

#: For kinds that need one: the module, and the extra that brings it.
_EXTRAS = {"parquet": ("pyarrow", "parquet"), "warc": ("fastwarc", "warc")}
_KNOWN = (
    "unpack it, make JSON lines of it, or name feeds (.jl .jsonl .json, also .gz .bz2), .parquet, .warc, "
    ".warc.gz, .html, Scrapy's HTTP cache and folders of such files"
)
_SUFFIXES = {
    ".jl": "json lines", ".jsonl": "json lines", ".jsonlines": "json lines", ".ndjson": "json lines",
    ".json": "json", ".parquet": "parquet", ".warc": "warc", ".wet": "warc", ".html": "html", ".htm": "html",
    ".xhtml": "html",
}  # fmt: skip
#: What stays as it is in a part of a path: a name with a ? is one with a query.
_SAFE = "%?=&;:@!$'()*+,~[]"
#: Bytes and rows that are copied at a time.
_CHUNK, _ROWS = 1 << 20, 256


def find_sources(paths: Sequence[str | os.PathLike[str]]) -> list[Input]:
    """Return what *paths*, which may have wildcards, name, each once. Raises `SourceUnavailable`."""
    sources: dict[str, Input] = {}
    for path in paths:
        given = os.fspath(path)
        found = [given]
        if glob.has_magic(given) and not os.path.exists(given):  # noqa: PTH110
            found = sorted(glob.glob(given, recursive=True))  # noqa: PTH207  # of absolute patterns too
            if not found:
                raise SourceUnavailable(f"No file matches {given}: check the pattern.")
        for name in found:  # a link that leads to itself pathlib cannot resolve
            sources.setdefault(os.path.realpath(name), Input(name, _kind(Path(name))))
    return sorted(sources.values())


def read_sources(inputs: Iterable[Input], settings: AuditOptions) -> Iterator[tuple[str, Record]]:
    """Yield the records of *inputs*, each with the name of its source. Nothing raises."""
    for name, kind in inputs:
        path = Path(name)
        found = _read_folder(path, settings) if kind == "folder" else _read_file(path, kind, settings)
        yield from ((name, record) for record in found)


def _read_file(path: Path, kind: str, settings: AuditOptions, folder: Path | None = None) -> Iterator[Record]:
    """Yield all records of a file or a cache. Nothing raises: what is broken becomes a `BrokenRecord`."""
    origin, problems = Origin(str(path)), 0
    try:
        if kind == "html":
            yield _page(path, origin, folder or path.parent, settings.base_url)
            return
        for record in _READERS[kind](path, settings):
            origin = record.origin
            if not isinstance(record, Skipped):
                problems = problems + 1 if isinstance(record, BrokenRecord) else 0
            yield record
            if problems >= MAX_PROBLEMS:
                yield BrokenRecord(origin, f"{problems} broken records in a row: the rest is left out")
                return
    except Exception as error:  # noqa: BLE001  # parsers of hostile input raise whatever they like
        what = str(error) or type(error).__name__
        yield BrokenRecord(origin._replace(place=f"after {origin.place}" * bool(origin.place)), what)


def _read_folder(folder: Path, settings: AuditOptions) -> Iterator[Record]:
    inside = Path(os.path.realpath(folder))
    sites: set[str] = set()  # directories of sites: those with pages, and all below them
    closed: list[OSError] = []  # of directories that cannot be listed
    for directory, directories, names in os.walk(folder, onerror=closed.append):
        for results in [name for name in sorted(directories) if Path(directory, name, FILE).is_file()]:
            yield Skipped(Origin(str(Path(directory, results))), "results_of_an_audit")
            directories.remove(results)
        directories.sort()
        if str(Path(directory).parent) in sites or any(_kind_by_name(name) == "html" for name in names):
            sites.add(directory)
        for path in (Path(directory, name) for name in sorted(names)):
            origin = Origin(str(path))
            try:
                # Who made the mirror may not know where its links lead on this machine.
                if path.is_symlink() and inside not in Path(os.path.realpath(path)).parents:
                    yield Skipped(origin, "link_out_of_folder")
                    continue
                kind = kind_of_file(path) if path.is_file() else None
                # Beside pages it is data of the site, such as the search index that repeats all of them.
                if kind == "json" and (directory in sites or head(path).lstrip()[:1] != b"["):
                    kind = None
            except OSError as error:
                yield BrokenRecord(origin, error.strerror or str(error))
                continue
            if kind is None:
                yield Skipped(origin, "other_file")
            else:
                yield from _read_file(path, kind, settings, folder)
    yield from map(unlisted, closed)


def _kind(path: Path) -> str:
    """Return the kind of *path*. Raises `SourceUnavailable` if it cannot be read."""
    try:
        if path.is_dir():
            os.listdir(path)  # noqa: PTH208
            if is_index(path):
                raise SourceUnavailable(f"{path} is an index, which has no pages: name what was crawled.")
            if (path / FILE).is_file():
                raise SourceUnavailable(f"{path} has the results of an audit: name what that has read.")
            return "cache" if is_cache(path) else "folder"
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
        raise SourceUnavailable(f"{path} is of no known kind: {_KNOWN}.")
    module, extra = _EXTRAS.get(kind, ("sys", ""))
    if find_spec(module) is None:
        raise SourceUnavailable(f"{path} needs {module}: run `pip install 'scrapy-neardup[{extra}]'`.")
    return kind


def kind_of_file(path: Path) -> str | None:
    """Tell the kind of a file, such as ``json lines`` or ``warc``; None if it is not known."""
    named = _kind_by_name(path.name)
    start = head(path).removeprefix(b"\xef\xbb\xbf")
    if start.startswith((b"PAR1", b"WARC/")):
        return "parquet" if start.startswith(b"P") else "warc"
    if named in ("json lines", "json") and start.lstrip()[:1] == b"[":
        return "json"
    return named or ("html" if looks_like_html(start) else None)


def _kind_by_name(name: str) -> str | None:
    name = name.lower().removesuffix(".gz").removesuffix(".bz2")
    return _SUFFIXES.get(os.path.splitext(name)[1])  # noqa: PTH122


def _page(path: Path, origin: Origin, folder: Path, base_url: str | None) -> Record:
    """Return the page in a file: under the URL that it was mirrored from, else that of the file."""
    body = read_whole(path)
    if not body.strip() or is_binary(body):
        return Skipped(origin, "not_html" if body.strip() else "empty")
    url = mirror_url(path, folder, base_url) or Path(os.path.abspath(path)).as_uri()  # noqa: PTH100
    return PageRecord(url, None, body, None, None, origin)


def mirror_url(path: Path, folder: Path, base_url: str | None) -> str | None:
    """Return the URL of the page in the file *path* somewhere in *folder*, whose URL is *base_url*, or None.

    Without that, the host is the first folder below *folder* that is called like one, or the last above.
    """
    below, above = list(path.relative_to(folder).parts), list(folder.absolute().parts)
    if base_url is None:
        hosts = [place for place, name in enumerate(below[:-1]) if is_domain(name)]
        if not hosts:
            hosts = [place for place, name in enumerate(above) if is_domain(name)][-1:]
            below = above + below
        if not hosts:
            return None
        base_url, below = f"https://{below[hosts[0]].lower()}", below[hosts[0] + 1 :]
    if below[-1].lower() in ("index.html", "index.htm"):
        below[-1] = ""
    quoted = (quote(part.encode("utf-8", "surrogateescape"), safe=_SAFE) for part in below)
    return f"{base_url.rstrip('/')}/{'/'.join(quoted)}"


_READERS: dict[str, Callable[[Path, AuditOptions], Iterator[Record]]] = {
    "json lines": read_json_lines, "json": read_json, "parquet": read_parquet, "warc": read_warc,
    "cache": read_cache,
}  # fmt: skip


def copies(sources: Sequence[Input], out: Path) -> list[Path]:
    """Return where copies of *sources* in *out* will be; raises `SourceUnavailable` if one cannot be made."""
    found = [out / Path(each.name).name for each in sources]
    for number, (source, copy) in enumerate(zip(sources, found, strict=True)):
        require_copyable(source)
        if copy in found[:number] or copy.exists():
            raise SourceUnavailable(f"{copy} would be written over: name another directory.")
    return found


def require_copyable(source: Input) -> None:
    """Raise `SourceUnavailable` if there is no way to copy a part of *source*."""
    if source.kind not in _COPIERS:
        raise SourceUnavailable(f"{source.name} cannot be copied in part: use JSON lines, Parquet or WARC.")


def copy_without(source: Input, out: Path, places: Collection[str], *, new: bool = True) -> None:
    """Copy *source* to *out*, a *new* file, without the records at *places*. It appears once on disk."""
    part = out.with_name(f"{out.stem}.{os.getpid()}.part{out.suffix}")
    try:
        with renamed(part, out, sync=True, new=new):
            _COPIERS[source.kind](Path(source.name), part, places)
    except FileExistsError as error:
        raise SourceUnavailable(f"{out} would be written over: name another file.") from error
    except (EOFError, ValueError, zlib.error) as error:
        raise SourceUnavailable(f"{source.name} is damaged ({error}): repair it to have a copy.") from error


def _copy_lines(path: Path, out: Path, places: Collection[str]) -> None:
    number, wanted, begins = 0, True, True
    packers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    with opened(path) as lines, packers.get(out.suffix, open)(out, "wb") as kept:
        while part := lines.readline(_CHUNK):
            if begins:
                number += 1
                wanted = f"line {number}" not in places
            begins = part.endswith(b"\n")
            if wanted:
                kept.write(part)


def _copy_rows(path: Path, out: Path, places: Collection[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, number = open_table(path), 0
    groups = (batches_of(table, group, _ROWS) for group in range(table.num_row_groups))
    # The types of columns are in the metadata of the file; as they are read here many are dictionaries.
    with pq.ParquetWriter(out, table.schema_arrow, store_schema=False) as kept:
        for batch in chain.from_iterable(groups):
            rows = range(number + 1, number + 1 + batch.num_rows)
            kept.write_batch(batch.filter(pa.array([f"row {row}" not in places for row in rows])))
            number += batch.num_rows
        kept.add_key_value_metadata(table.metadata.metadata or {})


def _copy_records(path: Path, out: Path, places: Collection[str]) -> None:
    from fastwarc import ArchiveIterator

    with open_regular(path) as file:
        starts = [record.stream_pos for record in ArchiveIterator(file, parse_http=False)]
    if len({*starts}) < len(starts):
        raise SourceUnavailable(f"{path} is compressed as a whole: compress each record by itself.")
    ends = [*starts[1:], path.stat().st_size]
    with path.open("rb") as file, out.open("wb") as kept:
        for start, end in zip(starts, ends, strict=True):
            if f"byte {start}" not in places:
                file.seek(start)
                for at in range(start, end, _CHUNK):
                    kept.write(file.read(min(_CHUNK, end - at)))


_COPIERS = {"json lines": _copy_lines, "parquet": _copy_rows, "warc": _copy_records}

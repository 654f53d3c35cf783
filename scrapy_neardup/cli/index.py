"""``scrapy-neardup index …``: look at an index, verify it, remove from it, shrink it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from scrapy_neardup import clock

from .output import RegularFile, json_option, print_json, print_line, print_table, progress
from .settings import is_on_server, path_and_urls, path_argument

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def index() -> None:
    """Look at an index, verify it, remove from it, shrink it.

    PATH is the directory of the index, or the URL of one on a server. In a Scrapy project, `scrapy neardup
    index …` takes it from the settings (NEARDUP_DIR, NEARDUP_STORE) if it is left out. All but compact may
    run while a crawl uses the index.
    """


@index.command()
@path_argument
@json_option
def info(path: Path | str, as_json: bool) -> None:
    """Print what an index holds and how large it is."""
    if is_on_server(path):
        from .server import info as describe_on_server

        facts = describe_on_server(path)
    else:
        from scrapy_neardup.index.lmdb.commands import describe

        facts = describe(path)
    if as_json:
        print_json(facts)
        return
    rows = [(name.replace("_", " "), _told(value)) for name, value in facts.items()]
    print_table(f"Index {facts.get('url', path)}", None, rows)


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items() if each != "")
    if isinstance(value, list):
        return " + ".join(map(str, value))
    return f"{value:,}" if isinstance(value, (int, float)) else str(value or "unknown")


@index.command()
@path_argument
@json_option
@click.pass_context
def check(context: click.Context, path: Path | str, as_json: bool) -> None:
    """Verify an index from end to end.

    Reads its state, its log and its tables, and compares each with the other. The exit status is 0 if all is
    well and 1 if there are problems, which are printed.
    """
    from scrapy_neardup.errors import IndexCorrupted
    from scrapy_neardup.index.lmdb.commands import Problem, find_problems, opened

    if is_on_server(path):
        from .server import check as check_on_server

        path, found = check_on_server(path)
        problems = [Problem("server", each) for each in found]
    else:
        try:
            with progress("Checking") as advance, opened(path) as (environment, header):
                problems = list(find_problems(environment, header, advance))
        except IndexCorrupted as error:
            problems = [Problem("file", str(error))]
    if as_json:
        print_json({"path": str(path), "problems": [asdict(problem) for problem in problems]})
    elif problems:
        rows = [(problem.where, problem.what) for problem in problems]
        print_table(f"Problems of the index {path}", ("where", "what"), rows)
    else:
        print_line(f"The index {path} is sound.")
    context.exit(1 if problems else 0)


@index.command()
@path_argument
@click.option(
    "--older-than",
    "days",
    required=True,
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Days since a document was stored.",
)
@click.option("--dry-run", is_flag=True, help="Only print how many documents that would be.")
def prune(path: Path | str, days: float, dry_run: bool) -> None:
    """Forget old documents, then merge the tables."""
    oldest = clock.now() - days * clock.SECONDS_PER_DAY
    if is_on_server(path):
        from .server import prune as prune_on_server

        found = prune_on_server(path, oldest, dry_run=dry_run)
    else:
        found = _prune(path, oldest, dry_run=dry_run)
    if dry_run:
        print_line(f"{found:,} documents are older than {days:g} days.")
    else:
        print_line(f"Forgot {found:,} documents older than {days:g} days.")


def _prune(path: Path, oldest: float, *, dry_run: bool) -> int:
    """Forget the documents stored before the time *oldest*; return how many those are."""
    from scrapy_neardup.index.lmdb.commands import opened
    from scrapy_neardup.index.lmdb.compaction import maintain
    from scrapy_neardup.index.lmdb.snapshot import reading
    from scrapy_neardup.matching.records import forget_all, require_pages, select

    with progress("Looking for old documents") as advance, opened(path) as (environment, header):
        require_pages(header, "time")
        old = partial(select, chosen=lambda some: some.records["time"] < oldest, progress=advance)
        with reading(environment, header) as reader:
            found = len(old(reader))
        if dry_run:
            return found
        for _ in maintain(environment, header, int(oldest)):  # whole runs go with their records
            pass
        with reading(environment, header) as reader:
            rest = old(reader)
    with progress("Merging"):
        forget_all(path, rest, merge=True)
    return found


@index.command()
@click.argument("path_and_urls", nargs=-1, metavar="PATH [URL]...", callback=path_and_urls)
@click.option(
    "--from",
    "file",
    type=RegularFile(dash=True),
    help="Read URLs, one a line; - is stdin.",
)
@click.option("--host", "hosts", multiple=True, help="Forget all documents of a host. May be repeated.")
def forget(
    path_and_urls: tuple[Path | str, tuple[str, ...]], file: Path | None, hosts: tuple[str, ...]
) -> None:
    """Forget the documents of URLs or hosts.

    Nothing is judged by them any more. They leave the disk with the next compact.
    """
    from scrapy_neardup.matching.records import bare_host, forget_urls

    path, urls = path_and_urls
    if file is not None:
        with click.open_file(file, encoding="utf-8", errors="surrogateescape") as lines:
            urls = (*urls, *(line.strip() for line in lines if not line.isspace()))
    if not urls and not hosts and file is None:
        raise click.UsageError("Name URLs, a file of URLs (--from) or a host (--host).")
    bare = {bare_host(host) for host in hosts}
    if is_on_server(path):
        from .server import forget_hosts as forget_hosts_on_server

        found = forget_hosts_on_server(path, bare)
    else:
        found = _forget_hosts(path, bare)
    forgotten, unknown = forget_urls(path, urls) if urls else (0, [])
    print_line(f"Forgot {found + forgotten:,} documents.")
    for url in unknown:
        print_line(f"Not stored: {url}")


def _forget_hosts(path: Path, hosts: set[str]) -> int:
    """Forget the documents of *hosts*; return how many those are."""
    from scrapy_neardup.index.lmdb.commands import opened
    from scrapy_neardup.index.lmdb.snapshot import reading
    from scrapy_neardup.matching.records import forget_all, require_pages, select
    from scrapy_neardup.matching.sites import host_of

    found: list[int] = []
    with opened(path) as (environment, header):
        require_pages(header)
        if hosts:
            with progress("Looking for hosts") as advance, reading(environment, header) as reader:
                found = select(reader, lambda some: [host_of(url) in hosts for url in some.urls], advance)
    if found:
        forget_all(path, found)
    return len(found)


@index.command()
@path_argument
def compact(path: Path | str) -> None:
    """Give unused space back to the disk.

    Merges the tables into one run and takes what was forgotten out of the file. Needs as much free space as
    the index has, and nobody else may use the index meanwhile.
    """
    if is_on_server(path):
        raise click.UsageError("An index on a server needs no compacting: what is forgotten is gone at once.")
    from scrapy_neardup.index.lmdb.commands import compact as compact_index

    with progress("Compacting"):
        before, after = compact_index(path)
    print_line(f"The file had {before:,} bytes, now {after:,}.")

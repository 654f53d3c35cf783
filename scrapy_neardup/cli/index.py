"""``scrapy-neardup index …``: look at an index, verify it, remove from it, shrink it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from scrapy_neardup import clock

from .output import json_option, print_facts, print_json, print_line, print_table, status
from .parameters import path_and_urls, path_argument


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
    if isinstance(path, str):
        from scrapy_neardup.index.redis.index import describe as describe_server

        with _opened(path) as found:
            facts = describe_server(found)
    else:
        from scrapy_neardup.index.lmdb.commands import describe

        facts = describe(path)
    print_facts(f"Index {facts.get('url', path)}", facts, as_json)


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

    if isinstance(path, str):
        from scrapy_neardup.index.redis import index as on_server

        with _opened(path) as found:
            path = found.address.shown  # without secrets
            problems = [Problem("server", each) for each in on_server.find_problems(found)]
    else:
        try:
            with status("Checking"), opened(path) as (environment, header):
                problems = list(find_problems(environment, header))
        except IndexCorrupted as error:
            problems = [Problem.of("file", error)]
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
    with _opened(path) as found, status("Looking for old documents, and merging"):
        old = _select(found, lambda some: some.records["time"] < oldest, "time")
        if not dry_run:
            found.discard(old)
            if isinstance(path, Path):
                found.compact()
    told = f"{_documents(len(old))} older than {days:g} days."
    print_line(told if dry_run else f"Forgot {told}")


def _documents(count: int) -> str:
    return f"{count:,} document{'s' * (count != 1)}"


def _opened(path: Path | str) -> contextlib.closing[Any]:
    """Open an index that has to be there, beside its other users."""
    from scrapy_neardup.index import open_index

    return contextlib.closing(open_index(path, None))


def _select(index: Any, chosen: Callable[[Any], Iterable[Any]], *fields: str) -> list[int]:
    """Return the numbers of the *chosen* documents; `IndexMismatch` unless it has pages, with *fields*."""
    from scrapy_neardup.matching.records import require_pages

    require_pages(index.header, *fields)
    return [
        number
        for numbers, some in index.documents()
        for number, taken in zip(numbers.tolist(), chosen(some), strict=True)
        if taken
    ]


@index.command()
@click.argument("path_and_urls", nargs=-1, metavar="PATH [URL]...", callback=path_and_urls)
@click.option("--host", "hosts", multiple=True, help="Forget all documents of a host. May be repeated.")
def forget(path_and_urls: tuple[Path | str, tuple[str, ...]], hosts: tuple[str, ...]) -> None:
    """Forget the documents of URLs or hosts.

    Nothing is judged by them any more. They leave the disk with the next compact.
    """
    from scrapy_neardup.matching.records import filed_url, find_urls, require_pages
    from scrapy_neardup.matching.sites import host_of

    path, urls = path_and_urls
    if not urls and not hosts:
        raise click.UsageError("Name URLs, or a host (--host).")
    bare = {host_of(host if "//" in host else f"//{host}") or host.lower() for host in hosts}
    with _opened(path) as found, status("Looking for documents"):
        require_pages(found.header)
        # Only for hosts all documents are read.
        gone = _select(found, lambda some: [host_of(url) in bare for url in some.urls]) if hosts else []
        of_urls, known = find_urls(found, urls)
        gone = [*{*gone, *of_urls}]
        found.discard(gone)
    print_line(f"Forgot {_documents(len(gone))}.")
    for url in dict.fromkeys(filed_url(url) for url in urls if not {url, filed_url(url)} & known):
        print_line(f"Not stored: {url}")


@index.command()
@path_argument
def compact(path: Path | str) -> None:
    """Give unused space back to the disk.

    Merges the tables into one run and takes what was forgotten out of the file. Needs as much free space as
    the index has, and nobody else may use the index meanwhile.
    """
    if isinstance(path, str):
        raise click.UsageError("An index on a server needs no compacting: what is forgotten is gone at once.")
    from scrapy_neardup.index.lmdb.commands import compact as compact_index

    with status("Compacting"):
        before, after = compact_index(path)
    print_line(f"The file had {before:,} bytes, now {after:,}.")

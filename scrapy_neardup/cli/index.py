"""``scrapy-neardup index …``: look at an index, verify it, remove from it, shrink it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from scrapy_neardup import clock

from .output import json_option, print_facts, print_json, print_line, print_table, progress
from .settings import is_on_server, path_and_urls, path_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


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
        from scrapy_neardup.index.redis import index as on_server

        with on_server.opened(path) as opened:
            facts = on_server.describe(opened)
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

    if is_on_server(path):
        from scrapy_neardup.index.redis import index as on_server

        with on_server.opened(path) as opened_index:
            path = opened_index.address.shown  # without secrets
            problems = [Problem("server", each) for each in on_server.find_problems(opened_index)]
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
    found = _select(path, lambda some: some.records["time"] < oldest, "Looking for old documents", "time")
    if dry_run:
        print_line(f"{len(found):,} documents are older than {days:g} days.")
        return
    with progress("Merging"):
        _forget(path, found, merge=True)
    print_line(f"Forgot {len(found):,} documents older than {days:g} days.")


def _select(
    path: Path | str, chosen: Callable[[Any], Iterable[Any]] | None, what: str, *fields: str
) -> list[int]:
    """Return the numbers of the *chosen* documents; `IndexMismatch` unless it has pages, with *fields*."""
    from scrapy_neardup.matching.records import require_pages

    with contextlib.ExitStack() as stack:
        batches: Iterable[tuple[NDArray[np.int64], Any]]
        if is_on_server(path):
            from scrapy_neardup.index.redis import index as on_server

            opened_index = stack.enter_context(on_server.opened(path))
            header, batches = opened_index.header, on_server.all_documents(opened_index)
        else:
            from scrapy_neardup.index.lmdb.commands import opened
            from scrapy_neardup.index.lmdb.snapshot import live_documents, reading

            environment, header = stack.enter_context(opened(path))
            reader = stack.enter_context(reading(environment, header))
            batches = live_documents(reader, stack.enter_context(progress(what)))
        require_pages(header, *fields)
        if chosen is None:
            return []
        return [
            number
            for numbers, some in batches
            for number, taken in zip(numbers.tolist(), chosen(some), strict=True)
            if taken
        ]


def _forget(path: Path | str, numbers: Sequence[int], *, merge: bool = False) -> None:
    """Forget documents by their numbers, and *merge* the tables of an index on disk."""
    from scrapy_neardup.index import LmdbIndex, open_index

    with contextlib.closing(open_index(path, None)) as found:
        found.discard(numbers)
        found.flush()
        if merge and isinstance(found, LmdbIndex):
            found.compact()


@index.command()
@click.argument("path_and_urls", nargs=-1, metavar="PATH [URL]...", callback=path_and_urls)
@click.option("--host", "hosts", multiple=True, help="Forget all documents of a host. May be repeated.")
def forget(path_and_urls: tuple[Path | str, tuple[str, ...]], hosts: tuple[str, ...]) -> None:
    """Forget the documents of URLs or hosts.

    Nothing is judged by them any more. They leave the disk with the next compact.
    """
    from scrapy_neardup.matching.records import forget_urls
    from scrapy_neardup.matching.sites import host_of

    path, urls = path_and_urls
    if not urls and not hosts:
        raise click.UsageError("Name URLs, or a host (--host).")
    bare = {host_of(host if "//" in host else f"//{host}") or host.lower() for host in hosts}
    of_hosts = _select(
        path,
        (lambda some: [host_of(url) in bare for url in some.urls]) if hosts else None,
        "Looking for hosts",
    )
    if of_hosts:
        _forget(path, of_hosts)
    forgotten, unknown = forget_urls(path, urls)
    print_line(f"Forgot {len(of_hosts) + forgotten:,} documents.")
    for url in unknown:
        print_line(f"Not stored: {url}")


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

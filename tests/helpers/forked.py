"""Runs scripts and commands in forks of a process that has imported what they need.

An interpreter of its own would take each of them a second, most of it for imports.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "scrapy.cmdline",
        "scrapy_neardup.addon",
        "scrapy_neardup.cli.index",
        "scrapy_neardup.index.lmdb.commands",
        "scrapy_neardup.plugin.command",
        __name__,
    ]
)


def scrapy(*arguments: object, cwd: Path, input: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``scrapy`` with *arguments* in the folder *cwd*."""
    return _run(_scrapy, ["scrapy", *map(str, arguments)], cwd, input)


def script(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script at *path* with *arguments* in its folder."""
    return _run(_script, [str(path), *arguments], path.parent, "")


def _run(
    what: Callable[[], None], argv: list[str], cwd: Path, input: str
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("in", "out", "err")]
        streams[0].write_text(input, "utf-8")
        process = _context.Process(target=_child, args=(what, argv, str(cwd), [*map(str, streams)]))
        process.start()
        process.join(60)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(argv, 60)
        out, err = (stream.read_text("utf-8") for stream in streams[1:])
        return subprocess.CompletedProcess(argv, process.exitcode, out, err)


def _child(what: Callable[[], None], argv: list[str], cwd: str, streams: list[str]) -> None:
    """Run *what* with the files *streams* as standard streams."""
    for number, (name, mode) in enumerate(zip(streams, ("r", "w", "w"), strict=True)):
        with Path(name).open(mode) as stream:
            os.dup2(stream.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - that of a child is /dev/null
    os.chdir(cwd)
    sys.argv = argv
    what()


def _scrapy() -> None:
    from scrapy.cmdline import execute

    execute()


def _script() -> None:
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")

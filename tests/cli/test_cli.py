"""The commands do what they say, beside a running crawl too; expected trouble is one line and status 2."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from scrapy_neardup import Detector
from scrapy_neardup.cli import main
from scrapy_neardup.index.lmdb.commands import opened
from scrapy_neardup.index.stores import SERVERS
from tests.audit.corpora import text
from tests.helpers.forked import scrapy
from tests.index.redis_server import RedisServer

BIN = Path(sys.executable).parent
DAY = 86_400
#: Red, and markup that would be bold.
NASTY = "https://evil.example/\x1b[31m[bold]\u202e"


def url(number: int) -> str:
    return f"https://host{number % 3}.example/{number}"


def fill(path: Path | str, numbers: range, days_ago: float = 0) -> None:
    with Detector.open(path, extractor="plain 1") as opened:
        detector = Detector(opened.index, clock=lambda: time.time() - days_ago * DAY)
        for number in numbers:
            assert detector.add(text(number), url=url(number)).kind == "unique"


def stored(path: Path | str, numbers: range) -> set[int]:
    with Detector.open(path) as detector:
        return {
            number for number in numbers if detector.check(text(number), url=url(number)).kind == "revisit"
        }


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def process(*command: object, **more: Any) -> subprocess.CompletedProcess[str]:
    program, *arguments = map(str, command)
    return subprocess.run(
        [str(BIN / program), *arguments], capture_output=True, text=True, timeout=60, check=False, **more
    )


CRAWL = """
import random, sys
from scrapy_neardup import Detector
with Detector.open(sys.argv[1]) as detector:
    print("open", flush=True)
    for number in range(100_000):
        words = " ".join(f"{random.getrandbits(40):x}" for _ in range(60))
        detector.add(words, url=f"https://crawl.example/{number}")
    sys.stdin.read()
"""


@contextmanager
def crawl(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Add to the index in another process."""
    command, pipe = [sys.executable, "-c", CRAWL, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        try:
            yield other
        finally:
            other.kill()


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    fill(path, range(12))
    return path


def test_the_command_line_imports_little_before_it_runs() -> None:
    """What takes long is imported where Ctrl-C is caught."""
    large = {"numpy", "lmdb", "lxml", "rich", "scrapy", "trafilatura", "twisted"}
    code = f"import sys, scrapy_neardup.cli; print({large} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture
def project(tmp_path: Path, index: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop\n")
    (folder / "shop.py").write_text(f"BOT_NAME = 'shop'\nNEARDUP_DIR = {str(index)!r}\n")
    return folder


def test_scrapy_command_takes_the_index_of_the_project(project: Path, index: Path) -> None:
    info = process("scrapy", "neardup", "index", "info", "--json", cwd=project)
    assert json.loads(info.stdout)["path"] == str(index), info.stderr
    assert scrapy("neardup", "index", "check", cwd=project).returncode == 0
    forgot = scrapy("neardup", "index", "forget", url(1), "--host", "host0.example", cwd=project)
    assert forgot.stdout == "Forgot 5 documents.\n"
    assert stored(index, range(12)) == {2, 4, 5, 7, 8, 10, 11}


def test_scrapy_command_takes_options_of_scrapy_anywhere(project: Path, index: Path, tmp_path: Path) -> None:
    """Before, between and after arguments, which those of a command of Scrapy's own may follow as well."""
    for arguments in (
        ["index", "info", "-s", "NEARDUP_DIR=/no/such"],
        ["index", "--set=NEARDUP_DIR=/no/such", "info", "-L", "DEBUG"],
        ["-s", "NEARDUP_DIR=/not/this", "index", "info", "-sNEARDUP_DIR=/no/such", "--nolog"],
    ):
        elsewhere = scrapy("neardup", *arguments, cwd=project)
        assert elsewhere.returncode == 2
        assert "There is no index in /no/such" in elsewhere.stderr
    taken = ["--loglevel", "INFO", "--logfile", "log.txt", "--profile", "profile", "--pidfile", "pid"]
    info = scrapy("neardup", "index", "info", "--json", *taken, "-s", "LOG_LEVEL=INFO", cwd=project)
    assert json.loads(info.stdout)["path"] == str(index), info.stderr
    assert (project / "profile").stat().st_size
    assert (project / "pid").read_text().strip().isdigit()
    bad = scrapy("neardup", "index", "info", "-s", "nothing", cwd=project)
    assert (bad.returncode, "-s NAME=VALUE" in bad.stderr) == (2, True)
    wrong = scrapy("neardup", "index", "info", "-s", "NEARDUP_TABLES=5", cwd=project)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr.startswith("Error: NEARDUP_TABLES is ")


def test_info(index: Path) -> None:
    run("index", "forget", index, url(0))
    facts = json.loads(run("index", "info", index, "--json").output)
    assert (facts["documents"], facts["added"], facts["extractor"]) == (11, 12, "plain 1")
    lines = dict(line.split("\t", 1) for line in run("index", "info", index).output.splitlines())
    told = (lines["documents"], lines["scheme"], lines["uuid"])
    assert told == ("11", "simhash+anchors", facts["uuid"])
    run("index", "compact", index)
    assert "runs\t11\n" in run("index", "info", index).output


def test_commands_beside_a_crawl(index: Path) -> None:
    with crawl(index) as other:
        for _ in range(3):
            assert run("index", "check", index).output.endswith("is sound.\n")
            assert json.loads(run("index", "info", index, "--json").output)["documents"] >= 12
        assert run("index", "forget", index, url(3)).output == "Forgot 1 document.\n"
        assert other.poll() is None
        refused = run("index", "compact", index)
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"Error: The index in {index} is in use: stop")
    assert run("index", "check", index).exit_code == 0
    assert stored(index, range(12)) == set(range(12)) - {3}


def test_prune(tmp_path: Path) -> None:
    path = tmp_path / "index"
    fill(path, range(8), days_ago=40)
    run("index", "compact", path)  # a run that goes as a whole
    fill(path, range(8, 12), days_ago=20)
    fill(path, range(12, 15))
    prune = ("index", "prune", path, "--older-than", 10)
    assert run(*prune, "--dry-run").output == "12 documents older than 10 days.\n"
    assert stored(path, range(15)) == set(range(15))
    assert run(*prune).output == "Forgot 12 documents older than 10 days.\n"
    assert stored(path, range(15)) == {12, 13, 14}
    facts = json.loads(run("index", "info", path, "--json").output)
    assert (facts["documents"], facts["removed"], len(facts["runs"])) == (3, 0, 1)
    assert run(*prune).output.startswith("Forgot 0 documents")
    assert run("index", "check", path).exit_code == 0


def test_forget(index: Path) -> None:
    urls = [url(1), url(1), url(3), url(5), f"{url(4)}#part", "https://nobody.example/"]
    assert run("index", "forget", index, *urls).output == (
        "Forgot 4 documents.\nNot stored: https://nobody.example/\n"
    )
    assert stored(index, range(12)) == set(range(12)) - {1, 3, 4, 5}
    by_host = run("index", "forget", index, "--host", "http://HOST2.example:80/")
    assert by_host.output == "Forgot 3 documents.\n"
    assert stored(index, range(12)) == {0, 6, 7, 9, 10}
    assert run("index", "forget", index, url(1)).output == f"Forgot 0 documents.\nNot stored: {url(1)}\n"
    assert json.loads(run("index", "check", index, "--json").output)["problems"] == []
    assert run("index", "forget", index).exit_code == 2
    assert run("index", "forget", url(1)).exit_code == 2


@pytest.mark.slow
def test_an_index_on_a_server(redis_server: RedisServer) -> None:
    where = redis_server.url("commands")
    fill(where, range(10), days_ago=5)
    fill(where, range(10, 30))
    facts = json.loads(run("index", "info", where, "--json").stdout)
    assert (facts["documents"], facts["pending"], facts["name"]) == (30, 0, "commands")
    assert "30" in run("index", "info", where).stdout
    assert run("index", "check", where).stdout.count("sound") == 1
    assert "10 documents older" in run("index", "prune", where, "--older-than", 3, "--dry-run").stdout
    assert "Forgot 10 documents" in run("index", "prune", where, "--older-than", 3).stdout
    assert "Forgot 1 document." in run("index", "forget", where, url(12)).stdout
    assert run("index", "forget", where, "--host", "host1.example").exit_code == 0
    assert stored(where, range(30)) == {n for n in range(10, 30) if n % 3 != 1 and n != 12}
    assert run("index", "check", where).exit_code == 0
    assert run("index", "info", redis_server.url("none")).exit_code == 2


@pytest.mark.parametrize("scheme", SERVERS)
def test_an_index_on_a_server_is_no_directory(scheme: str) -> None:
    """Commands that need files say so: they do not look for a directory of that name."""
    result = run("index", "compact", f"{scheme}://nowhere.example/0")
    assert result.exit_code == 2
    assert "An index on a server needs no compacting" in result.output
    assert "No index can be opened by the URL mysql://x" in run("index", "info", "mysql://x").stderr


COMMANDS = {"info": [], "check": [], "prune": ["--older-than", 1], "forget": ["https://a/"], "compact": []}


@pytest.mark.parametrize(("command", "more"), COMMANDS.items())
def test_a_missing_index_is_not_made(tmp_path: Path, command: str, more: list[object]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("not a directory")
    foreign = {"hollow": b"", "zeros": bytes(4096), "other": b"something else"}
    for name, content in foreign.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.mdb").write_bytes(content)
    for name in ("nowhere/at/all", "empty", "file", *foreign):
        refused = run("index", command, tmp_path / name, *more)
        told = f"Error: There is no index in {tmp_path / name}: name the directory of an index.\n"
        assert (refused.exit_code, refused.stderr) == (2, told)
    assert {each.name for each in tmp_path.rglob("*")} == {"data.mdb", "empty", "file", *foreign}
    assert {name: (tmp_path / name / "data.mdb").read_bytes() for name in foreign} == foreign


def spoil(path: Path, how: str) -> None:
    data = path / "data.mdb"
    if how == "missing":
        data.unlink()
    elif how == "newer":
        with opened(path) as (environment, header):
            newer = replace(header, format=header.format + 1).to_json()
            sealed = b"%08x" % zlib.crc32(newer) + newer
            environment.write(lambda t: t.put(b"header", sealed, db=environment.databases["meta"]))
    else:
        garbage = random.Random(1).randbytes(20_000)
        data.write_bytes({"empty": b"", "garbage": garbage, "truncated": data.read_bytes()[:-4096]}[how])


@pytest.mark.parametrize("how", ["empty", "missing", "garbage", "truncated", "newer"])
@pytest.mark.parametrize(("command", "more"), COMMANDS.items())
def test_spoiled_indexes(index: Path, how: str, command: str, more: list[object]) -> None:
    spoil(index, how)
    result = run("index", command, index, *more)
    if command == "check" and how != "newer":
        assert result.exit_code == 1
        assert "file\t" in result.output
        assert "is damaged" in result.output
        (problem,) = json.loads(run("index", "check", index, "--json").output)["problems"]
        assert problem["where"] == "file"
    else:
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: The index")
        assert result.stderr.count("\n") == 1
        assert "damaged" in result.stderr or "format 4" in result.stderr
        assert result.stdout == ""


def test_reader_of_output_goes_away(index: Path) -> None:
    command = f"{BIN / 'scrapy-neardup'} index info {index} --json | head -c 1"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "{"
    assert "Traceback" not in shown.stderr


def terminal(*command: object) -> str:
    """Run a command with a terminal for its output."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([str(BIN / "scrapy-neardup"), *map(str, command)], stdout=theirs, stderr=theirs):
        os.close(theirs)
        with suppress(OSError):  # how Linux says that the other side is closed
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    return shown.decode()


def test_texts_of_a_crawl_are_never_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "[red]\x1b[31mindex"
    with Detector.open(path, extractor=NASTY) as detector:
        detector.add(text(1), url=url(1))
    safe = "https://evil.example/\N{REPLACEMENT CHARACTER}[31m[bold]\N{REPLACEMENT CHARACTER}"
    for shown in (
        terminal("index", "forget", path, NASTY),
        run("index", "forget", path, NASTY).output,
        run("index", "info", path).output,
        run("index", "check", path).output,
        run("index", "check", tmp_path / NASTY.rpartition("/")[2]).stderr,
    ):
        assert "[31m" in shown
        assert "\x1b[31m" not in shown
        assert "\u202e" not in shown
    assert f"Not stored: {safe}" in terminal("index", "forget", path, NASTY)
    table = terminal("index", "info", path)
    assert "\x1b[31m" not in re.sub(r"\x1b\[31m━", "", table)
    assert "[red]\N{REPLACEMENT CHARACTER}[31m" in re.sub(r"\s|\x1b\[\d*m", "", table)
    raw = run("index", "info", path, "--json").output
    assert raw.isascii()
    assert json.loads(raw)["extractor"] == NASTY


def test_ascii_terminal(index: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = process("scrapy-neardup", "index", "forget", index, "https://é.example/", env=environment)
    assert shown.stdout == "Forgot 0 documents.\nNot stored: https://\\xe9.example/\n"

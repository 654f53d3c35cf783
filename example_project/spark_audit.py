"""Audit the news network on Spark: a master and two workers on this machine, WARC and WET in, Parquet out."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from gzip import compress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset
import pyspark
from rich.console import Console
from rich.table import Table
from site_pages import load_article, load_network

import scrapy_neardup

if TYPE_CHECKING:
    from collections.abc import Iterator

OUT = Path(__file__).parent / "out" / "spark"
SPARK = Path(pyspark.__file__).parent
MAX_SECONDS = 800  # it takes one or two minutes
#: All that listens does so on this machine alone, in as much memory as it needs.
HERE = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(SPARK)}
HERE |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
#: To compile takes longer than to run for so few pages.
BRIEF = "-XX:TieredStopAtLevel=1"
HERE |= {"SPARK_DAEMON_JAVA_OPTS": BRIEF, "SPARK_LAUNCHER_OPTS": BRIEF}
SETTINGS = (
    "spark.driver.host=127.0.0.1", "spark.driver.memory=512m", "spark.executor.memory=512m",
    "spark.ui.enabled=false", "spark.log.level=ERROR", "spark.sql.codegen.wholeStage=false",
    "spark.sql.codegen.factoryMode=NO_CODEGEN", f"spark.driver.defaultJavaOptions={BRIEF}",
    f"spark.executor.defaultJavaOptions={BRIEF}",
)  # fmt: skip


def main() -> int:
    """Run the audit and show what it has found; return its exit status."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with spark() as master:
        status = submit(master, write_archives())
    return status or report(Console(width=None if sys.stdout.isatty() else 116))


def write_archives() -> list[str]:
    """Write every other site as WARC, with HTML, and the others as WET, with texts."""
    archives = [OUT / "network.warc.gz", OUT / "network.warc.wet.gz"]
    for number, site in enumerate(load_network()):
        url = f"https://{site.key}.example"
        for page in site.pages:
            if number % 2 and page.story:
                article = load_article(site.by_path[page.plain_path])
                text = "\n".join((article.title, *article.paragraphs))
                write(archives[1], "conversion", url + page.path, "text/plain", text)
            elif not number % 2 and (html := site.render(page.plain_path, url)):
                block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}"
                write(archives[0], "response", url + page.path, "application/http; msgtype=response", block)
    return [str(path) for path in archives]


def write(path: Path, kind: str, url: str, media: str, block: str) -> None:
    data = block.encode()
    fields = f"WARC-Type: {kind}|WARC-Target-URI: {url}|WARC-Date: 2026-01-01T00:00:00Z|Content-Type: {media}"
    head = f"WARC/1.0|{fields}|Content-Length: {len(data)}||".replace("|", "\r\n")
    with path.open("ab") as file:
        file.write(compress(head.encode() + data + b"\r\n\r\n", mtime=0))


@contextmanager
def spark() -> Iterator[str]:
    """Yield the URL of a master with two workers, which end with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    master = f"spark://127.0.0.1:{port}"
    worker = ("worker.Worker", "--cores", "1", "--memory", "512m", "--work-dir", str(OUT / "work"), master)
    running = []
    try:
        for name, *arguments in (("master.Master", "--port", port), worker, worker):
            command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
            command += ["--host", "127.0.0.1", "--webui-port", "0"]
            with (OUT / f"{name}.log").open("ab") as log:
                running.append(subprocess.Popen(command, env=os.environ | HERE, stdout=log, stderr=log))
        yield master
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def submit(master: str, archives: list[str]) -> int:
    """Run the audit by spark-submit, which takes the package to the executors; return its exit status."""
    package = Path(scrapy_neardup.__file__).parent
    packed = shutil.make_archive(str(OUT / "package"), "zip", package.parent, package.name)
    (OUT / "neardup.py").write_text("from scrapy_neardup.cli import main; main()\n")
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, "--py-files", packed]
    command += [part for setting in SETTINGS for part in ("--conf", setting)]
    command += [str(OUT / "neardup.py"), "audit", *archives, "--out", str(OUT / "audit"), "--engine", "spark"]
    return subprocess.run(command, check=False, env=os.environ | HERE, timeout=MAX_SECONDS).returncode


def report(console: Console) -> int:
    """Print what is in the Parquet of the clusters; return 0."""
    table = Table("pages", "hosts", "kept", "its copies")
    for row in pyarrow.dataset.dataset(OUT / "audit" / "clusters.parquet").to_table().to_pylist():
        table.add_row(str(row["size"]), str(row["hosts"]), row["canonical"], "\n".join(row["members"][1:]))
    console.print(table)
    console.print(f"Parquet: {os.path.relpath(OUT / 'audit')}", highlight=False)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends, too
    sys.exit(main())

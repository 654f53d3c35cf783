"""How much of the CPU of a page, and of a text in an audit, goes into its signature.

    python benchmarks/signature_share.py [DIR]

DIR has the labelled sets of docs/quality.md; without it the example network is used. Takes a minute. Of a
page what workers do is counted: decoding, extraction, signature. Scrapy's own part comes on top. Of an audit
all processes are counted, less what does not grow with the texts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from suite import inputs

from scrapy_neardup import Features, Fingerprinter
from scrapy_neardup.extraction import Page, load_extractor
from scrapy_neardup.extraction.task import extract

if TYPE_CHECKING:
    from scrapy_neardup import MainText, Signature

PAGES = 150
#: Texts of two audits, whose difference counts; and texts that are signed together.
AUDITS, GROUP = (1000, 6000), 16
COMMAND = "from scrapy_neardup.cli import main; main()"


class Timed:
    """Signs texts, and counts the seconds of CPU that this takes."""

    def __init__(self) -> None:
        self.fingerprinter = Fingerprinter(Features(), 1)
        self.seconds = 0.0

    def signature(self, text: str | MainText) -> Signature:
        start = time.thread_time()
        signature = self.fingerprinter.signature(text)
        self.seconds += time.thread_time() - start
        return signature


def of_pages(pages: list[Page], name: str) -> tuple[float, float]:
    """Return seconds of CPU a page in a worker, and those of them that its signature takes."""
    extractor, timed = load_extractor(name), Timed()
    extract(pages[0], extractor, timed)  # imports
    timed.seconds, start = 0.0, time.thread_time()
    for page in pages:
        extract(page, extractor, timed)
    return (time.thread_time() - start) / len(pages), timed.seconds / len(pages)


def audit(texts: list[str], folder: Path) -> float:
    """Audit *texts*; return the seconds of CPU of all processes."""
    file = folder / f"{len(texts)}.jsonl"
    rows = (
        {"url": f"https://h{number % 50}.example/{number}", "text": text} for number, text in enumerate(texts)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = [sys.executable, "-c", COMMAND, "audit", str(file), "--out", str(folder / file.stem)]
    before = children_cpu()
    subprocess.run(command, check=False, capture_output=True, timeout=600)
    return children_cpu() - before


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(what: str, whole: float, part: float) -> None:
    print(f"{what}: {whole * 1000:.2f} ms, of which the signature {part * 1000:.2f}: {part / whole:.2f}")


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    html = inputs.pages(data)[:PAGES]
    pages = [Page(each.encode("utf-8", "surrogatepass"), "https://a.example/", "text/html") for each in html]
    for name in ("segment", "resiliparse"):
        whole, part = of_pages(pages, name)
        show(f"page in a worker, {name}", whole, part)
    known = inputs.texts(data)
    texts = [
        inputs.rewrite(known[number % len(known)], number // len(known)) for number in range(max(AUDITS))
    ]
    with tempfile.TemporaryDirectory() as folder:
        few, many = (audit(texts[:count], Path(folder)) for count in AUDITS)
    whole = (many - few) / (AUDITS[1] - AUDITS[0])
    signed, start = texts[: AUDITS[0]], time.thread_time()
    fingerprinter = Fingerprinter(Features(), 1)
    for place in range(0, len(signed), GROUP):
        list(fingerprinter.signatures(signed[place : place + GROUP]))
    part = (time.thread_time() - start) / len(signed)
    show("text in an audit", whole, part)


if __name__ == "__main__":
    main()

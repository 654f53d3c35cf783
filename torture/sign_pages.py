"""Signs pages by a pool of workers: python -m torture.sign_pages PAGES EXTRACTOR WORKERS SEED.

PAGES is a pickled list of bodies. They are extracted in an order that SEED says, some of them twice. Prints a
JSON list of what each page's signature is, or why there is none.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import sys
from dataclasses import astuple
from pathlib import Path

from scrapy_neardup import Features, Fingerprinter
from scrapy_neardup.extraction import Page, Workers


def main() -> None:
    path, extractor, processes, seed = sys.argv[1:]
    bodies = pickle.loads(Path(path).read_bytes())
    dice = random.Random(int(seed))
    order = dice.sample(range(len(bodies)), len(bodies))
    order += dice.sample(order, len(order) // 4)
    workers = Workers(
        Fingerprinter(Features(), 12345),
        extractor,
        processes=int(processes),
        timeout=60,
        memory=1 << 30,
        max_results=4,
    )
    try:
        futures = [(number, workers.submit(Page(bodies[number], "", "text/html"))) for number in order]
        found: dict[int, set[str]] = {}
        for number, future in futures:
            extraction = future.result()
            said = str(extraction.reason)
            if extraction.signature is not None:
                said = hashlib.sha256(repr(astuple(extraction.signature)).encode()).hexdigest()
            found.setdefault(number, set()).add(said)
    finally:
        workers.close()
    print(json.dumps([sorted(found[number]) for number in range(len(bodies))]))


if __name__ == "__main__":
    main()

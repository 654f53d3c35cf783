"""A second process on an index: reads one JSON command a line, writes one JSON answer a line."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from scrapy_neardup.index import LmdbIndex
from tests.index.small import HEADER, SMALL, documents


def main() -> None:
    tuning = replace(SMALL, group_seconds=0.0)
    index: LmdbIndex | None = None
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: object = None
        if command == "open":
            index = LmdbIndex(Path(arguments[0]), HEADER, tuning=tuning)
        elif index is None:
            answer = "closed"
        elif command == "add":
            answer = index.add(documents(*arguments)).tolist()
        elif command == "discard":
            index.discard(index.search(1, np.array(arguments[0], np.uint64)).document.tolist())
            index.flush()
        elif command == "search":
            found = index.search(0, np.array([arguments[0]], np.uint64), arguments[1])
            answer = sorted(zip(index.fetch(found.document).urls, found.distance.tolist(), strict=True))
        elif command == "close":
            index.close()
            index = None
        print(json.dumps(answer), flush=True)
    if index is not None:
        index.close()


main()

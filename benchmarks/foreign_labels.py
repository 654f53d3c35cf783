"""What others have labelled: copies found and other texts dropped, beside what other libraries do.

    python benchmarks/foreign_labels.py answers DIR
    python benchmarks/foreign_labels.py chains DIR
    python benchmarks/foreign_labels.py letters FILE…

Nothing is downloaded: give what you have got from their authors.

`answers`: Clough and Stevenson, "Developing a corpus of plagiarised short answers" (Language Resources and
Evaluation, 2011), DIR with its texts and `file_information.csv`. Answers that were cut from the source or
reworded lightly are near-duplicates of it (2), reworded ones are not scored (1), those in own words are other
texts (0), of the source and of each other. Each is of a site of its own.

`chains`: Gedikli, Stockem Novo and Jannach, "Automated identification of news story chains" (2021), DIR with
its two tables. Unrelated articles are 0. Those on one event are not scored (1): some are copies of a press
release.

`letters`: archives of a mailing list, as Mailman has them, mbox. They label themselves: letters of one
message id are the same (3), a letter and its answer are two (0). They are of one site.

Ours are the default settings, with the longer text and with the shorter text stored. The others are what
their users set: runs of five words and a similarity of .8, or 3 bits.
"""

from __future__ import annotations

import argparse
import csv
import mailbox
import re
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.audit.evaluate.corpus import Text
from scrapy_neardup.audit.evaluate.curves import judge_with
from scrapy_neardup.audit.evaluate.labelled import judge_orders
from scrapy_neardup.cli.settings import read_options
from scrapy_neardup.fingerprint.jaccard import jaccard, word_shingles
from scrapy_neardup.fingerprint.main_text import main_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_RUN, _LETTERS, _SIMILAR, _BITS = 5, 4, 0.8, 3


class Pair(NamedTuple):
    """Two texts by their names, and what others say of them."""

    one: str
    other: str
    label: str
    kind: str


class Labelled(NamedTuple):
    """Texts and where they are from, by their names, and pairs of them."""

    texts: dict[str, str]
    urls: dict[str, str]
    pairs: list[Pair]


def answers(folder: Path) -> Labelled:
    """Read answers to five questions, each with the article that some of them reuse."""
    with (folder / "file_information.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    # Some of them are in Latin 1.
    texts = {row["File"]: (folder / row["File"]).read_bytes().decode("utf-8", "replace") for row in rows}
    urls = {name: f"https://answer{place}-site.com/" for place, name in enumerate(texts)}
    labels = {"cut": "2", "light": "2", "heavy": "1", "non": "0"}
    sources = {row["Task"]: row["File"] for row in rows if row["Category"] == "orig"}
    given = [row for row in rows if row["Category"] in labels]
    pairs = [
        Pair(row["File"], sources[row["Task"]], labels[row["Category"]], row["Category"]) for row in given
    ]
    for one, other in combinations(given, 2):
        if one["Task"] == other["Task"] and "non" in (one["Category"], other["Category"]):
            pairs.append(Pair(one["File"], other["File"], "0", "two answers"))
    return Labelled(texts, urls, pairs)


def chains(folder: Path) -> Labelled:
    """Read news articles, and which of them two readers have found to be on one event."""
    (file_of_texts,) = folder.glob("*-article_texts.csv")
    file_of_pairs = folder / file_of_texts.name.replace("-article_texts", "")
    with file_of_texts.open(encoding="utf-8-sig", newline="") as file:
        texts = {row["url"]: row["text"] for row in csv.DictReader(file)}
    with file_of_pairs.open(encoding="utf-8-sig", newline="") as file:
        pairs = [
            Pair(
                row["url1"],
                row["url2"],
                *(("1", "related") if row["relation"] == "1" else ("0", "unrelated")),
            )
            for row in csv.DictReader(file, delimiter=";")
            if row["url1"] in texts and row["url2"] in texts
        ]
    return Labelled(texts, {url: url for url in texts}, pairs)


def letters(*files: Path) -> Labelled:
    """Read letters, and which of them answers which."""
    texts: dict[str, str] = {}
    numbers: dict[str, list[str]] = defaultdict(list)
    answered: list[tuple[str, str]] = []
    for file in files:
        for message in mailbox.mbox(str(file), create=False):
            name = f"{file.stem}/{len(texts)}"
            content = message.get_payload(decode=True)
            texts[name] = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
            numbers[str(message["Message-ID"])].append(name)
            answered.append((name, str(message["In-Reply-To"])))
    pairs = [
        Pair(one, other, "3", "one message id")
        for number, names in numbers.items()
        if number != "None"
        for one, other in combinations(names, 2)
    ]
    pairs += [
        Pair(name, other, "0", "answer")
        for name, number in answered
        if number != "None"
        for other in numbers.get(number, ())
    ]
    return Labelled(texts, {name: f"https://letters-site.com/{name}" for name in texts}, pairs)


def found(labelled: Labelled) -> dict[str, NDArray[np.bool_]]:
    """Tell which pairs each way takes for copies, bool[n] by its name."""
    names = [*labelled.texts]
    rows = {name: row for row, name in enumerate(names)}
    a, b = (np.array([rows[pair[side]] for pair in labelled.pairs], np.int64) for side in (0, 1))
    mains = [main_text(labelled.texts[name]) for name in names]
    texts = [
        Text(name, main.text, labelled.urls[name], *main[1:]) for name, main in zip(names, mains, strict=True)
    ]
    judge = judge_with(texts, read_options(()), 0)
    orders = judge_orders(judge.judge, judge.documents, a, b)
    runs = [word_shingles(text, _RUN) for text in labelled.texts.values()]
    similar = [jaccard(runs[x], runs[y]) >= _SIMILAR for x, y in zip(a, b, strict=True)]
    ways = {
        "longer first": orders.longer_first,
        "shorter first": orders.shorter_first,
        "Jaccard ≥ .8": similar,
        **peers([*labelled.texts.values()], runs, a, b),
    }
    return {name: np.asarray(column, bool) for name, column in ways.items()}


def peers(
    texts: list[str], runs: list[NDArray[np.uint64]], a: NDArray[np.int64], b: NDArray[np.int64]
) -> dict[str, list[bool]]:
    """Tell which pairs of texts, *a* and *b*, two libraries take for copies: of the extra "bench"."""
    from datasketch import MinHash, MinHashLSH
    from simhash import Simhash

    lsh, sketches = MinHashLSH(_SIMILAR, 128), [MinHash(128) for _ in runs]
    for row, (each, of) in enumerate(zip(sketches, runs, strict=True)):
        each.update_batch([run.tobytes() for run in of])
        lsh.insert(row, each)
    near = [y in lsh.query(sketches[x]) for x, y in zip(a, b, strict=True)]
    # The library's own way to cut a text; it counts them in a byte, which overflows with NumPy 2.
    bits = [Simhash(_windows("".join(_WORD.findall(text.lower())))) for text in texts]
    close = [bits[x].distance(bits[y]) <= _BITS for x, y in zip(a, b, strict=True)]
    return {"MinHashLSH(128, .8)": near, "simhash ≤ 3": close}


def _windows(letters: str) -> list[str]:
    return [letters[at : at + _LETTERS] for at in range(max(len(letters) - _LETTERS + 1, 1))]


def table(pairs: Sequence[Pair], ways: dict[str, NDArray[np.bool_]]) -> Iterator[str]:
    """Yield the lines of a table: the share of pairs of each kind that each way takes for copies."""
    yield f"| label | kind | pairs | {' | '.join(ways)} |"
    yield "|---" * (3 + len(ways)) + "|"
    kinds = sorted({pair[2:] for pair in pairs}, reverse=True)
    for kind in kinds:
        of = np.array([pair[2:] == kind for pair in pairs], bool)
        shares = (f"{way[of].mean():.3f}" for way in ways.values())
        yield f"| {' | '.join(kind)} | {of.sum()} | {' | '.join(shares)} |"


READERS = {"answers": answers, "chains": chains, "letters": letters}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of one set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("set", choices=READERS)
    parser.add_argument("paths", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    csv.field_size_limit(sys.maxsize)
    labelled = READERS[options.set](*options.paths)
    print("\n".join(table(labelled.pairs, found(labelled))))


if __name__ == "__main__":
    main()

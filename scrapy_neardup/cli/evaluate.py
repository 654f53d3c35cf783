"""``scrapy-neardup evaluate``: how well labelled pairs are told apart."""

from __future__ import annotations

import difflib
import os
import time
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import LINES, WIDTH, RegularFile, json_option, print_json, print_line, print_table, progress
from .settings import read_options, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_neardup.audit.evaluate import LabelledPairs, Orders, Scores
    from scrapy_neardup.audit.pairs import PairJudge
    from scrapy_neardup.audit.texts import Text
    from scrapy_neardup.options import DetectionOptions

_file = RegularFile()
_FIGURES = ("precision", "recall", "F1")


@click.command()
@click.argument("docs", type=_file)
@click.argument("pairs", type=_file)
@set_option
@click.option("--worst", type=click.IntRange(0), default=0, metavar="N", help="Show the N most wrong pairs.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of the hashes.  [default: 0]"
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=1,
    metavar="N",
    help="Judge with N seeds, from --seed on, and show how much the scores depend on them.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for texts extracted from HTML.  [default: the user's cache]",
)
@json_option
def evaluate(
    docs: Path,
    pairs: Path,
    assignments: tuple[str, ...],
    worst: int,
    seed: int,
    seeds: int,
    cache: Path | None,
    as_json: bool,
) -> None:
    """Judge labelled pairs of documents as a crawl would, and score the result.

    DOCS has a JSON object a line (plain or packed): "id" and "text" or "html", and if you have it "url" or
    "host"; without "id" the URL is it. HTML goes through the extractor of the settings.

    PAIRS is a table with a header line, separated by tabs: id1, id2, label and, if you like, kind. Labels: 3
    the same text, 2 a near-duplicate, 0 different; 1 (partly shared) and empty (unsure) are shown, not
    scored.

    Each pair is judged in both orders, with only the document that came first stored: "found" is with the
    second one stored, the last two columns are by length. A page that has much more than the stored one is no
    copy of it, so fewer are found where the shorter came first.
    """
    from scrapy_neardup.audit import evaluate as on

    started = time.monotonic()
    options = read_options(assignments)
    labelled = on.read_pairs(pairs)
    texts = _texts(docs, {*labelled.id1, *labelled.id2}, options, cache or _cache())
    a, b = on.rows_of(labelled, texts)
    orders: dict[int, Orders] = {}
    wrong: list[dict[str, Any]] = []
    with progress("Fingerprinting") as bar:
        for drawn in [(seed + number) % 2**32 for number in range(seeds)]:
            judge = on.judge_with(texts, options, drawn, lambda done: bar(done, len(texts)))
            orders[drawn] = on.judge_orders(judge, a, b)
            if worst and drawn == seed:
                wrong = [*_worst(labelled, texts, orders[drawn], judge, worst)]
    result = on.score(labelled, [*orders.values()])
    by_seed = {drawn: on.score(labelled, [one]).near for drawn, one in orders.items()}
    if as_json:
        facts = {
            "settings": dict(each.split("=", 1) for each in assignments),
            "pairs": len(labelled.label),
            "by_kind": [asdict(row) for row in result.rows],
            **asdict(result.near),
            "same": asdict(result.same),
            "by_seed": [{"seed": each, **asdict(scores)} for each, scores in by_seed.items()],
            "seconds": round(time.monotonic() - started, 3),
        }
        print_json(facts | ({"worst": wrong} if worst else {}))
        return
    print_table(
        f"{pairs}: judged duplicate" + (f", each pair with {seeds} seeds" * (seeds > 1)),
        ["label", "kind", "pairs", "found", "share", "longer first", "shorter first"],
        [
            (
                *(row.label or "-", row.kind, row.n, row.found),
                *(f"{count / row.n:.3f}" for count in (row.found, row.longer_first, row.shorter_first)),
            )
            for row in result.rows
        ],
    )
    _print_scores("Scores", "positives", {"3 and 2": result.near, "3": result.same})
    if seeds > 1:
        _print_scores("Scores by seed, with 3 and 2 as positives", "seed", by_seed)
    for pair in wrong:
        _print_wrong(pair)


def _texts(docs: Path, wanted: set[str], options: DetectionOptions, cache: Path) -> list[Text]:
    from scrapy_neardup.audit.texts import read_texts

    with progress("Extracting the texts") as bar:
        texts = read_texts(
            docs,
            wanted,
            extractor=options.extractor,
            timeout=options.extract_timeout,
            memory=options.extract_memory,
            area=options.area,
            cache=cache / "texts.sqlite",
            advance=lambda done: bar(done, len(wanted)),
        )
    return [texts[key] for key in sorted(texts)]


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "scrapy-neardup")


def _print_scores(title: str, name: str, scores: Mapping[Any, Scores]) -> None:
    print_table(title, [name, *_FIGURES], [(str(of), *_figures(each)) for of, each in scores.items()])


def _figures(scores: Scores) -> tuple[str, str, str]:
    return f"{scores.precision:.3f}", f"{scores.recall:.3f}", f"{scores.f1:.3f}"


def _worst(
    pairs: LabelledPairs, texts: Sequence[Text], orders: Orders, judge: PairJudge, count: int
) -> Iterator[dict[str, Any]]:
    """Yield the *count* pairs that are judged most wrongly, as JSON has them.

    *step* is what decided, *difference* the first lines that only one of the texts has, of so many *lines*.
    """
    from scrapy_neardup.audit.evaluate import rows_of, steps, worst

    judgement = orders.second_stored
    a, b = rows_of(pairs, texts)
    said = [*steps(judge, a, b)]
    for row in worst(pairs, orders, count):
        one, other = (texts[rows[row]].text.splitlines() for rows in (a, b))
        changed = islice(difflib.unified_diff(one, other, n=0, lineterm=""), 2, None)  # without its head
        difference = [line[:WIDTH] for line in changed if not line.startswith("@@")]
        yield {
            **{name: getattr(pairs, name)[row] for name in ("id1", "id2", "label", "kind")},
            "found": bool(orders.longer_first[row] or orders.shorter_first[row]),
            "step": said[row],
            "distance": int(judgement.distance[row]),
            "similarity": round(float(judgement.similarity[row]), 4),
            "containment": round(float(judgement.containment[row]), 4),
            "difference": difference[:LINES],
            "lines": len(difference),
        }


def _print_wrong(pair: dict[str, Any]) -> None:
    print_line("")
    print_line(
        "label {label}, {judged}: {id1} | {id2} ({kinds}distance {distance}, similarity {similarity:.2f}, "
        "containment {containment:.2f})".format(
            **pair,
            judged="judged duplicate" if pair["found"] else "missed",
            kinds=f"{pair['kind']}; " if pair["kind"] else "",
        )
    )
    rest = pair["lines"] - len(pair["difference"])
    for line in [pair["step"], *pair["difference"], *[f"… {rest} more lines"] * (rest > 0)]:
        print_line(f"  {line}")

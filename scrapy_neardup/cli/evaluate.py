"""``scrapy-neardup evaluate``: how well labelled pairs are told apart."""

from __future__ import annotations

import difflib
import os
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import LINES, WIDTH, RegularFile, print_json, print_line, print_table, progress
from .settings import read_options, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_neardup.audit.evaluate import Group, LabelledPairs, Orders, Outcome, Result, Scores
    from scrapy_neardup.audit.pairs import PairJudge
    from scrapy_neardup.audit.texts import Text
    from scrapy_neardup.options import DetectionOptions

_file = RegularFile()
#: Hosts and languages that are shown.
_GROUPS = 20


def _picture(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    if path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise click.BadParameter(f"{path} ends in {path.suffix or 'nothing'}: use .svg, .png or .pdf.")
    return path


@click.command()
@click.argument("docs", type=RegularFile(folder=True))
@click.argument("pairs", type=_file)
@set_option
@click.option(
    "--all-pairs", is_flag=True, help="Compare every document with every other, and score what is found."
)
@click.option(
    "--compare", is_flag=True, help="Run all schemes side by side and draw precision against recall."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("evaluate.svg"),
    show_default=True,
    callback=_picture,
    help="Picture that --compare draws (.svg, .png or .pdf).",
)
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(
    docs: Path,
    pairs: Path,
    assignments: tuple[str, ...],
    all_pairs: bool,
    compare: bool,
    plot: Path,
    worst: int,
    seed: int,
    seeds: int,
    cache: Path | None,
    as_json: bool,
) -> None:
    """Judge labelled pairs of documents as a crawl would, and score the result.

    DOCS has a JSON object a line (plain or packed): "id" and "text" or "html", and if you have it "url" or
    "host", and "lang"; HTML goes through the extractor of the settings. Or it is a source of an audit, such
    as a feed, an archive, or the directory that the audit has written: the ids are URLs then.

    PAIRS is a table with a header line, separated by tabs: id1, id2, label and, if you like, kind. Labels: 3
    the same text, 2 a near-duplicate, 0 different; 1 (partly shared) and empty (unsure) are shown, not
    scored.

    Each pair is judged in both orders, with only the document that came first stored: "found" is with the
    second one stored, the last two columns are by length. A page that has much more than the stored one is no
    copy of it, so fewer are found where the shorter came first. The scores of a host or a language are of the
    pairs with a document of it.
    """
    from scrapy_neardup.audit.evaluate import by_document, read_pairs, require_drawing, score

    if compare and (worst or all_pairs or seeds > 1):
        option = "--worst" if worst else "--all-pairs" if all_pairs else "--seeds"
        raise click.UsageError(f"{option} looks at one scheme, --compare at all: leave out one of them.")
    if compare:
        require_drawing()
    started = time.monotonic()
    options = read_options(assignments)
    labelled = read_pairs(pairs)
    texts = _texts(docs, None if all_pairs else {*labelled.id1, *labelled.id2}, options, cache or _cache())
    if compare:
        _compare(texts, labelled, assignments, seed, plot, as_json)
        return
    drawn = [(seed + number) % 2**32 for number in range(seeds)]
    judged = [_judge(texts, labelled, options, each, all_pairs=all_pairs) for each in drawn]
    first, extra, judge = judged[0]
    orders = [each for each, _, _ in judged]
    result = score(labelled, orders)
    seeds_apart = {each: score(labelled, [one]).near for each, one in zip(drawn, orders, strict=True)}
    groups = by_document(labelled, orders, _groups(texts))
    facts = _facts_of(assignments, labelled, result, seeds_apart, groups, time.monotonic() - started) | extra
    wrong = _find_worst(labelled, texts, first, judge, worst) if worst else ()
    if as_json:
        print_json(facts | ({"worst": [asdict(pair) for pair in wrong]} if worst else {}))
        return
    _print_scores(f"{pairs}: judged duplicate", result, seeds_apart, groups)
    for name, value in extra.items():
        print_line(f"{name.replace('_', ' ')}: {value}")
    for pair in wrong:
        _print_wrong(pair)


def _texts(docs: Path, wanted: set[str] | None, options: DetectionOptions, cache: Path) -> list[Text]:
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
            advance=lambda done: bar(done, len(wanted or ()) or done),
        )
    return [texts[key] for key in sorted(texts)]


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "scrapy-neardup")


def _judge(
    texts: list[Text], labelled: LabelledPairs, options: DetectionOptions, seed: int, *, all_pairs: bool
) -> tuple[Orders, dict[str, Any], PairJudge]:
    from scrapy_neardup.audit.evaluate import judge_orders, judge_with, rows_of

    a, b = rows_of(labelled, texts)
    with progress("Fingerprinting") as bar:
        judge = judge_with(texts, options, seed, lambda done: bar(done, len(texts)))
    if not all_pairs:
        return judge_orders(judge.judge, judge.documents, a, b), {}, judge
    from scrapy_neardup.audit.evaluate import find_all

    found = find_all(judge)
    extra = {"pairs_found": len(found.a), "pairs_found_unlabelled": found.without(a, b)}
    return judge_orders(found.of, judge.documents, a, b), extra, judge


def _groups(texts: list[Text]) -> dict[str, dict[str, str]]:
    """Return the host and the language of each document by its identifier; "" if that is not known."""
    from scrapy_neardup.audit.urls import split_url

    return {
        "host": {text.id: split_url(text.url).host for text in texts},
        "language": {text.id: text.language for text in texts},
    }


def _compare(
    texts: list[Text],
    labelled: LabelledPairs,
    assignments: tuple[str, ...],
    seed: int,
    plot: Path,
    as_json: bool,
) -> None:
    from scrapy_neardup.audit.evaluate import VARIANTS, compare, draw

    outcomes: list[Outcome] = []
    with progress("Comparing schemes") as bar:
        for done, variant in enumerate(VARIANTS):
            bar(done, len(VARIANTS))
            outcomes += compare(
                texts, labelled, variant, lambda extra: read_options((*assignments, *extra)), seed
            )
    draw(outcomes, plot)
    rows = [
        (each.name, each.setting, f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}")
        for each in outcomes
        for s in (each.scores,)
    ]
    if as_json:
        print_json([{"name": o.name, "setting": o.setting, **asdict(o.scores)} for o in outcomes])
    else:
        print_table("Schemes", ["scheme", "setting", "precision", "recall", "F1"], rows)
        print_line(f"Precision against recall: {plot}")


def _print_scores(title: str, result: Result, seeds: dict[int, Scores], groups: list[Group]) -> None:
    """Print the *result* over all *seeds*, the scores of each, and those of *groups* of documents."""
    print_table(
        title + (f", each pair with {len(seeds)} seeds" * (len(seeds) > 1)),
        ["label", "kind", "pairs", "found", "share", "longer first", "shorter first"],
        [
            (
                *(row.label or "-", row.kind, row.n, row.found),
                *(f"{count / row.n:.3f}" for count in (row.found, row.longer_first, row.shorter_first)),
            )
            for row in result.rows
        ],
    )
    print_table(
        "Scores",
        ["positives", "precision", "recall", "F1"],
        [(name, *_figures(scores)) for name, scores in (("3 and 2", result.near), ("3", result.same))],
    )
    _print_groups(groups)
    if len(seeds) > 1:
        print_table(
            "Scores by seed, with 3 and 2 as positives",
            ["seed", "precision", "recall", "F1"],
            [(str(each), *_figures(scores)) for each, scores in seeds.items()],
        )


def _facts_of(
    assignments: tuple[str, ...],
    labelled: LabelledPairs,
    result: Result,
    seeds: dict[int, Scores],
    groups: list[Group],
    seconds: float,
) -> dict[str, Any]:
    """Return what JSON says of an evaluation: its *result* over all *seeds*, and the scores of each."""
    return {
        "settings": dict(each.split("=", 1) for each in assignments),
        "pairs": len(labelled.label),
        "by_kind": [asdict(row) for row in result.rows],
        **asdict(result.near),
        "same": asdict(result.same),
        "by_document": [each._asdict() | {"near": asdict(each.near)} for each in groups],
        "by_seed": [{"seed": each, **asdict(scores)} for each, scores in seeds.items()],
        "seconds": round(seconds, 3),
    }


def _print_groups(groups: list[Group]) -> None:
    """Print the scores by host and by language, where there are several."""
    for by in dict.fromkeys(each.by for each in groups):
        own = [each for each in groups if each.by == by]
        if len(own) > 1:
            print_table(
                f"Scores by {by}, with 3 and 2 as positives"
                + (f": {_GROUPS} of {len(own):,}" * (len(own) > _GROUPS)),
                [by, "pairs", "3 and 2", "0", "precision", "recall", "F1"],
                [
                    (each.name, f"{each.n:,}", f"{each.alike:,}", f"{each.different:,}", *_figures(each.near))
                    for each in own[:_GROUPS]
                ],
            )


def _figures(scores: Scores) -> tuple[str, str, str]:
    return f"{scores.precision:.3f}", f"{scores.recall:.3f}", f"{scores.f1:.3f}"


@dataclass(frozen=True)
class _Wrong:
    """A pair that is not judged as it is labelled."""

    id1: str
    id2: str
    label: str
    kind: str
    #: Whether it was judged a duplicate, and which step decided that.
    found: bool
    step: str
    distance: int
    similarity: float
    containment: float
    #: The first lines that only one of the texts has, and how many there are.
    difference: list[str]
    lines: int


def _find_worst(
    pairs: LabelledPairs, texts: Sequence[Text], orders: Orders, judge: PairJudge, count: int
) -> Iterator[_Wrong]:
    """Yield the *count* pairs that are judged most wrongly."""
    from scrapy_neardup.audit.evaluate import rows_of, steps, worst

    judgement = orders.second_stored
    a, b = rows_of(pairs, texts)
    said = [*steps(judge, a, b, judgement)]
    for row in worst(pairs, orders, count):
        one, other = (texts[rows[row]].text.splitlines() for rows in (a, b))
        changed = islice(difflib.unified_diff(one, other, n=0, lineterm=""), 2, None)  # without its head
        difference = [line[:WIDTH] for line in changed if not line.startswith("@@")]
        yield _Wrong(
            pairs.id1[row], pairs.id2[row], pairs.label[row], pairs.kind[row],
            bool(orders.longer_first[row] or orders.shorter_first[row]), said[row],
            int(judgement.distance[row]), round(float(judgement.similarity[row]), 4),
            round(float(judgement.containment[row]), 4), difference[:LINES], len(difference),
        )  # fmt: skip


def _print_wrong(pair: _Wrong) -> None:
    """Print a pair."""
    print_line("")
    kind = f"{pair.kind}; " if pair.kind else ""
    print_line(
        f"label {pair.label}, {'judged duplicate' if pair.found else 'missed'}: {pair.id1} | {pair.id2} "
        f"({kind}distance {pair.distance}, similarity {pair.similarity:.2f}, "
        f"containment {pair.containment:.2f})"
    )
    print_line(f"  {pair.step}")
    for line in pair.difference:
        print_line(f"  {line}")
    if pair.lines > len(pair.difference):
        print_line(f"  … {pair.lines - len(pair.difference)} more lines")

"""`benchmarks/foreign_labels.py` reads what others have labelled, here lines of our own, and scores it."""

from __future__ import annotations

import csv
import random
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "lmnrst"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script without the libraries that it compares with."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = import_module("foreign_labels")
    monkeypatch.setattr(module, "peers", lambda *given: {})
    return module


def text(seed: int, words: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words)).capitalize() + "."


def write(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def printed(script: ModuleType, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[list[str]]:
    """The cells of the table, without its head."""
    script.main([*map(str, arguments)])
    return [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]


def test_answers(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"orig": text(0), "cut": text(0), "heavy": text(1), "non": text(2)}
    for category, answer in given.items():
        (tmp_path / f"{category}.txt").write_bytes(f"{answer} Caf\u00e9.".encode("latin-1"))
    write(
        tmp_path / "file_information.csv", [{"File": f"{c}.txt", "Task": "a", "Category": c} for c in given]
    )
    assert printed(script, capsys, "answers", tmp_path) == [
        ["2", "cut", "1", *["1.000"] * 3],
        ["1", "heavy", "1", *["0.000"] * 3],
        ["0", "two answers", "2", *["0.000"] * 3],
        ["0", "non", "1", *["0.000"] * 3],
    ]


def test_chains(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {f"https://{name}-site.com/1": text(seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))}
    a, b, c = texts
    write(tmp_path / "news-article_texts.csv", [{"url": url, "text": said} for url, said in texts.items()])
    pairs = [
        {"url1": one, "url2": other, "relation": relation}
        for one, other, relation in ((a, b, "1"), (a, c, "0"), (b, c, "0"), (a, "https://gone-site.com", "0"))
    ]
    write(tmp_path / "news.csv", pairs, ";")
    assert printed(script, capsys, "chains", tmp_path) == [
        ["1", "related", "1", *["1.000"] * 3],
        ["0", "unrelated", "2", *["0.000"] * 3],
    ]


def test_letters(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    letter = text(0)
    quotation = "\n".join(f"> {letter[start : start + 60]}" for start in range(0, len(letter), 60))
    bodies = [("1", "", letter), ("2", "1", f"Ann wrote:\n{quotation}\n\n{text(1, 45)}"), ("1", "", letter)]
    (tmp_path / "may.txt").write_text(
        "".join(
            f"From ann at list-site.com  Sat May  1 00:02:31 2010\nMessage-ID: <{number}@list-site.com>\n"
            + (f"In-Reply-To: <{answered}@list-site.com>\n" if answered else "")
            + f"\n{body}\n\n"
            for number, answered, body in bodies
        )
    )
    same, answer = printed(script, capsys, "letters", tmp_path / "may.txt")
    assert same == ["3", "one message id", "1", *["1.000"] * 3]
    assert answer[:5] == ["0", "answer", "2", "0.000", "0.000"]

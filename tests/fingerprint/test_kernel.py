"""The compiled kernel makes the signatures that NumPy makes, of any text, and trusts no input."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Features, Fingerprinter, MainText, kernel, load_scheme
from scrapy_neardup.fingerprint.schemes import Anchored
from scrapy_neardup.fingerprint.tokens import class_table
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

TESTS = Path(__file__).parents[1]

if not kernel.AVAILABLE:
    assert not os.environ.get("KERNEL_REQUIRED"), "the kernel is missing: make kernel"
    pytest.skip("needs the compiled kernel: make kernel", allow_module_level=True)


class ByNumPy(Anchored):
    """The default scheme under another name, which the kernel leaves to NumPy."""


#: What tokens, their lengths, figures, occasions and tidying turn on.
PIECES = st.sampled_from(
    [
        *" \n.,:-'",
        *"a1٣१Ⅷéßİ漢字々〇かなカーナไทยကខລາវ한글ﷺ",
        *"\u0301\u0e31\u0e48\u3099\u200d\u0000\u001f\ud800\udfff\U0001f600\U00020000\U000e0100\U0010ffff",
        *(letter * size for letter, size in zip("bcdefgh", (7, 8, 9, 15, 16, 17, 31), strict=True)),
        *(letter * size for letter, size in zip("ijklm", (32, 33, 127, 128, 129), strict=True)),
        "19.99",
        "2031-05-07",
        "the ",
        "keyword ",
        "15:00 - 19:00\n",
        "A sentence of some words that are long enough to be a paragraph of a page.\n",
    ]
)
TEXTS = st.text(st.characters(exclude_categories=())) | st.lists(PIECES, max_size=200).map("".join)
SEEDS = st.integers(0, 2**32 - 1)
WORDS = [
    "the",
    "of",
    "crawl",
    "market",
    "minister",
    "12",
    "3.5",
    "08:15",
    "Überschrift",
    "новости",
    "東京",
    "タワー",
]


def compare(pages: Iterable[str | MainText], seed: int = 1, features: Features | None = None) -> None:
    features = features or Features()
    by_kernel, by_numpy = Fingerprinter(features, seed), Fingerprinter(features, seed, ByNumPy())
    for page in pages:
        assert by_kernel.signature(page) == by_numpy.signature(page)


@given(TEXTS, TEXTS, TEXTS, SEEDS)
@examples(2000)
def test_signatures_are_those_of_numpy(text: str, title: str, details: str, seed: int) -> None:
    compare([text, MainText(text, title, details)], seed)


@given(TEXTS, SEEDS)
@examples(200)
def test_signatures_of_all_paragraphs_are_too(text: str, seed: int) -> None:
    compare([text], seed, Features(min_paragraph=0))


@given(st.lists(st.sampled_from(WORDS), min_size=100, max_size=3000), SEEDS)
@examples(100)
def test_signatures_of_long_texts_are_too(words: list[str], seed: int) -> None:
    compare([" ".join(words), MainText("", " ".join(words), "\n".join(words))], seed)


@pytest.mark.parametrize(
    "count", [0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13, 30, 119, 120, 121, 122, 240, 300, 301, 5000]
)
@pytest.mark.parametrize(
    "words", [["w"], ["東"], ["か"], ["w", "東"], ["か", "7", "が"], ["7.5"], ["7"]], ids="".join
)
def test_every_bound_is_where_numpy_has_it(count: int, words: list[str]) -> None:
    alike = [words[number % len(words)] for number in range(count)]
    other = [f"{word}{number}" for number, word in enumerate(alike)]
    for each in (alike, other):
        compare([" ".join(each), MainText("".join(each), "\n".join(each), " ".join(each))])


def test_texts_of_files_are_signed_alike() -> None:
    files = [*TESTS.glob("walls/*.txt"), *(path for path in TESTS.glob("corpus/*/*") if path.is_file())]
    assert len(files) > 100
    compare(path.read_bytes()[: 1 << 16].decode("utf-8", "surrogateescape") for path in files)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "x " * 1_000_000,
        "漢" * 1_000_000,
        "か\u0301" * 500_000,
        "\ud800" * 1_000_000,
        "\n" * 1_000_000,
    ],
    ids=["a token", "words", "characters", "marks", "surrogates", "newlines"],
)
def test_long_texts_are_signed_alike(text: str) -> None:
    compare([MainText(text, text[:1000], text[:1000])])


def test_very_many_figures_are_signed_alike() -> None:
    draw = random.Random(3)
    numbers = " ".join(f"{draw.random():.6f}" for _ in range(100_000))
    compare([MainText("", numbers, numbers)])


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=30), SEEDS)
@examples(500)
def test_bytes_that_are_no_text_do_no_harm(main: bytes, details: bytes, title: bytes, seed: int) -> None:
    signed = kernel.sign(main, details, title, class_table(), seed, b"")
    assert [len(part) for part in signed[4:]] == [96, 32, 16, 16, 32, 64]


@given(st.binary(max_size=100), st.sampled_from([0, 1, 2, 5, 6, 255]))
def test_classes_that_are_none_do_no_harm(text: bytes, kind: int) -> None:
    kernel.sign(text, text, text, bytes([kind]) * len(class_table()), 1, b"")


def test_more_tokens_than_a_text_can_have_are_refused() -> None:
    with pytest.raises(ValueError, match="no classes"):
        kernel.sign(b"abcd", b"", b"", b"\3" * len(class_table()), 1, b"")


@pytest.mark.parametrize(
    ("classes", "occasion"), [(b"", b""), (class_table()[1:], b""), (class_table(), b"1234567")]
)
def test_arguments_of_other_sizes_are_refused(classes: bytes, occasion: bytes) -> None:
    with pytest.raises(ValueError, match="needed"):
        kernel.sign(b"", b"", b"", classes, 1, occasion)


def test_other_threads_go_on_meanwhile() -> None:
    done, seen = Event(), [0]

    def count() -> None:
        while not done.wait(0.0002):
            seen[0] += 1

    text = b"word " * 4_000_000
    thread = Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # so that threads change only where one gives way
    thread.start()
    try:
        before = seen[0]
        kernel.sign(text, b"", b"", class_table(), 1, b"")
        assert seen[0] > before
    finally:
        done.set()
        sys.setswitchinterval(interval)
        thread.join()


@pytest.mark.parametrize(
    ("features", "scheme"),
    [
        (Features(shingle=2), Anchored()),
        (Features(units="characters"), Anchored()),
        (Features(weight="tf"), Anchored()),
        (Features(sketch_shingle=4), Anchored()),
        (Features(stop_words="en"), Anchored()),
        (Features(segmenter="rjieba"), Anchored()),
        (Features(), load_scheme("simhash")),
        (Features(), load_scheme("minhash")),
        (Features(), ByNumPy()),
    ],
)
def test_it_is_used_for_what_it_was_made_for_alone(features: Features, scheme: Anchored) -> None:
    assert not kernel.is_made_for(features, scheme)
    assert kernel.is_made_for(
        Features(min_paragraph=0), load_scheme("simhash+anchors", tables=10, distance=2)
    )


@pytest.mark.parametrize(("value", "available"), [("0", "False"), ("1", "True"), ("", "True")])
def test_it_can_be_switched_off(value: str, available: str) -> None:
    code = "from scrapy_neardup.fingerprint import kernel; print(kernel.AVAILABLE)"
    environment = {**os.environ, "NEARDUP_KERNEL": value, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == available

"""What cannot work is refused where it comes in, with a sentence: never rounded, wrapped or mistaken."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrapy_neardup import (
    ConfigurationError,
    Detector,
    Features,
    Fingerprinter,
    FingerprintIndex,
    hamming,
    simhash,
)
from scrapy_neardup.arguments import escaped
from scrapy_neardup.audit import audit
from scrapy_neardup.audit.sources.records import SourceUnavailable
from scrapy_neardup.extraction import Page, Workers, load_extractor

NAN, HASHES = math.nan, np.arange(9, dtype=np.uint64)
#: No fingerprints, one or several of them.
NONE: list[Any] = [-1, 2**64, 1.5, 2.0, NAN, math.inf, "7", None, b"x", 1j]
ARRAYS: list[Any] = [[each] for each in NONE] + [
    [2**63, -1], [2**63, 1, 1.5], np.array([-1]), np.array([1.0]), np.array([NAN]), np.array(["a"]),
    np.array(None),
]  # fmt: skip


def refused(call: Callable[[], object], kind: type[Exception] = ConfigurationError) -> None:
    """Expect one sentence, not what Python or NumPy happen to say of it."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert not any(bare in message for bare in ("unhashable", "argument", "attribute", "supported", "dtype"))


@pytest.mark.parametrize("value", [*NONE, *ARRAYS])
def test_hamming_is_of_fingerprints(value: Any) -> None:
    refused(lambda: hamming(value, 0))
    refused(lambda: hamming(HASHES, value))


def test_an_index_of_fingerprints() -> None:
    with FingerprintIndex.open("memory:") as index:
        for value in ARRAYS:
            refused(lambda value=value: index.add(value))  # type: ignore[misc]
        for value in [2.5, NAN, -1, 8, "3", None, True]:
            refused(lambda value=value: index.search([1], value))  # type: ignore[misc]
        for value in [1.5, [NAN], "0", [None], 2**63]:
            refused(lambda value=value: index.forget(value))  # type: ignore[misc]
            refused(lambda value=value: index.fingerprints(value))  # type: ignore[misc]
        refused(lambda: index.add([[1, 2], [3, 4]]))
        refused(lambda: index.fingerprints([-1]))
        assert index.gauges()["documents"] == 0
        numbers = index.add([2**63, 1, 2**64 - 1])  # as one array NumPy would make floats of these
        assert index.fingerprints(numbers).tolist() == [2**63, 1, 2**64 - 1]
        assert index.add([]).tolist() == []
        assert index.search(np.int32([1, 3]), np.int8(1)).document.tolist() == [1, 1]
        index.forget(np.uint8(1))
        assert index.search(1, 0).document.tolist() == []


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_paths_that_no_file_system_takes(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (Detector.open, FingerprintIndex.open):
        refused(lambda call=call: call(""))  # type: ignore[misc]
        assert not [*tmp_path.iterdir()]
        refused(lambda call=call: call(str(tmp_path / path)))  # type: ignore[misc]
        refused(lambda call=call: call(7), TypeError)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("min_tokens", [-1, 2.5, NAN, "40", None, True]),
        ("window", [0, -1, NAN, math.inf, "7", True]),
        ("distance", [-1, 8, 2.5, 3.0, NAN, "3", None, True]),
        ("tables", [3, 4.0, NAN, "4", None]),
        ("threshold", [0, 1, -1, NAN, "0.5", None, True]),
    ],
)
def test_options_of_a_detector(name: str, values: list[Any], tmp_path: Path) -> None:
    for value in values:
        refused(lambda value=value: Detector.open(tmp_path / "index", **{name: value}))  # type: ignore[misc]
    assert not (tmp_path / "index").exists()


def test_types(tmp_path: Path) -> None:
    detector = Detector.open()
    opening = {"scheme": 7, "features": {"shingle": 2}, "extractor": None, "reset": "False"}
    for name, value in opening.items():
        refused(lambda value=value, name=name: Detector.open(tmp_path / "index", **{name: value}), TypeError)  # type: ignore[misc, arg-type]
    assert not (tmp_path / "index").exists()
    calls: list[Callable[[], object]] = [
        lambda: detector.check(b"text", "u"),  # type: ignore[arg-type]
        lambda: detector.add("text", 7),  # type: ignore[arg-type]
        lambda: detector.reserve("text", None),  # type: ignore[arg-type]
        lambda: detector.check("text", "u", scope=7),  # type: ignore[arg-type]
        lambda: detector.forget(b"u"),  # type: ignore[arg-type]
        lambda: detector.signature(None),  # type: ignore[arg-type]
        lambda: Features(stop_words=["en"]),  # type: ignore[arg-type]
        lambda: Features(segmenter=7),  # type: ignore[arg-type]
        lambda: Fingerprinter({"shingle": 2}),  # type: ignore[arg-type]
        lambda: Fingerprinter(scheme="simhash"),  # type: ignore[arg-type]
        lambda: simhash("text", None),  # type: ignore[arg-type]
        lambda: simhash(b"text"),  # type: ignore[arg-type]
        lambda: list(Fingerprinter().signatures(["a", 7])),  # type: ignore[list-item]
        lambda: load_extractor(7),  # type: ignore[arg-type]
        lambda: Page("text", "u", None),  # type: ignore[arg-type]
        lambda: Page(b"", None, None),  # type: ignore[arg-type]
        lambda: Page(b"", "u", b"text/html"),  # type: ignore[arg-type]
    ]
    for call in calls:
        refused(call, TypeError)
    detector.close()


def test_seeds() -> None:
    for seed in (-1, 2**32, 1.0, NAN, "1", None):
        refused(lambda seed=seed: Fingerprinter(seed=seed))  # type: ignore[misc]
        refused(lambda seed=seed: simhash("text", seed=seed))  # type: ignore[misc]


def test_sources_of_an_audit() -> None:
    for sources in (None, 7, [None], [["a.jl"]]):
        refused(lambda sources=sources: audit(sources), TypeError)  # type: ignore[misc]
    for sources in ("", [""]):
        refused(lambda sources=sources: audit(sources))  # type: ignore[misc]
    refused(lambda: audit([]), SourceUnavailable)


def test_workers() -> None:
    limits: dict[str, Any] = {"processes": 1, "timeout": 1, "memory": 1 << 30}
    for name, values in (
        ("processes", [0, -1, 1.5, "2"]),
        ("timeout", [0, -1, NAN, "1"]),
        ("memory", [0, 1.5, "1G"]),
    ):
        for value in values:
            refused(lambda limits={**limits, name: value}: Workers(Fingerprinter(), "plain", **limits))  # type: ignore[misc]
    workers = Workers(Fingerprinter(), "plain", **limits)
    refused(lambda: workers.submit(b"<p>text"), TypeError)  # type: ignore[arg-type]
    workers.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("ä 😀\n", "ä 😀\n"), ("a\ud800b", "a\\ud800b"), ("\udc80\udcff", "\\udc80\\udcff")],
)
def test_surrogates_are_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.slow
def test_any_text_in_every_public_function(tmp_path: Path) -> None:
    """Code in C that is handed a lone surrogate in a str may end the process."""
    script = Path(__file__).with_name("helpers") / "any_text.py"
    command = [sys.executable, "-X", "faulthandler", str(script), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr

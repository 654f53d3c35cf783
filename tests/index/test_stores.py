"""An index is opened by a path, or by a URL whose scheme says which back-end holds it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import FingerprintIndex, LmdbIndex, open_index
from tests.index.small import HEADER, documents


def test_a_file_url_and_a_path_name_the_same_directory(tmp_path: Path) -> None:
    directory = tmp_path / "an index"
    with closing(open_index(directory.as_uri(), HEADER)) as index:
        assert isinstance(index, LmdbIndex)
        index.add(documents([1], ["u1"]))
        with (
            closing(open_index(str(directory), HEADER)) as same,
            closing(open_index(directory, None)) as again,
        ):
            assert same is again is index


@pytest.mark.parametrize(
    "url",
    [
        "memcached://localhost:6379/0",
        "Memcached://localhost",
        "https://example.com/index",
        "file://elsewhere/index",
        "file:index",
        "file:///index?mode=ro",
        "file:///index#one",
    ],
)
def test_a_url_that_nothing_opens_is_one_sentence_and_makes_no_directory(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for open_ in (Detector.open, FingerprintIndex.open, lambda url: open_index(url, HEADER)):
        with pytest.raises(ConfigurationError, match=r"use the path of a directory .* memory:, redis:"):
            open_(url)
    assert not any(tmp_path.iterdir())


def test_a_directory_may_have_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ("news:2024", Path("memory:")):
        with closing(open_index(where, HEADER)) as index:
            assert isinstance(index, LmdbIndex)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory:", "news:2024"]

"""An index is opened by a path, or by a URL whose scheme says which back-end holds it."""

from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError, IndexUnavailable
from scrapy_neardup.index import FingerprintIndex, LmdbIndex, open_index
from tests.index.small import HEADER, has, store


def test_all_names_of_a_directory_are_one_index(tmp_path: Path) -> None:
    directory, link = tmp_path / "an index", tmp_path / "link"
    link.symlink_to(directory)
    names = [directory.as_uri(), str(directory), directory, link]
    one, *others = (open_index(name, HEADER if number < 2 else None) for number, name in enumerate(names))
    assert isinstance(one, LmdbIndex)
    assert all(other is one for other in others)
    for each in (one, *others):
        store(one, 1)
        each.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        has(one, 1)
    with closing(open_index(directory, HEADER)) as again:
        assert again is not one
        assert again.gauges()["documents"] == len(names)


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

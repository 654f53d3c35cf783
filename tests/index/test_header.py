"""A header that was damaged, or that somebody else wrote, is refused in a sentence and costs nothing."""

import json
import time
from typing import Any

import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.index import Header
from scrapy_neardup.matching.records import fingerprinter_of, header_for, scheme_of

HEADER = header_for(Fingerprinter(), "plain 1")


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(HEADER.to_json()), **fields}).encode()


def test_a_sound_header_comes_back_as_it_was() -> None:
    assert Header.from_json(HEADER.to_json()) == HEADER


@pytest.mark.parametrize(
    "fields",
    [
        {"record": [["digest", "(1,("]]},
        {"record": [["digest", "(1000000000,)u1"]]},
        {"record": [["digest", "O"]]},
        {"families": [{"tables": {"blocks": 64, "distance": 32}, "keys": 1}]},
        {"families": [{"tables": {"blocks": 4, "distance": 3}, "keys": 10**12}]},
        {"families": [{"tables": {"blocks": 4, "distance": 3}, "keys": 1.5}]},
        {"families": [{"tables": {"blocks": 4, "distance": 4}, "keys": 1}]},
        {"families": [{"tables": {"blocks": 4, "distance": 3}, "keys": 1}] * 5000},
        {"seed": "7"},
        {"seed": 2**32},
        {"parameters": []},
        {"uuid": 7},
        {"created": None},
    ],
)
def test_what_no_index_has(fields: dict[str, Any]) -> None:
    started = time.process_time()
    with pytest.raises(IndexCorrupted, match="header of the index cannot be read"):
        Header.from_json(changed(**fields))
    assert time.process_time() - started < 3  # all choices of 32 blocks out of 64 would take for ever


@pytest.mark.parametrize("changes", [{"scheme": None}, {"features": None}, {"weather": "fair"}])
def test_features_or_a_scheme_that_are_missing_or_of_another_version(changes: dict[str, Any]) -> None:
    """As in an index of bare fingerprints."""
    parameters = {**HEADER.parameters, "features": {**HEADER.parameters["features"], **changes}}
    parameters = {name: value for name, value in parameters.items() if changes.get(name, "") is not None}
    header = Header.from_json(changed(parameters=parameters))
    with pytest.raises(IndexMismatch, match="The index h"):
        fingerprinter_of(header, scheme_of(header))

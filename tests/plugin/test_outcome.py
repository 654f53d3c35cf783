"""What is said of a duplicate, and what its exceptions carry."""

from __future__ import annotations

import logging

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from scrapy_neardup.plugin import NearDuplicateItem, NearDuplicatePage
from scrapy_neardup.plugin.outcome import clear_marks, describe, mark, match_of
from scrapy_neardup.verdict import Verdict

URL = "https://b.example/"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict("exact", url=URL), "an exact copy of <https://b.example/>"),
        (Verdict("exact", url=URL, distance=0), "an exact copy of <https://b.example/> (distance 0)"),
        (
            Verdict("near", url=URL, similarity=0.916),
            "a near-duplicate of <https://b.example/> (similarity 0.92)",
        ),
        (
            Verdict("near", url=URL, distance=2, similarity=0.5),
            "a near-duplicate of <https://b.example/> (distance 2, similarity 0.50)",
        ),
        (Verdict("revisit", url=URL), "an unchanged revisit of <https://b.example/>"),
    ],
)
def test_what_is_said(verdict, said):
    assert describe(verdict) == said
    response = HtmlResponse("https://a.example/")
    page = NearDuplicatePage(response, verdict)
    assert str(page) == f"https://a.example/ is {said}"
    assert (page.response, page.verdict) == (response, verdict)
    item = NearDuplicateItem({"a": 1}, "https://a.example/", verdict)
    assert str(item) == f"https://a.example/ is {said}"
    assert (item.item, item.verdict, item.page) == ({"a": 1}, verdict, None)
    assert logging.getLevelName(item.log_level) in ("DEBUG", logging.DEBUG)
    assert NearDuplicateItem({}, "", verdict, response).page is response


def test_marks():
    verdict = Verdict("near", url=f"{URL}\udc80", distance=2, similarity=0.5)
    match = {"url": f"{URL}\\udc80", "kind": "near", "distance": 2, "similarity": 0.5, "policy": "tag"}
    assert match_of(verdict, "tag") == match
    assert match_of(Verdict("unique"), "tag")["url"] is None
    for unchanged in (False, True):
        revisit = Verdict("revisit", url=URL, unchanged=unchanged)
        response = HtmlResponse(URL, request=Request(URL))
        mark(response, revisit, "keep")
        assert response.meta == {
            "neardup_verdict": "revisit",
            "neardup_revisit": {**match_of(revisit, "keep"), "changed": not unchanged},
        }


def test_marks_of_an_earlier_page_are_removed():
    names = ("verdict", "match", "revisit", "better_than")
    response = HtmlResponse("https://a.example/", flags=["cached", "neardup"])
    request = response.follow(
        "/", meta={"mine": 1, "neardup": "tag", **{f"neardup_{name}": 1 for name in names}}
    )
    clear_marks(request)
    assert request.meta == {"mine": 1, "neardup": "tag"}
    assert response.flags == ["cached", "neardup"]
    for _ in range(2):
        clear_marks(request, response)
        assert response.flags == ["cached"]

"""What a site repeats on many pages is left out before pages are compared, and shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_neardup.audit import audit

from .corpora import feed, text

if TYPE_CHECKING:
    from pathlib import Path

NOTICE = "\n".join(text(("notice", n), 60) for n in range(5))


def rows(host: str, count: int, own: int = 80) -> list[dict[str, Any]]:
    return [
        {
            "url": f"https://{host}/{n}",
            "title": f"Page {n} {text(n, 2)}",
            "text": f"{text((host, n), own)}\n{NOTICE}",
        }
        for n in range(count)
    ]


def verdicts(found: Any) -> list[str]:
    return found.pages["verdict"].tolist()  # type: ignore[no-any-return]


def test_pages_that_share_the_notices_of_their_site_are_no_copies(tmp_path: Path) -> None:
    crawl = [*rows("a.example", 20), {**rows("a.example", 1)[0], "url": "https://a.example/copy"}]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert verdicts(found).count("unique") == 20
        assert verdicts(found).count("exact") == 1
        (left_out,) = found.boilerplate
        assert (left_out["pages"], left_out["paragraphs"]) == (21, 5)
        assert left_out["example"] in NOTICE
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["boilerplate"][0] == {
        "host": "a.example", "paragraphs": 5, "pages": 21, "example": left_out["example"],
    }  # fmt: skip
    assert left_out["example"] in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_what_stands_on_few_pages_or_under_one_title_is_no_boilerplate(tmp_path: Path) -> None:
    story = [
        {"url": f"https://b.example/{n}", "title": "Story", "text": text("story") + f"\n{NOTICE}"}
        for n in range(20)
    ]
    with audit(feed(tmp_path / "a.jl", [*rows("a.example", 14), *story]), seed=0) as found:
        assert found.boilerplate == ()
        assert verdicts(found)[-20:].count("exact") == 19


def test_sites_are_counted_apart(tmp_path: Path) -> None:
    crawl = [row for n in range(20) for row in rows(f"site{n}.example", 2)]
    with audit(feed(tmp_path / "a.jl", crawl), seed=0) as found:
        assert found.boilerplate == ()


def test_a_page_of_nothing_but_boilerplate_is_too_short(tmp_path: Path) -> None:
    crawl = [*rows("a.example", 20), {"url": "https://a.example/x", "title": "Nothing", "text": NOTICE}]
    with audit(feed(tmp_path / "a.jl", crawl), seed=0) as found:
        assert found.pages["verdict"][found.pages["url"] == "https://a.example/x"].tolist() == ["too_short"]


def test_pages_of_other_clauses_are_no_copies_because_all_clauses_are_left_out(tmp_path: Path) -> None:
    clauses, rest = NOTICE.split("\n"), text("rest")
    crawl = rows("c.example", 20)
    for name, own in (("a", clauses[:2]), ("b", clauses[2:4]), ("again", clauses[:2])):
        crawl.append({"url": f"https://c.example/{name}", "title": "Terms", "text": "\n".join([*own, rest])})
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert found.boilerplate[0]["paragraphs"] == 5
        assert "exact" in verdicts(found)
    dropped = (tmp_path / "out" / "drop.txt").read_text().split()
    assert len(dropped) == 1
    assert dropped[0] != "https://c.example/b"

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
    crawl += [{"url": "https://a.example/x", "title": "Nothing", "text": NOTICE}]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert [verdicts(found).count(each) for each in ("unique", "exact", "too_short")] == [20, 1, 1]
        (left_out,) = found.boilerplate
    assert left_out.pop("example") in NOTICE
    assert left_out == {"host": "a.example", "paragraphs": 5, "pages": 22}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    example = summary["boilerplate"][0].pop("example")
    assert summary["boilerplate"] == [left_out]
    assert example in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_what_stands_on_few_pages_of_each_site_or_under_one_title_is_no_boilerplate(tmp_path: Path) -> None:
    story = {"title": "Story", "text": text("story") + f"\n{NOTICE}"}
    copies = [{"url": f"https://b.example/{n}", **story} for n in range(20)]
    sites = [row for n in range(20) for row in rows(f"site{n}.example", 2)]
    with audit(feed(tmp_path / "a.jl", [*rows("a.example", 14), *copies, *sites]), seed=0) as found:
        assert found.boilerplate == ()
        assert verdicts(found).count("exact") == 19


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

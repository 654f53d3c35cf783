"""What a site repeats on many pages is left out before pages are compared, and shown."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.crawl import rest_of, widespread
from scrapy_neardup.audit.reading import paragraph_keys
from scrapy_neardup.fingerprint.main_text import MainText

from .corpora import feed, text

LONG = (
    "It is a long paragraph of some twenty words or more, which an editor has put on every page of this site."
)
OTHER = (
    "Another one of as many words, which is about the page that it stands on, and about nothing else at "
    "all, ever."
)
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


def test_pages_that_share_the_notices_of_their_site_are_no_copies(tmp_path: Path) -> None:
    crawl = [*rows("a.example", 20), {**rows("a.example", 1)[0], "url": "https://a.example/copy"}]
    crawl += [{"url": "https://a.example/x", "title": "Nothing", "text": NOTICE}]
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert [found.pages["verdict"].tolist().count(each) for each in ("unique", "exact", "too_short")] == [
            20,
            1,
            1,
        ]
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
        assert found.pages["verdict"].tolist().count("exact") == 19


def test_pages_of_other_clauses_are_no_copies_because_all_clauses_are_left_out(tmp_path: Path) -> None:
    clauses, rest = NOTICE.split("\n"), text("rest")
    crawl = rows("c.example", 20)
    for name, own in (("a", clauses[:2]), ("b", clauses[2:4]), ("again", clauses[:2])):
        crawl.append({"url": f"https://c.example/{name}", "title": "Terms", "text": "\n".join([*own, rest])})
    with audit(feed(tmp_path / "a.jl", crawl), tmp_path / "out", seed=0) as found:
        assert found.boilerplate[0]["paragraphs"] == 5
        assert "exact" in found.pages["verdict"].tolist()
    dropped = (tmp_path / "out" / "drop.txt").read_text().split()
    assert len(dropped) == 1
    assert dropped[0] != "https://c.example/b"


ROW = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 6))


@given(st.lists(ROW, max_size=60), st.integers(1, 5))
@example([(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 1), (1, 1, 2), (2, 1, 2)], 2)
@example([(0, 0, 0), (1, 0, 1), (2, 0, 2)], 2)
@example([(0, 0, 0), (1, 0, 1), (1, 0, 2)], 2)
def test_as_a_plain_count(rows: list[tuple[int, int, int]], least: int) -> None:
    titles = defaultdict(set)
    for site, key, title in rows:
        titles[site, key].add(title)
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    found = widespread(columns[0], columns[1].astype(np.uint64), columns[2], least)
    assert found.tolist() == [len(titles[site, key]) >= least for site, key, _ in rows]


def test_long_paragraphs_alone_have_keys() -> None:
    chinese = (
        "本网站的所有内容均受著作权法保护,未经书面许可,任何单位和个人不得转载、摘编或以其他方式使用上述作品。"
    )
    assert paragraph_keys(f"Short.\n{LONG}\n") == paragraph_keys(f"\n  {LONG.upper()}  ")
    assert len(paragraph_keys(f"{LONG}\n{OTHER}\n{chinese}")) == 3
    assert len({*paragraph_keys(f"{LONG}\n{OTHER}\n{LONG}")}) == 2
    assert paragraph_keys("\n".join(LONG.split())) == []
    for letters in ("\u00e9" * 120, "word " * 19 + "word", "\u00e9 " + "word " * 18 + "word"):
        assert len(paragraph_keys(letters)) == 1
        assert paragraph_keys(letters[1:] if " " not in letters else letters.partition(" ")[2]) == []


def test_the_rest_of_a_text_stays_as_it_is() -> None:
    text = f"A title\n{LONG}\n{OTHER}\n\nAn end"
    rest = rest_of(MainText(text), paragraph_keys(LONG), "called").text
    assert rest == f"A title\n{OTHER}\n\nAn end"


def test_what_pages_without_a_url_share_is_told_in_one_row_but_for_those_that_name_their_site(
    tmp_path: Path,
) -> None:
    for sheet, link in (("a", ""), ("b", ""), ("c", "<link rel=canonical href=https://c.example/{}>")):
        for number in range(20):
            head = f"<link rel=stylesheet href={sheet}.css><title>{text((sheet, number), 4)}</title>"
            body = f"<p>{text((sheet, number, 'own'), 90)}.<p>{text(sheet, 60)}."
            page = f"<html><head>{link.format(number)}{head}</head><body>{body}</body></html>"
            (tmp_path / f"{sheet}{number}.html").write_text(page)
    with audit(tmp_path, tmp_path / "out", seed=0) as found:
        assert {each["host"]: each["pages"] for each in found.boilerplate} == {"": 40, "c.example": 20}
        assert len(found.boilerplate) == 2

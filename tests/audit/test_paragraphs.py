"""Paragraphs of a site are boilerplate if they stand under many titles: as a plain count has it."""

from collections import defaultdict

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.audit.paragraphs import paragraph_keys, widespread, without_paragraphs

LONG = (
    "It is a long paragraph of some twenty words or more, which an editor has put on every page of this site."
)
OTHER = (
    "Another one of as many words, which is about the page that it stands on, and about nothing else at "
    "all, ever."
)
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
    assert without_paragraphs(text, paragraph_keys(LONG)) == f"A title\n{OTHER}\n\nAn end"
    assert without_paragraphs(text, set()) == text

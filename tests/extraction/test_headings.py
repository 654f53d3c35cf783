"""What heads further articles, in many languages."""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.extraction.headings import heads_more
from scrapy_neardup.extraction.headingwords import FURTHER


@pytest.mark.parametrize(
    "text",
    ["Related", "Related articles", "You may also like", "More from Politics", "Read next", "Most read",
     "» Trending now",
     "Mehr zum Thema", "Lesen Sie auch", "Weitere Artikel", "À lire aussi", "Articles similaires",
     "Más noticias",
     "Te puede interesar", "Leia também", "Leggi anche", "Zobacz także", "Czytaj również", "Читайте также",
     "Другие новости",
     "Čtěte také", "Související články", "Kapcsolódó cikkek", "Citește și", "Διαβάστε επίσης",
     "İlgili Haberler",
     "Çok okunanlar", "Читайте також", "Вижте още", "Прочитајте још", "קראו גם", "بیشتر بخوانید", "यह भी पढ़ें",
     "আরও পড়ুন", "อ่านเพิ่มเติม", "Tin liên quan", "Baca juga:", "관련기사", "相關新聞", "Les også", "Lue myös",
     "Loe ka", "Voir aussi", "Skaitykite taip pat", "წაიკითხეთ აგრეთვე",
     "相关阅读", "推荐", "関連記事", "اقرأ أيضا", "Lees ook", "Läs också"],
)  # fmt: skip
def test_headings_over_further_articles(text: str) -> None:
    assert heads_more(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "Relations", "Nothing more", "Moreover", "A latest plan", "Weite Wege", "More information",
        "Popularity",
        "Mehr Ausgaben für Schulen", "Das könnte teuer werden", "Meer overlast", "Souvislosti", "İlk haber",
    ],
)  # fmt: skip
def test_what_heads_no_further_articles(text: str) -> None:
    assert not heads_more(text)


def test_every_part_is_met_as_it_is_written() -> None:
    for language, each in FURTHER.items():
        for part in each.replace("\n", "|").split("|"):
            text = part.strip().rstrip("$")
            for form in (text, text.capitalize(), f"» {text}"):
                assert heads_more(form), (language, form)


@pytest.mark.parametrize("unit", ["1", "-", "a", "read ", "you may ", "ملفات ", "more 1"])
def test_texts_take_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    heads_more(text)
    heads_more(text[:79])
    assert time.process_time() - started < 1  # milliseconds

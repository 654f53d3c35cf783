"""What headings and other short lines say of the parts of a page, in many languages."""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.extraction.headings import heads_comments, heads_more, speaks_of_consent
from scrapy_neardup.extraction.headingwords import COUNTED, FURTHER, READERS


@pytest.mark.parametrize(
    "text",
    ["Comments", "3 Comments", "12 responses to “The old harbour”", "Leave a Reply", "Add a comment",
     "Comments (4)",
     "4 Kommentare", "Kommentar schreiben", "Leserkommentare", "Commentaires", "2 commentaires",
     "Laisser un commentaire",
     "Comentarios", "Deja un comentario", "Komentarze", "3 komentarze", "Комментарии (2)", "5 комментариев",
     "评论",
     "Komentáře", "Komentari (12)", "3 komentarji", "Коментарі", "5 коментарів", "Hozzászólások", "Σχόλια",
     "12 σχόλια", "Kommentarer", "2 kommenttia", "Lasă un comentariu", "Yorum yaz", "תגובות",
     "نظرات", "ارسال نظر",
     "2 टिप्पणियाँ", "মন্তব্য করুন", "แสดงความคิดเห็น", "Bình luận", "Tinggalkan komentar", "댓글 3", "8 댓글",
     "კომენტარები", "Opinie (3)", "Réactions", "Обсуждение (3)", "124 Reader Comments",
     "发表评论", "コメント", "Commenti", "Reacties", "Yorumlar", "التعليقات", "Comentários", "# Comments"],
)  # fmt: skip
def test_headings_over_comments(text: str) -> None:
    assert heads_comments(text)


@pytest.mark.parametrize(
    "text",
    ["", "Commentary", "No comment", "The council comments on the plan for the harbour and on what it costs",
     "3 ships",
     "Kommentar", "Reply", "Opinie z rynku", "Komentar Presiden tentang anggaran", "Обсуждение результатов",
     "Réactions chimiques", "Diskuse výsledků", "Komentari trenera poslije utakmice",
     "How to write a comment in Python", "Comments " + "x" * 80, "2020 Commenters", "Opinion"],
)  # fmt: skip
def test_what_heads_no_comments(text: str) -> None:
    assert not heads_comments(text)


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


def test_consent() -> None:
    assert all(
        map(
            speaks_of_consent,
            (
                "We use Cookies.",
                "Файлы куки",
                "クッキー",
                "nach DSGVO",
                "the GDPR",
                "Ta strona używa ciasteczek",
                "Koristimo kolačiće",
                "Çerezler",
                "נעשה שימוש בעוגיות",
                "ما از کوکی استفاده می‌کنیم",
                "Sessionscookies",
            ),
        )
    )
    assert not any(map(speaks_of_consent, ("", "The cook is here", "Rodos")))


@pytest.mark.parametrize("lists", [COUNTED, READERS, FURTHER])
def test_every_part_is_met_as_it_is_written(lists: dict[str, str]) -> None:
    tell, before = (
        (heads_more, "") if lists is FURTHER else (heads_comments, "3 " if lists is COUNTED else "")
    )
    for language, each in lists.items():
        for part in each.replace("\n", "|").split("|"):
            text = before + part.strip().rstrip("$=")
            for form in (text, text.capitalize(), f"» {text}"):
                assert tell(form), (language, form)


@pytest.mark.parametrize("unit", ["1", "-", "a", "comment ", "leave a ", "cooki", "ملفات ", "komentari 1"])
def test_texts_take_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    for tell in (heads_comments, heads_more, speaks_of_consent):
        tell(text)
        tell(text[:79])
    assert time.process_time() - started < 3  # .1 s

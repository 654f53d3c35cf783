"""The paragraph filter keeps the article, drops what stands around it, and leaves short texts whole."""

from __future__ import annotations

import pytest
import regex

from scrapy_neardup.fingerprint.paragraphs import FALLBACK, length, long_paragraphs

ENGLISH = "the ministry said on friday that the two bridges would stay closed until the end of next spring."
CHINESE = "交通部周五表示，两座桥梁将继续关闭，直到明年春末才会重新开放。"
JAPANESE = "運輸省は金曜日、二つの橋は来年の春の終わりまで閉鎖されたままになると発表した。"
KOREAN = "국토부는 금요일 두 다리가 내년 봄 말까지 계속 폐쇄될 것이라고 밝혔다."
RUSSIAN = "министерство сообщило в пятницу, что оба моста останутся закрытыми до конца следующей весны."
THAI = "กระทรวงกล่าวเมื่อวันศุกร์ว่าสะพานทั้งสองแห่งจะยังคงปิดอยู่จนถึงปลายฤดูใบไม้ผลิปีหน้า"


@pytest.mark.parametrize("sentence", [CHINESE, JAPANESE, KOREAN, RUSSIAN, THAI])
def test_a_sentence_is_about_as_long_in_every_script(sentence: str) -> None:
    assert 0.6 < length(sentence) / length(ENGLISH) < 1.4


def test_every_character_of_these_scripts_counts_as_more_than_one() -> None:
    """The quick look at which scripts a text has passes over none of their characters."""
    characters = "".join(map(chr, range(0x40000)))
    for script, letters in ((r"\p{Han}", 3), (r"[\p{Hiragana}\p{Katakana}\p{Hangul}]", 2)):
        found = regex.findall(script, characters)
        assert len(found) > 10_000
        assert {length(f"a{character}") for character in found} == {1 + letters}


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE, JAPANESE, KOREAN, RUSSIAN, THAI])
def test_short_lines_around_an_article_are_dropped(sentence: str) -> None:
    article = "\n".join([sentence * 2] * 6)
    assert long_paragraphs(f"share\n{article}\n10 comments", 80)[0] == article


def test_a_text_of_short_lines_is_kept_whole() -> None:
    poem = "\n".join(["so much depends", "upon", "a red wheel barrow", "glazed with rain water"] * 10)
    assert long_paragraphs(poem, 80)[0] == poem


def test_a_text_with_little_left_is_kept_whole() -> None:
    line = "x" * 100
    enough = "\n".join([line] * (FALLBACK // 100))
    assert long_paragraphs(f"{enough}\nshort", 80)[0] == enough
    too_little = "\n".join([line] * (FALLBACK // 100 - 1))
    assert long_paragraphs(f"{too_little}\nshort", 80)[0] == f"{too_little}\nshort"


def test_zero_keeps_all() -> None:
    text = "\n".join(["a", ENGLISH * 5, "b"])
    assert long_paragraphs(text, 0)[0] == text
    assert long_paragraphs("", 80)[0] == ""

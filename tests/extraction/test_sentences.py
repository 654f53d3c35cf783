"""The main text is the sentences of what was extracted, of all that is visible if that is far more, or all of it."""

from __future__ import annotations

import pytest

from scrapy_neardup.extraction.sentences import main_text
from scrapy_neardup.fingerprint.paragraphs import length

from .hostile import CHINESE, ENGLISH, FRENCH, RUSSIAN

ARABIC = (
    "وافق المجلس يوم الثلاثاء على خطة لتجديد الميناء القديم، تبلغ كلفتها اثني عشر مليونا وتستغرق ثلاث سنوات."
    " ورحب سكان الشوارع المجاورة بالقرار، لكنهم سألوا كيف ستبقى لياليهم هادئة، فهل من جواب؟"
)
GREEK = (
    "Το συμβούλιο ενέκρινε την Τρίτη ένα σχέδιο για το παλιό λιμάνι, που θα κοστίσει δώδεκα εκατομμύρια και θα"
    " διαρκέσει τρία χρόνια. Οι κάτοικοι των γύρω δρόμων χαιρέτισαν την απόφαση."
)
SHORT = "So the harbour will stay open, said the mayor on Tuesday night."  # 63 letters


def page(*paragraphs: str) -> str:
    return "<html><body>" + "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs) + "</body></html>"


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE, RUSSIAN, FRENCH, ARABIC, GREEK])
def test_paragraphs_that_end_like_a_sentence_are_kept(sentence: str) -> None:
    kept = [sentence] * (2000 // length(sentence) + 1)
    around = [
        "Home",
        "Photo: " + "x" * 80,
        "Read more about the harbour and its past in our archive of twelve years",
    ]
    extracted = "\n".join([around[0], *kept, *around[1:]])
    assert main_text(extracted, page(*around, *kept)) == "\n".join(kept)


@pytest.mark.parametrize(
    "end", [".", "!", "?", "…", ":", ".”", ".»", '."', ".)", "。", "。」", "؟", "।", ".  "]
)
def test_ends_of_sentences(end: str) -> None:
    line = ENGLISH.rstrip(".") + end
    extracted = "\n".join([line] * 8)
    assert main_text(f"{extracted}\nwithout an end", "") == extracted


@pytest.mark.parametrize("end", ["", ",", " –", "›", " 12"])
def test_what_is_no_end(end: str) -> None:
    extracted = "\n".join([ENGLISH] * 8)
    assert main_text(f"{extracted}\n{ENGLISH.rstrip('.')}{end}", "") == extracted


def test_all_visible_sentences_if_they_are_three_times_as_many() -> None:
    others = [f"{ENGLISH} {number}." for number in range(12)]
    teaser = f"{ENGLISH}\n{ENGLISH}"
    visible = page("Menu", *others, SHORT)
    # Of all that is visible only paragraphs of 100 letters count, because the boilerplate is visible, too.
    assert main_text(teaser, visible) == "\n".join(others)
    half = "\n".join(others[:5])
    assert main_text(half, visible) == half


def test_what_has_2000_letters_was_not_missed() -> None:
    extracted = "\n".join([ENGLISH] * 7)
    assert len(extracted) >= 2000
    assert main_text(extracted, page(*[FRENCH] * 40)) == extracted


@pytest.mark.parametrize(
    "extracted", ["", "Short note", "- one\n- two\n- three\n" * 100, f"Title\n{ENGLISH}\nBy the editors"]
)
def test_lists_and_short_notes_are_taken_whole(extracted: str) -> None:
    assert main_text(extracted, page(*extracted.split("\n"))) == extracted


def test_a_page_that_the_extractor_lost_is_read_as_a_whole() -> None:
    paragraphs = [f"{RUSSIAN} {number}." for number in range(4)]
    assert main_text("", page("Меню", *paragraphs, "Контакты")) == "\n".join(paragraphs)


def test_a_script_without_full_stops_is_taken_whole() -> None:
    thai = "สภาเมืองเห็นชอบแผนปรับปรุงท่าเรือเก่าเมื่อวันอังคาร ซึ่งจะใช้เงินสิบสองล้านและใช้เวลาสามปี ชาวบ้านยินดีกับการตัดสินใจนี้"
    extracted = "\n".join([thai] * 12)
    assert main_text(extracted, page(*extracted.split("\n"))) == extracted

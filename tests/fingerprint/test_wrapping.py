"""Text broken into lines of a width is put together again; text that is not stays as it is."""

from __future__ import annotations

import textwrap
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import unwrapped

PARAGRAPHS = [
    (
        "The council agreed on Tuesday to a plan for the old harbour, which will cost twelve million and "
        "take three years."
    ),
    (
        "Residents of the streets around it welcomed the decision, but asked how their nights would stay "
        "quiet while trucks pass their windows, and whether the fish market, which most of them visit once a "
        "week, would have to move."
    ),
    (
        "Work on the northern quay begins in spring, said the mayor, and the fish market stays open "
        "throughout. No one will lose a stall, she added, and the rents, which were raised two years ago, "
        "remain where they are until the end."
    ),
]
WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=11), min_size=60, max_size=120).map(" ".join)


def wrapped(
    paragraphs: list[str], width: int, *, indent: int = 0, margin: int = 0, blank: bool = True
) -> str:
    return ("\n\n" if blank else "\n").join(
        textwrap.fill(
            paragraph,
            width,
            initial_indent=" " * (margin + indent),
            subsequent_indent=" " * margin,
            break_on_hyphens=False,
        )
        for paragraph in paragraphs
    )


@pytest.mark.parametrize("width", [60, 65, 72, 80])
@pytest.mark.parametrize(
    ("indent", "margin", "blank"), [(0, 0, True), (4, 0, False), (4, 0, True), (0, 3, True)]
)
def test_wrapped_paragraphs_are_whole_again(width: int, indent: int, margin: int, blank: bool) -> None:
    text = wrapped(PARAGRAPHS, width, indent=indent, margin=margin, blank=blank)
    assert [line for line in unwrapped(text).split("\n") if line] == PARAGRAPHS


def test_accents_of_their_own_take_no_room() -> None:
    paragraphs = [text.replace("e", "é").replace("o", "ö") for text in PARAGRAPHS]
    text = unicodedata.normalize("NFD", wrapped(paragraphs, 60))
    assert [line for line in unwrapped(text).split("\n") if line] == paragraphs


#: Lines of 30 characters that take two columns each; a full stop hangs over the second one.
JAPANESE = (
    "市役所は来月から図書館の開館時間を一時間延ばすと発表した。利\n用者から、仕事の後にも本を借りたいという要望が多かったためだ。\n"
    "夜の受付には新しい職員が二人つき、子どもの本の部屋も開けてお\nく。来年の春に利用者の数を調べ、続けるかどうかを決める。"
)
HINDI = (
    "बीना की नगर परिषद फरवरी की सात तारीख को शाम\nको नगर भवन के बड़े हॉल में बैठेगी। कार्यसूची में महापौर\n"
    "मोहन शर्मा की रिपोर्ट, आने वाले वर्ष का बजट और पुल\nकी मरम्मत शामिल हैं। नागरिक बैठक के आरंभ में प्रश्न पूछ\n"
    "सकते हैं। जो नहीं आ सकते वे रेडियो पर बैठक सुन सकते हैं।\nकार्यवाही हमेशा की तरह अगली बैठक के बाद प्रकाशित\n"
    "की जाएगी और पुस्तकालय में पढ़ी जा सकती है।"
)


@pytest.mark.parametrize("text", [JAPANESE, HINDI], ids=["wide characters", "vowel signs of no width"])
def test_width_is_that_of_columns(text: str) -> None:
    assert unwrapped(text) == text.replace("\n", " ")
    assert unwrapped(f"{text}\n\n{text}").count("\n") == 2


@given(st.lists(WORDS, min_size=2, max_size=4), st.integers(40, 90), st.booleans())
def test_any_words_are_whole_again(paragraphs: list[str], width: int, blank: bool) -> None:
    text = wrapped(paragraphs, width, indent=0 if blank else 4, blank=blank)
    # A last line that happens to be full cannot be told from others.
    assert unwrapped(text).split() == text.split()
    # Words that leave all lines shorter than a wrapped text may be cannot be told either.
    if blank and max(map(len, text.split("\n"))) >= 40:
        assert [line for line in unwrapped(text).split("\n") if line] == paragraphs


@given(st.text(alphabet=st.sampled_from("ab \n\t\u3000é東"), max_size=400))
def test_words_stay_as_they_are(text: str) -> None:
    assert unwrapped(text).split() == text.split()


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(PARAGRAPHS),
        "\n".join(f"Station {number}  09:{number:02}  platform {number % 7}" for number in range(40)),
        (
            "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould "
            "frame thy fearful symmetry?\nIn what distant deeps or skies,\nBurnt the fire of thine eyes?"
        ),
        (
            "市役所は道路を通行止めにすると発表した。理由は水道管の取り替えである。住民は歩いて帰ることができる。\n"
            "図書館は来月から開館時間を一時間延ばす。利用者から要望が多かったためだ。\n"
            "公園の桜が咲き始めた。週末には多くの人が訪れる見込みで、臨時の駐車場が設けられる。\n夏祭りは今年も中止になる。"
        ),
        (
            "\u3000市役所は道路を通行止めにすると発表した。理由は水道管の取り替え。\n"
            "\u3000図書館は来月から開館時間を一時間延ばす。利用者の要望が多かった。\n"
            "\u3000公園の桜が咲き始めた。臨時の駐車場がいくつも設けられる見込みだ。\n\u3000夏祭りは今年も中止。"
        ),
        "one line",
        "",
        "\n\n",
    ],
    ids=["paragraphs", "timetable", "poem", "japanese", "indented", "line", "empty", "blank"],
)
def test_what_is_not_wrapped_stays(text: str) -> None:
    assert unwrapped(text) == text


def test_copies_of_other_widths_have_one_digest() -> None:
    sign = Fingerprinter().signature
    signatures = [sign(wrapped(PARAGRAPHS, width)) for width in (65, 72, 80)]
    assert len({each.digest for each in signatures} | {sign("\n".join(PARAGRAPHS)).digest}) == 1
    assert len({each.fingerprint for each in signatures}) == 1


def test_time_is_linear_in_runs_of_marks() -> None:
    """Else a page of accents holds up the event loop, from whatever thread, for a quarter of a minute."""

    def seconds(length: int) -> float:
        text = "x" + "\u0301\u0323" * (length // 2) + "\n"
        started = time.process_time()
        unwrapped(text)
        return time.process_time() - started

    # Sixteen times the text: sixteen times the time if it is linear, 256 times if it is quadratic.
    assert min(seconds(64_000) for _ in range(3)) < 64 * min(seconds(4_000) for _ in range(3))

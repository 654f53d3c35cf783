"""Plain texts: wrapped lines are put together, what a letter quotes is left out, long paragraphs are kept."""

import random
import textwrap

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint.main_text import (
    is_paragraph,
    length,
    long_paragraphs,
    parted,
    quoted_lines,
    unwrapped,
)

WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=11), min_size=60, max_size=120).map(" ".join)


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


@given(
    st.lists(WORDS, min_size=2, max_size=4),
    st.integers(40, 90),
    st.sampled_from(["\n\n", "\n    "]),
    st.booleans(),
)
def test_wrapped_paragraphs_are_whole_again(
    paragraphs: list[str], width: int, between: str, margin: bool
) -> None:
    marks = {"initial_indent": "   " * margin, "subsequent_indent": "   " * margin, "break_on_hyphens": False}
    text = between.join(textwrap.fill(paragraph, width, **marks) for paragraph in paragraphs)
    # A last line that happens to be full cannot be told from others.
    assert unwrapped(text).split() == text.split()
    # Words that leave all lines shorter than a wrapped text may be cannot be told either.
    if between == "\n\n" and max(map(len, text.split("\n"))) >= 40 + 3 * margin:
        assert [line for line in unwrapped(text).split("\n") if line] == paragraphs


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["The council agreed on Tuesday to a plan for the harbour, which takes three years."] * 3),
        "\n".join(f"Station {number}  09:{number:02}  platform {number % 7}" for number in range(40)),
        (
            "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould "
            "frame thy fearful symmetry?\nIn what distant deeps or skies,\nBurnt the fire of thine eyes?"
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
    ids=["paragraphs", "timetable", "poem", "indented", "line", "empty", "blank"],
)
def test_what_is_not_wrapped_stays(text: str) -> None:
    assert unwrapped(text) == text


QUOTED = ["> The harbour stays open all summer, for the first", "> time in many years.", ">"]


@pytest.mark.parametrize(
    "source",
    ["On Monday, Ann Lee wrote:", "Ann Lee a écrit :", "Анна Ли писала:", "Ann Lee <ann@quay.example>:"],
)
@pytest.mark.parametrize("between", [[], ["", ""]])
@pytest.mark.parametrize("mark", ["> ", "|> ", ">> ", "> > "])
def test_lines_that_a_letter_quotes(source: str, between: list[str], mark: str) -> None:
    """Some programs put a stroke before the mark; who leaves out one of two letters begins with two marks."""
    letter = [
        source,
        *between,
        *(mark + line[2:] for line in QUOTED),
        "And so it should.",
        "> Is it?",
        "Yes.",
    ]
    own = [line for line, quoted in zip(letter, quoted_lines(letter), strict=True) if not quoted]
    assert own == [source, *between, "And so it should.", "Yes."]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Nothing is quoted here: not a line."],
        QUOTED,  # and nothing said
        ["On Monday Ann wrote:", *QUOTED],
        ["Somebody said", *QUOTED, "and went."],  # nobody who knows whom
        ["Try this:", "> npm install", "> npm start", "Now it runs."],
        ["Numbers are printed:", ">>> print(1.5)  # as they are, whatever the language of the user.", "1.5"],
        [
            "1c1",
            "< The harbour is closed.",
            "---",
            "> The harbour stays open all summer, for the first time.",
        ],
    ],
)
def test_what_quotes_nothing(lines: list[str]) -> None:
    assert quoted_lines(lines) == [False] * len(lines)


def test_what_a_letter_says_and_what_it_quotes() -> None:
    letter = ["On Monday, Ann Lee wrote:", *QUOTED, "--", "And so it should.", "Yes."]
    own = ["On Monday, Ann Lee wrote:", "--", "And so it should.", "Yes."]
    assert parted("\n".join(letter)) == ("\n".join(own), "\n".join(QUOTED))
    for text in ("", "a > b", "One line.\nAnother, where 2 > 1.\n", "Yes. 2 > 1.\n-- \nBob Ray"):
        assert parted(text) == (text, "")


def letter_of(dice: random.Random, words: int) -> str:
    return " ".join("".join(dice.choices("bdfglmnrst", k=5)) for _ in range(words)).capitalize() + "."


@pytest.mark.parametrize("mark", ["> ", "|> "])
def test_an_answer_in_plain_text_is_no_copy_of_the_letter_that_it_quotes(mark: str) -> None:
    """It was: most of its words are those of the letter."""
    dice = random.Random(13)
    letter = [letter_of(dice, 50) for _ in range(4)]
    marks = {"initial_indent": mark, "subsequent_indent": mark}
    quoted = "\n".join(textwrap.fill(each, 66, **marks) for each in letter)
    answer = textwrap.fill(letter_of(dice, 45), 70)
    with Detector.open() as detector:
        said = "\n\n".join(textwrap.fill(each, 70) for each in letter)
        assert detector.add(said, url="https://list-site.com/1").kind == "unique"
        text = f"On Monday, Ann Lee wrote:\n{quoted}\n\n{answer}\n"
        assert detector.add(text, url="https://list-site.com/2").kind == "unique"
        # And an answer to that, which quotes both, is another one.
        twice = "\n".join(f"> {line}" for line in (*quoted.split("\n"), *answer.split("\n")))
        again = textwrap.fill(letter_of(dice, 45), 70)
        text = f"On Tuesday, Bob Ray wrote:\n{twice}\n\n{again}\n"
        assert detector.add(text, url="https://list-site.com/3").kind == "unique"


ENGLISH = "the ministry said on friday that the two bridges would stay closed until the end of next spring."
CHINESE = "交通部周五表示，两座桥梁将继续关闭，直到明年春末才会重新开放。"
JAPANESE = "運輸省は金曜日、二つの橋は来年の春の終わりまで閉鎖されたままになると発表した。"
KOREAN = "국토부는 금요일 두 다리가 내년 봄 말까지 계속 폐쇄될 것이라고 밝혔다."
RUSSIAN = "министерство сообщило в пятницу, что оба моста останутся закрытыми до конца следующей весны."
THAI = "กระทรวงกล่าวเมื่อวันศุกร์ว่าสะพานทั้งสองแห่งจะยังคงปิดอยู่จนถึงปลายฤดูใบไม้ผลิปีหน้า"


def test_every_character_of_these_scripts_counts_as_more_than_one() -> None:
    """The quick look at which scripts a text has passes over none of their characters."""
    characters = "".join(map(chr, range(0x40000)))
    for script, letters in ((r"\p{Han}", 3), (r"[\p{Hiragana}\p{Katakana}\p{Hangul}]", 2)):
        found = regex.findall(script, characters)
        assert len(found) > 10_000
        assert {length(f"a{character}") for character in found} == {1 + letters}


def test_in_thai_a_paragraph_needs_no_sign_at_its_end() -> None:
    assert is_paragraph(THAI, length(THAI))
    assert not is_paragraph(ENGLISH.rstrip("."), length(ENGLISH))


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE, JAPANESE, KOREAN, RUSSIAN, THAI])
def test_short_lines_around_an_article_are_dropped(sentence: str) -> None:
    """A sentence is about as long in every script."""
    assert 0.6 < length(sentence) / length(ENGLISH) < 1.4
    article = "\n".join([sentence * 2] * 6)
    assert long_paragraphs(f"share\n{article}\n10 comments", 80)[0] == article


def test_a_text_of_short_lines_is_kept_whole() -> None:
    poem = "\n".join(["so much depends", "upon", "a red wheel barrow", "glazed with rain water"] * 10)
    assert long_paragraphs(poem, 80)[0] == poem
    preface = ENGLISH * 8  # as long as the poem
    assert long_paragraphs(f"{preface}\n{poem}", 80)[0] == preface
    assert long_paragraphs(f"{preface}\n{poem}\n{poem}", 80)[0] == f"{preface}\n{poem}\n{poem}"

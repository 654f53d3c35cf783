"""Notes in other scripts: trivial copies are found, and the next note of the template is none."""

import pytest

from scrapy_neardup import Detector

ARABIC = (
    "تعلن بلدية المدينة أن الطريق إلى {} سيغلق أمام حركة السير من {} مارس إلى {} أبريل. والسبب هو "
    "تجديد أنابيب المياه التي يبلغ عمرها {} عاما. وتسلك حافلات الخط {} طريقا آخر خلال هذه المدة ولا "
    "تتوقف هناك. ويمكن للسكان الوصول إلى منازلهم سيرا على الأقدام. وتقطع المياه يوم الأحد من الساعة "
    "{} إلى الساعة {}. وللاستفسار يمكن الاتصال بالمكتب."
)
PERSIAN = (
    "شهرداری اعلام می‌کند که راه {} از {} فروردین تا {} خرداد به روی خودروها بسته خواهد بود. علت آن "
    "نوسازی لوله‌های آب است که {} سال عمر دارند. اتوبوس‌های خط {} در این مدت از مسیر دیگری می‌روند و "
    "آنجا نمی‌ایستند. ساکنان می‌توانند پیاده به خانه‌های خود برسند. آب روز شنبه از ساعت {} تا {} قطع "
    "می‌شود. از شکیبایی شما سپاسگزاریم."
)
HINDI = (
    "नगर प्रशासन ने सूचना दी है कि {} जाने वाली सड़क {} मार्च से {} अप्रैल तक यातायात के लिए बंद "
    "रहेगी। इसका कारण {} साल पुराने पाइप बदलना है। मार्ग {} की बसें इस समय दूसरे रास्ते से जाएँगी और "
    "वहाँ नहीं रुकेंगी। निवासी पैदल अपने घरों तक पहुँच सकते हैं। सोमवार को {} बजे से {} बजे तक पानी "
    "बंद रहेगा। हम आपके सहयोग का अनुरोध करते हैं।"
)
RUSSIAN = (
    "Городская администрация ещё раз сообщает, что дорога на {} будет закрыта для всех машин с {} по "
    "{} июня. Идёт замена труб, которым уже {} лет. Автобусы маршрута {} пойдут в объезд, а жильцов "
    "просят идти пешком. Воду отключат всё равно: с {} до {} часов. Её подвезут на площадь, где ждёт "
    "и врач. Просим отнестись к этому с пониманием."
)
ROMANIAN = (
    "Primăria anunță că drumul spre {} va fi închis circulației de la {} la {} aprilie. Motivul este "
    "înlocuirea conductelor de apă, care au {} de ani. Autobuzele liniei {} sunt deviate în această "
    "perioadă și nu opresc acolo. Locuitorii pot ajunge la casele lor pe jos. Apa va fi oprită "
    "sâmbătă între orele {} și {}. Vă rugăm să ne înțelegeți."
)
THAI = (
    "สภาเทศบาลเมือง{}จะประชุมในวันที่{} ตอนเย็น ที่ห้องประชุมใหญ่ของศาลากลาง "
    "วาระการประชุมได้แก่รายงานของนายกเทศมนตรี {} งบประมาณสำหรับปีหน้า และเรื่อง{} "
    "ประชาชนสามารถตั้งคำถามได้ในช่วงต้นของการประชุม ผู้ที่มาไม่ได้สามารถติดตามการประชุมทางวิทยุ "
    "รายงานการประชุมจะเปิดเผยหลังการประชุมครั้งต่อไปเช่นเคย และอ่านได้ที่ห้องสมุด"
)
JAPANESE = (
    "{}は{}、{}に{}対{}で勝った。{}が前半{}分に先制点を決め、{}が追加点を挙げた。競技場には多くの観客"
    "が集まった。監督は試合の後、選手たちは心を込めて戦い、勝ち点三にふさわしかったと語った。この勝利"
    "でチームは順位表の{}位に上がった。次の試合は来週、本拠地で行われ、切符はいつもの窓口で売られてい"
    "る。"
)
WEATHER = (
    "气象台预计{}天气多变。白天气温升至{}度，夜间降至{}度。西风每小时{}公里，阵风可达{}公里。降雨概率"
    "为百分之{}。请驾驶员在清晨时段保持车距，在户外工作的人应当多喝水，注意防晒。下一次天气预报将于明"
    "天早上发布，如有需要，气象台会提前发出预警，请市民留意广播和电视的通知。"
)
VIETNAMESE = (
    "Ủy ban nhân dân thông báo con đường đi qua {} sẽ bị đóng từ tuần sau cho đến hết tháng. Lý do là "
    "thay các ống nước đã cũ. Xe buýt sẽ đi đường khác trong thời gian này và không dừng ở đó. Người "
    "dân có thể đi bộ về nhà. Nước sẽ bị cắt vào thứ bảy. Ông {} phụ trách công trình, bà {} trả lời "
    "câu hỏi của dân. Chúng tôi cảm ơn sự kiên nhẫn của bạn."
)
PLACES = ("صيدا", "کاشان", "दतिया", "Углич", "Brăila")
VALUES = ("3", "17", "42", "25", "9", "13")
NOTES = [
    note.format(place, *VALUES)
    for note, place in zip((ARABIC, PERSIAN, HINDI, RUSSIAN, ROMANIAN), PLACES, strict=True)
]


def kinds(first: str, second: str) -> set[str]:
    """What the second text is beside the first, on one site and on two."""
    with Detector.open() as detector:
        detector.add(first, "https://one-site.com/1")
        return {detector.check(second, f"https://{site}-site.com/2").kind for site in ("one", "two")}


@pytest.mark.parametrize(
    ("note", "changes"),
    [
        (NOTES[0], dict(zip("0123456789", "٠١٢٣٤٥٦٧٨٩", strict=True))),
        (NOTES[1], dict(zip("0123456789", "۰۱۲۳۴۵۶۷۸۹", strict=True))),
        (NOTES[2], dict(zip("0123456789", "०१२३४५६७८९", strict=True))),
        (NOTES[0], {"أ": "ا", "إ": "ا", "ت": "تـ", "ع": "عَ"}),
        (NOTES[1], {"ی": "ي", "ک": "ك"}),
        (NOTES[3], {"ё": "е"}),
        (NOTES[4], {"ș": "ş", "ț": "ţ"}),
    ],
)
def test_the_same_note_written_otherwise_is_a_copy(note: str, changes: dict[str, str]) -> None:
    assert kinds(note, note.translate(str.maketrans(changes))) == {"near"}


@pytest.mark.parametrize(
    ("template", "values"),
    [
        (ARABIC, ("أبها", "٤", "٢١", "٦٨", "٣٣", "٧", "١٢")),
        (PERSIAN, ("مراغه", "۴", "۲۱", "۶۸", "۳۳", "۷", "۱۲")),
    ],
)
def test_other_values_in_other_digits_are_another_note(template: str, values: tuple[str, ...]) -> None:
    assert "near" not in kinds(template.format(PLACES[0], *VALUES), template.format(*values))


@pytest.mark.parametrize(
    ("template", "one", "other"),
    [
        (
            THAI,
            ("น่าน", "สองมีนาคม", "วิภา แสงทอง", "การซ่อมสะพาน"),
            ("พังงา", "ห้าพฤษภาคม", "สมชาย ใจดี", "การขายโรงเรียนเก่า"),
        ),
        (
            JAPANESE,
            ("浦和", "月曜日", "清水", "三", "一", "渡辺恵", "7", "山本大輔", "2"),
            ("磐田", "木曜日", "湘南", "五", "二", "伊藤直樹", "38", "田中健太", "4"),
        ),
        (WEATHER, ("星期五衡水", "31", "12", "46", "77", "94"), ("星期一丽水", "25", "17", "20", "43", "60")),
    ],
    ids=["thai", "japanese", "chinese"],
)
def test_notes_of_a_template_without_spaces_are_no_copies(
    template: str, one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    assert "near" not in kinds(template.format(*one), template.format(*other))
    assert kinds(template.format(*one), template.format(*one) + "。") <= {"near", "exact"}


def test_han_characters_for_numbers_are_numbers() -> None:
    note = (
        "市議会は来月{}日の夕方、市役所の大会議室で開かれる。議題は市長の報告と来年度の予算、それに橋の修理である。市民は会議の初めに"
        "質問をすることができる。来られない人はラジオで会議を聞くことができる。議事録はいつものように次の会議の後に公開され、図書館で"
        "読むことができる。誰でも入場でき、申し込みはいらない。席は{}人分ある。"
    )
    assert "near" not in kinds(note.format("七", "五百"), note.format("十二", "三千"))
    assert kinds(note.format("七", "五百"), note.format("七", "五百") + "以上。") == {"near"}


def test_names_that_differ_in_accents_are_other_names() -> None:
    one = VIETNAMESE.format("Hà Lam", "Trần Tuấn Hùng", "Lê Thu Dung")
    other = VIETNAMESE.format("Hạ Lâm", "Trấn Tuân Hưng", "Lệ Thư Dũng")
    with Detector.open() as detector:
        detector.add(one, "https://one-site.com/1")
        assert detector.check(other, "https://one-site.com/2").kind in ("unique", "template")

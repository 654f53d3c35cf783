"""How headings over further articles begin, such as "Read also": in some fifty languages.

Parts are divided by | and by the ends of lines; upper and lower case are the same. A part stands for all that
begins with it. Where $ follows, its last word ends there.
"""

from __future__ import annotations

# fmt: off
FURTHER = {
    "ar": """اقرأ أيضا|اقرأ ايضا|إقرأ أيضا|اقرأ المزيد|ذات صلة|مواضيع ذات صلة|أخبار ذات صلة
        مقالات ذات صلة|الأكثر قراءة|شاهد أيضا|قد يعجبك|المزيد من""",
    "az": "oxşar xəbərlər|ən çox oxunan",
    "be": "чытайце таксама",
    "bg": """прочетете още|прочети още|вижте още|виж още|още новини|още по темата|свързани статии
        свързани новини|най-четени|подобни статии""",
    "bn": "আরও পড়ুন|আরো পড়ুন|সম্পর্কিত খবর",
    "ca": "et pot interessar|notícies relacionades|més notícies",
    "cs": """čtěte také|čtěte dále|přečtěte si také|související článk|související témata
        související zprávy|nejčtenější|mohlo by vás|podobné články""",
    "da": "læs også|læs mere$|mest læste|seneste nyt|relaterede artikler",
    "de": """mehr zum$|mehr von$|mehr aus$|lesen sie auch|lesen sie mehr|das könnte sie|das könnte dich
        das könnte euch|das könnte auch|auch interessant|weitere$|ähnliche|verwandte|meistgelesen""",
    "el": """διαβάστε επίσης|διαβάστε ακόμη|διαβάστε ακόμα|διαβάστε περισσότερα|δείτε επίσης|δείτε ακόμη
        σχετικά άρθρα|σχετικές ειδήσεις|δημοφιλή|τα πιο διαβασμένα""",
    "en": """related$|more from$|more on$|more in$|more news$|more stories$|more about$|you may like
        you may also like|you might like|you might also like|you could like|you could also like
        you may enjoy|you may also enjoy|you could enjoy|you might enjoy|you might also enjoy
        you may be interested|you may also be interested|you might be interested
        you might also be interested|you could be interested|read more$|read next$|read also$|recommended
        latest$|trending|popular$|most read|most popular$|also on$|also in$|also read$|see also$
        don't miss|don’t miss|next article|about the author|share this|share your""",
    "es": """te puede interesar|te podría interesar|también te|lee también|más noticias|más sobre
        más leíd|noticias relacionadas|artículos relacionados""",
    "et": "loe ka$|loe veel$|seotud artiklid|seotud lood",
    "fa": """بیشتر بخوانید|همچنین بخوانید|مطالب مرتبط|مطالب مشابه|اخبار مرتبط|پربازدیدترین|پربیننده
        آخرین اخبار""",
    "fi": "lue myös|lue lisää$|luetuimmat|aiheesta lisää",
    "fr": """à lire aussi|lire aussi|voir aussi|sur le même|article lié|articles liés|article similaire
        articles similaires|article récent|articles récents|les plus lus|vous aimerez""",
    "he": "קראו גם|כתבות נוספות|עוד בנושא|אולי יעניין|כתבות קשורות|הכי נקראים",
    "hi mr": "यह भी पढ़ें|ये भी पढ़ें|और पढ़ें|संबंधित खबरें|संबंधित लेख|हे ही वाचा",
    "hr bs sr": """povezane vijesti|povezane vesti|povezani članci|pročitajte i$|pročitajte još
        pročitaj još|najčitanije|slične vijesti|slične vesti|vezane vijesti|прочитајте и$|прочитајте још
        најчитаније|повезане вести""",
    "hu": """kapcsolódó cikk|kapcsolódó hír|kapcsolódó anyag|olvassa el|olvasd el|olvasta már
        legolvasottabb|további cikkek|további hírek|hasonló cikkek|ajánlott cikkek|ajánljuk még""",
    "hy": "կարդացեք նաև|նմանատիպ նյութեր",
    "id ms": """baca juga$|baca selengkapnya|artikel terkait|berita terkait|berita lainnya|terpopuler
        simak juga$""",
    "is": "lestu einnig|tengdar fréttir|mest lesið",
    "it": """leggi anche|potrebbe interessarti|ti potrebbe interessare|articoli correlati
        notizie correlate|i più letti|ultime notizie""",
    "ja": "関連|おすすめ|人気|あわせて読みたい|この記事を読んだ人|最新記事",
    "ka": "დაკავშირებული|მსგავსი სტატიები|წაიკითხეთ აგრეთვე|კითხვადი",
    "kk": "тағы оқыңыз|ұқсас жаңалықтар",
    "ko": """관련 기사|관련기사|관련 뉴스|관련뉴스|많이 본 뉴스|인기 기사|인기기사|추천 기사|추천기사
        다른 기사 보기""",
    "lt": "skaitykite taip pat|taip pat skaitykite|susiję straipsniai|susijusios naujienos|skaitomiausi",
    "lv": "lasi arī$|lasi vēl$|saistītie raksti|saistītās ziņas",
    "mk": "поврзани вести|најчитани|прочитајте и$",
    "ml": "ഇതും വായിക്കുക",
    "nl": "lees ook$|meer over$|gerelateerd|meest gelezen|laatste nieuws",
    "no": "les også|les mer$|mest lest|siste nytt|relaterte artikler|relaterte saker",
    "pl": """zobacz także|zobacz też|zobacz również|czytaj także|czytaj też|czytaj również|czytaj więcej
        przeczytaj|polecamy|powiązane|najczęściej czytane""",
    "pt": """leia também|leia mais$|você pode gostar|pode também gostar|veja também|mais lidas
        notícias relacionadas|artigos relacionados|últimas notícias""",
    "ro": """citește și|citeşte şi|citiți și|vezi și$|articole similare|articole recente|știri similare
        cele mai citite|pe aceeași temă""",
    "ru": """читайте также|по теме|ещё|другие|похожие|смотрите также|последние|новости по|материалы по
        популярные новости|популярные статьи|самое читаемое|рекомендуем""",
    "sk": "čítajte aj|prečítajte si aj|súvisiace článk|najčítanejšie|mohlo by vás|podobné články",
    "sl": "preberite tudi|preberite še|sorodne novice|sorodni članki|najbolj brano",
    "sq": "lexo edhe|lexoni edhe|më të lexuarat",
    "sv": "läs också|läs mer$|läs även|relaterat|relaterade artiklar|mest läst|senaste nytt",
    "sw": "soma zaidi",
    "ta": "மேலும் படிக்க|தொடர்புடைய செய்தி",
    "te": "ఇవి కూడా చదవండి",
    "th": "ข่าวที่เกี่ยวข้อง|บทความที่เกี่ยวข้อง|อ่านเพิ่มเติม|อ่านข่าวเพิ่มเติม|ข่าวล่าสุด|ยอดนิยม",
    "tl": "basahin din",
    "tr": """ilgili|benzer haberler|benzer yazılar|bunlar da ilginizi|ilginizi çekebilir|çok okunan
        en çok okunan|son haberler|diğer haberler""",
    "uk": """читайте також|схожі новини|схожі статті|за темою|популярні новини|популярні статті
        останні новини|інші новини|дивіться також""",
    "ur": "مزید پڑھیں|یہ بھی پڑھیں|متعلقہ خبریں",
    "vi": """xem thêm$|đọc thêm$|tin liên quan|bài liên quan|bài viết liên quan|tin cùng chuyên mục
        tin mới nhất|đọc nhiều nhất|có thể bạn quan tâm""",
    "zh": "相关|推荐|更多|热门|延伸阅读|相關|推薦|熱門|延伸閱讀|看更多|猜你喜欢",
}
# fmt: on

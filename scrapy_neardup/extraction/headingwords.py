"""How headings over comments of readers, and over further articles, begin: in some sixty languages.

Parts are divided by | and by the ends of lines; upper and lower case are the same. A part stands for all that
begins with it. Where $ follows, its last word ends there; where = follows, nothing but a number comes after
it.
"""

from __future__ import annotations

# fmt: off
#: "Comments", behind their number, which asks for other forms of the word.
COUNTED = {
    "ar": "التعليقات|تعليقات|تعليق|تعليقا",
    "az": "şərhlər|şərh",
    "be": "каментары|каментарыяў",
    "bg": "коментари|коментара|коментар",
    "bn": "মন্তব্য|মন্তব্যসমূহ",
    "ca": "comentaris|comentari",
    "cs": "komentáře|komentářů|komentář|diskuse|diskuze",
    "cy": "sylwadau|sylw",
    "da no sv": "kommentarer|kommentar",
    "de": "kommentare|kommentar|leserkommentare",
    "el": "σχόλια|σχόλιο",
    "en": "comments|comment|responses|response|replies|reply|reader comments|thoughts on|thought on",
    "es": "comentarios|comentario",
    "et": "kommentaarid|kommentaari|kommentaar",
    "eu": "iruzkinak|iruzkin",
    "fa": "نظرات|نظر|دیدگاه‌ها|دیدگاهها|دیدگاه",
    "fi": "kommentit|kommenttia|kommentti",
    "fr": "commentaires|commentaire|réactions|réaction",
    "he": "תגובות|תגובה",
    "hi": "टिप्पणियाँ|टिप्पणियां|टिप्पणी|कमेंट|कमेंट्स|प्रतिक्रियाएं|प्रतिक्रिया",
    "hr bs sr sl": "komentari|komentara|komentar|komentarji|komentarjev",
    "hu": "hozzászólások|hozzászólás|kommentek|komment|vélemények",
    "hy": "մեկնաբանություններ",
    "id ms": "komentar",
    "is": "ummæli|athugasemdir",
    "it": "commenti|commento",
    "ja": "コメント",
    "ka": "კომენტარები|კომენტარი",
    "kk": "пікірлер|пікір",
    "ko": "댓글|의견",
    "lt": "komentarai|komentarų|komentaras",
    "lv": "komentāri|komentāru|komentārs",
    "ml": "കമന്റുകൾ|അഭിപ്രായങ്ങൾ",
    "mn": "сэтгэгдэл",
    "nl": "reacties|reactie|opmerkingen",
    "pl": "komentarze|komentarzy|komentarz|opinie|opinii",
    "pt": "comentários|comentário",
    "ro": "comentarii|comentariu",
    "ru": "комментарии|комментариев|комментария|комментарий|отзывы|отзывов|обсуждение",
    "sk": "komentáre|komentárov|komentár|diskusia",
    "sq": "komente|komentet",
    "sr mk": "коментари|коментара|коментар",
    "sw": "maoni",
    "ta": "கருத்துகள்|கருத்துக்கள்",
    "te": "వ్యాఖ్యలు|కామెంట్స్",
    "th": "ความคิดเห็น|ความเห็น",
    "tl": "mga komento",
    "tr": "yorumlar|yorum",
    "uk": "коментарі|коментарів|коментаря|коментар|відгуки|обговорення",
    "ur": "تبصرے",
    "uz": "izohlar",
    "vi": "bình luận|ý kiến bạn đọc",
    "zh": "评论|評論|网友评论|留言|回應|跟帖",
}
#: Headings over comments, or over the form for one.
READERS = {
    "ar": "التعليقات$|اترك تعليق|أضف تعليق|شاركنا رأيك",
    "az": "şərhlər=|şərh yaz",
    "be": "каментары=",
    "bg": "коментари=|остави коментар|оставете коментар|добави коментар|напиши коментар",
    "bn": "মন্তব্য করুন",
    "ca": "comentaris=|deixa un comentari",
    "cs": "komentáře=|napsat komentář|přidat komentář|vložit komentář|diskuse k článku|diskuze k článku",
    "cy": "sylwadau=",
    "da no": "kommentarer=|skriv en kommentar|skriv et svar|legg igjen en kommentar|legg inn en kommentar",
    "de": """kommentare$|leserkommentare$|kommentar schreiben|kommentar verfassen
        schreibe einen kommentar|hinterlasse einen kommentar|schreiben sie einen kommentar""",
    "el": "σχόλια=|αφήστε ένα σχόλιο|αφήστε το σχόλιο|γράψτε ένα σχόλιο|προσθήκη σχολίου",
    "en": """comments$|responses to$|replies$|thoughts on$|reader comments$|leave a reply|leave a comment
        leave a response|post a comment|post a reply|add a comment|write a comment|join the discussion
        join the conversation""",
    "es": "comentarios$|deja un comentario|deja tu comentario|escribe un comentario",
    "et": "kommentaarid=|lisa kommentaar",
    "eu": "iruzkinak=",
    "fa": "نظرات=|دیدگاه‌ها=|ارسال نظر|نظر شما|دیدگاه شما|دیدگاهتان|افزودن دیدگاه",
    "fi": "kommentit=|jätä kommentti|kirjoita kommentti",
    "fr": "commentaires$|réactions=|laisser un commentaire|ajouter un commentaire|écrire un commentaire",
    "he": "תגובות=|כתוב תגובה|כתיבת תגובה|הוסף תגובה|השאר תגובה",
    "hi": "टिप्पणियाँ=|टिप्पणियां=|अपनी टिप्पणी|टिप्पणी करें",
    "hr bs sr sl": """komentari=|komentarji=|коментари=|ostavi komentar|ostavite komentar|dodaj komentar
        napiši komentar|komentiraj=|остави коментар|напиши коментар""",
    "hu": "hozzászólások=|kommentek=|szólj hozzá|szóljon hozzá|hozzászólás írása",
    "hy": "մեկնաբանություններ=",
    "id ms": "komentar=|tulis komentar|tinggalkan komentar|tinggalkan balasan|beri komentar",
    "it": "commenti$|lascia un commento|scrivi un commento",
    "ja": "コメント$|コメントを残す|コメントを書く|コメントする",
    "ka": "კომენტარები=|დატოვე კომენტარი",
    "kk": "пікірлер=|пікір қалдыру",
    "ko": "댓글=|댓글 쓰기|댓글 남기기|댓글 달기",
    "lt": "komentarai=|rašyti komentarą|parašykite komentarą",
    "lv": "komentāri=|pievienot komentāru",
    "ml": "കമന്റുകൾ=",
    "mn": "сэтгэгдэл=",
    "nl": "reacties=|geef een reactie|plaats een reactie|laat een reactie achter",
    "pl": "komentarze$|opinie=|dodaj komentarz|napisz komentarz|zostaw komentarz|skomentuj=",
    "pt": "comentários$|deixe um comentário|deixe seu comentário|deixe o seu comentário",
    "ro": "comentarii=|lasă un comentariu|adaugă un comentariu|adaugă comentariu|lasă un răspuns",
    "ru": """комментарии$|отзывы$|обсуждение=|оставить комментарий|добавить комментарий|написать комментарий
        обсуждение статьи|обсуждение новости""",
    "sk": "komentáre=|pridať komentár|napíš komentár|diskusia k článku",
    "sq": "komentet=|lini një koment|shto koment",
    "sv": "kommentarer=|lämna en kommentar|lämna ett svar|skriv ett svar|skriv en kommentar",
    "ta": "கருத்துகள்=|கருத்துக்கள்=",
    "th": "ความคิดเห็น=|แสดงความคิดเห็น|ใส่ความเห็น",
    "tr": "yorumlar$|yorum yap|yorum yaz|bir cevap yazın|bir yanıt yazın",
    "uk": "коментарі=|залишити коментар|додати коментар",
    "ur": "تبصرے=",
    "uz": "izohlar=",
    "vi": "bình luận=|ý kiến bạn đọc=|viết bình luận|gửi bình luận|để lại bình luận",
    "zh": "評論=|跟帖=|评论$|网友评论$|留言$|发表评论|發表評論|發表回覆|我要评论",
}
#: Headings over further articles.
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

"""Pages that break extractors, made on the spot, and what must become of each."""

import gzip
import random
import zlib
from dataclasses import dataclass

ENGLISH = (
    "The council agreed on Tuesday to a plan for the old harbour, which will cost twelve million and take three"
    " years. Residents of the streets nearby welcomed the decision, but asked how their nights would stay quiet."
    " Work on the northern quay begins in spring, said the mayor, and the fish market stays open throughout."
)
CHINESE = (
    "市政府周二通过了一项关于旧港口的计划，该计划将耗资一千二百万元，并需要三年时间才能完成。附近街道的居民对此表示欢迎，"
    "但也担心夜间的噪音和交通问题。市长表示，北码头的工程将于春季开工，鱼市场在施工期间照常营业。"
)
RUSSIAN = (
    "Городской совет во вторник одобрил план перестройки старого порта, которая обойдётся в двенадцать миллионов"
    " и займёт три года. Жители соседних улиц поддержали решение, но спросили, как им спать по ночам. Работы на"
    " северной набережной начнутся весной, сказал мэр, а рыбный рынок всё это время останется открытым."
)
FRENCH = (
    "Le conseil a décidé mardi d'un projet pour le vieux port, qui coûtera douze millions et durera trois années."
    " Les habitants des rues voisines ont été rassurés, mais ils demandent comment leurs nuits resteront calmes."
    " Les travaux du quai nord commenceront à la fin de l'été, a déclaré la mairesse."
)


@dataclass(frozen=True, slots=True)
class Case:
    """A body, how it was served, and the expected outcome: a reason, or words that the text must contain."""

    name: str
    body: bytes
    reason: str | None = None
    words: str = ""
    content_type: str | None = "text/html"
    fallback: bool = False


def article(text: str, *, head: str = "", times: int = 3) -> str:
    """A small page with *text* as its main text."""
    paragraphs = "".join(f"<p>{text} ({number})</p>" for number in range(times))
    return f"<!DOCTYPE html><html><head>{head}<title>News</title></head><body><article>{paragraphs}</article></body></html>"


def nested(levels: int) -> bytes:
    """An article below *levels* elements, with another one above them."""
    return (
        f"<html><body><p>{ENGLISH} Above.</p>{'<div>' * levels}<p>{ENGLISH} Below.</p>{'</div>' * levels}</body></html>"
    ).encode()


def spanning_table(rows: int = 300) -> bytes:
    """13 kB at 300 rows; trafilatura writes out every cell that it spans, and works on for minutes."""
    row = '<tr><td colspan="1000" rowspan="1000">x</td></tr>'
    return (
        f"<html><body><article><p>{ENGLISH}</p><table>{row * rows}</table></article></body></html>".encode()
    )


def _png() -> bytes:
    return b"\x89PNG\r\n\x1a\n" + zlib.compress(random.Random(1).randbytes(50_000))


def _declared(text: str, real: str, declared: str) -> bytes:
    return article(text, head=f'<meta charset="{declared}">').encode(real)


CASES = [
    Case("clean", article(ENGLISH).encode(), words=ENGLISH),
    Case("nested 200", nested(200), words=ENGLISH),
    Case("nested 300", nested(300), words="Below.", fallback=True),
    Case("nested 10k", nested(10_000), words="Below.", fallback=True),
    Case("nested 100k", nested(100_000), words="Below.", fallback=True),
    Case("unclosed p and li", article(ENGLISH + "<p>" + "<ul>" + "<li>item" * 2000 + "</ul>").encode(), words=ENGLISH),
    Case("ended before its body", article(ENGLISH).replace("</head>", "</head></html>").encode(), words=ENGLISH),
    Case("ended in a head without a body", b"<html><head></head></HTML >\n<p>" + ENGLISH.encode(), words=ENGLISH),
    Case("behind another document", b"<html><body><p>We use cookies.</p></body></html>" + article(ENGLISH).encode(), words=ENGLISH),
    Case("behind the end of its body", f"<html><body><p>Hello.</p></body>{article(ENGLISH)}".encode(), words=ENGLISH),
    Case("NUL bytes", article(ENGLISH).replace(" ", " \0").encode(), words=ENGLISH),
    Case("UTF-16 with BOM", article(ENGLISH).encode("utf-16"), words=ENGLISH),
    Case("UTF-16-LE without BOM", article(RUSSIAN).encode("utf-16-le"), words=RUSSIAN),
    Case("UTF-16-BE without BOM", article(ENGLISH).encode("utf-16-be"), words=ENGLISH),
    Case("UTF-16-LE declared UTF-16", article(ENGLISH).encode("utf-16-le"), words=ENGLISH, content_type="text/html; charset=utf-16"),
    Case("UTF-16-LE declared UTF-8", article(CHINESE).encode("utf-16-le"), words=CHINESE, content_type="text/html; charset=utf-8"),
    Case("UTF-8 with BOM, declared latin-1", b"\xef\xbb\xbf" + article(RUSSIAN).encode(), words=RUSSIAN, content_type="text/html; charset=iso-8859-1"),
    Case("invalid UTF-8", article(ENGLISH).encode().replace(b"plan", b"\xff\xfeplan"), words="Residents of the streets"),
    Case("cut UTF-8, undeclared", (article(CHINESE) + "<p>港").encode()[:-1], words=CHINESE),
    Case("one bad byte in UTF-8, undeclared", article(RUSSIAN, times=8).encode() + b"\xff" + article(RUSSIAN).encode(), words=RUSSIAN),
    Case("latin-1 declared UTF-8", _declared(FRENCH, "latin-1", "utf-8"), words=FRENCH),
    Case("cp1251 declared UTF-8", _declared(RUSSIAN, "cp1251", "utf-8"), words=RUSSIAN),
    Case("cp1251 in the header", article(RUSSIAN).encode("cp1251"), words=RUSSIAN, content_type="text/html; charset=windows-1251"),
    Case("cp1251 undeclared", article(RUSSIAN).encode("cp1251"), words=RUSSIAN),
    Case("GBK undeclared", article(CHINESE).encode("gbk"), words=CHINESE, content_type=None),
    Case("GBK in the page", _declared(CHINESE, "gbk", "gb2312"), words=CHINESE),
    Case("unknown charset", _declared(RUSSIAN, "utf-8", "no-such-charset"), words=RUSSIAN),
    Case("XML declaration", b'<?xml version="1.0" encoding="utf-8"?>' + article(RUSSIAN).encode(), words=RUSSIAN),
    Case("PNG", _png(), reason="not_text"),
    Case("PDF", b"%PDF-1.7\n" + random.Random(2).randbytes(50_000), reason="not_text"),
    Case("gzip", gzip.compress(article(ENGLISH).encode()), reason="not_text"),
    Case("noise", random.Random(3).randbytes(50_000), reason="not_text"),
    Case("empty", b"", reason="no_text"),
    Case("spaces", b" \r\n\t" * 1000, reason="no_text"),
    Case("only a script", b"<html><head><script>" + b"var a = 'text';" * 500 + b"</script></head><body></body></html>", reason="no_text"),
    Case("no markup", b"not a page", words="not a page"),
    Case("5 MB of text", article(ENGLISH + " ", times=5_000_000 // len(ENGLISH)).encode(), words="(15000)"),
]  # fmt: skip

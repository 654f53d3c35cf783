"""From the bytes of a page to its text, and to its tree without what no reader sees or is not to count."""

from __future__ import annotations

import html as htmllib
import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import regex
from charset_normalizer import from_bytes
from cssselect import SelectorError
from lxml import etree
from lxml.cssselect import CSSSelector
from w3lib.encoding import (
    html_body_declared_encoding,
    html_to_unicode,
    http_content_type_encoding,
    read_bom,
)

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lxml.etree import _Element

#: Guessed as windows-1252 if nothing fits, as browsers do.
_LEGACY = [
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1250", "cp1251", "koi8_r", "cp1252", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "iso8859_2", "iso8859_5",
]  # fmt: skip
#: Atomic, and one that has no end goes to the end of the page: linear time.
_MARKUP = regex.compile(
    rb"<(script|style)\b(?:[^<]++|<(?!/\1))*+(?:</\1)?+|<[^<>]*+>|[\x00-\x40]++",
    regex.IGNORECASE | regex.V1,
)
#: A declared charset that turns more of the page than this into replacement characters is wrong.
_BAD_SHARE = 0.002
#: With so many bytes beyond one a character, what reads as UTF-8 is UTF-8, whatever is declared.
_SURELY = 32
_SAMPLE = 1 << 16  # bytes
#: Codecs of Python that are no charsets: they raise an error, or make something else of a page.
_NO_CHARSETS = frozenset((
    "base64", "bz2", "charmap", "hex", "idna", "punycode", "quopri", "raw-unicode-escape", "rot-13",
    "undefined", "unicode-escape", "uu", "zlib",
))  # fmt: skip
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_MAGIC = (
    b"%PDF-", b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh",
    b"Rar!", b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"\x28\xb5\x2f\xfd", b"RIFF", b"OggS", b"ID3",
    b"\x7fELF", b"MZ\x90", b"wOFF", b"wOF2", b"\x00\x00\x01\x00", b"\xd0\xcf\x11\xe0", b"II*\x00",
    b"MM\x00*", b"{\\rtf", b"%!PS",
)  # fmt: skip
#: Control characters that no text has; escape is part of ISO-2022-JP.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_MAX_CONTROL_SHARE = 0.1
_BEGINNING = 1 << 14  # characters

_END = re.compile(r"</(?:html|body)\s*>", re.IGNORECASE)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]{0,1000}>?", re.IGNORECASE)
#: A long tag, and in it one of thousands of attributes, which take libxml2 quadratic time. Neither passes
#: over a < or >, which may stand in a script.
_MAYBE_LONG = re.compile(r"<[a-z][^<>]{4096,}>?", re.IGNORECASE)
_LONG = regex.compile(
    r"""<([a-z][a-z0-9:-]*+)"""
    r"""(?:\s++[^\s<>="']++(?:=(?:"[^"<>]*+"|'[^'<>]*+'|[^\s<>"']*+))?+){1000,}+[^<>]*+>?+""",
    regex.IGNORECASE | regex.V1,
)
#: What libxml2 says last of a page that it has read in part: one that nests 255 elements, or has a text of
#: 10 MB.
_LIMIT = "XML_PARSE_HUGE"
#: What elements are called that go; no page has capitals in the names of elements, as lxml reads them.
_REMOVED = "REMOVED"

#: Elements whose content is no text of a page, such as what a form offers to choose from.
_NO_TEXT = ("script", "style", "select", "datalist", "svg", "math", "map", "title")
#: Elements whose content browsers do not show, or show in a small box.
_NOT_SHOWN = (
    "template", "noscript", "iframe", "textarea", "button", "object", "video", "audio", "canvas",
    "select", "datalist",
)  # fmt: skip
#: Elements that hold all of a page, which its scripts show later.
_WHOLE = frozenset(("html", "head", "body", "main"))
_MAYBE_HIDDEN = etree.XPath("//*[@hidden or @aria-hidden or @style]")
_HIDING = regex.compile(
    r"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse))\s*+(?:!|;|$)",
    regex.IGNORECASE | regex.V1,
)
#: React sends late parts of a page in a hidden element with such an id, and moves them to where they belong.
_AWAITED = re.compile(r"S:[0-9a-f]+\Z", re.IGNORECASE)


#: Characters of a page in which its titles stand, and of the longest title that is read.
_HEAD, _LONGEST = 1 << 18, 1000
#: How many links of a head are looked at.
_MOST_LINKS = 500
_TITLE = regex.compile(r"<title\b[^<>]*+>([^<]*+)", regex.IGNORECASE | regex.V1)
_META = regex.compile(r"<meta\b[^<>]*+>", regex.IGNORECASE | regex.V1)
_SHARED = regex.compile(
    r"""\b(?:property|name)\s*+=\s*+["']?+og:title(?![\w:\-])""", regex.IGNORECASE | regex.V1
)
_CONTENT = regex.compile(r"""\bcontent\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", regex.IGNORECASE | regex.V1)


def is_html_type(content_type: str) -> bool:
    """Whether a ``Content-Type`` is that of HTML pages, whatever parameters it has."""
    return content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def is_binary(body: bytes) -> bool:
    """Whether *body* begins like an image, a document, an archive or a program."""
    return body.lstrip(b"\r\n\t ").startswith(_MAGIC)


def is_noise(text: str) -> bool:
    """Whether the beginning of a decoded page is mostly what no text consists of."""
    sample = text[:_BEGINNING]
    return len(_CONTROL.findall(sample)) > len(sample) * _MAX_CONTROL_SHARE


def decode(body: bytes, content_type: str | None) -> str:
    """Return the text of *body*, never raising; NUL characters are dropped, as browsers do.

    In turn: byte order mark, UTF-16 by the position of its zero bytes, UTF-8 if much of the page is that, the
    charset declared in the HTTP header or the page, UTF-8 if it is valid, the likeliest legacy charset.
    """
    encoding = None if read_bom(body)[0] else _utf16(body)
    if encoding is not None:
        return body.decode(encoding, "replace").replace("\x00", "")
    declared, text = decode_as_declared(body, content_type, detect)
    if text.count("\ufffd") > len(text) * _BAD_SHARE and (detected := detect(body)) != declared:
        other = body.decode(detected, "replace")
        if other.count("\ufffd") < text.count("\ufffd"):
            text = other
    # Some charsets that Python knows and no browser does, such as UTF-7, can spell half a character.
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def decode_as_declared(
    body: bytes, content_type: str | None, otherwise: Callable[[bytes], str]
) -> tuple[str, str]:
    """Return the charset that *body* has by its header or itself, and its text; never raises.

    *otherwise* names the charset of a page that declares none.
    """
    marked = read_bom(body)[0] is not None
    if not marked and (_beyond_characters(body) or 0) >= _SURELY:  # as pages are that a crawler has saved
        return "utf-8", body.decode("utf-8", "replace")
    declared = http_content_type_encoding(content_type)
    if declared in _NO_CHARSETS:
        content_type = declared = None
    if declared is None and not marked and html_body_declared_encoding(body) in _NO_CHARSETS:
        charset = otherwise(body)
        return charset, body.decode(charset, "replace")
    return html_to_unicode(content_type, body, auto_detect_fun=otherwise)


def detect(body: bytes) -> str:
    """Return the name of the likeliest charset of a page that does not declare one."""
    if _beyond_characters(body, strays=True) is not None:
        return "utf-8"
    # Tags and scripts are ASCII in every page, and hide the letters that tell charsets apart.
    sample = _MARKUP.sub(b" ", body[: 4 * _SAMPLE])[:_SAMPLE]
    best = from_bytes(sample, cp_isolation=_LEGACY).best()
    return best.encoding if best is not None else "cp1252"


def _beyond_characters(body: bytes, *, strays: bool = False) -> int | None:
    """Return how many more bytes than characters *body* has if it is UTF-8, None if it is not.

    A page that was cut is still UTF-8, and one with *strays* far into good UTF-8, if they are allowed.
    """
    try:
        return len(body) - len(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        more = error.start - len(body[: error.start].decode("utf-8"))
        return more if error.start > len(body) - 4 or (strays and more > 1000) else None


def _utf16(body: bytes) -> str | None:
    """Recognise UTF-16 without a mark: in the markup that a page begins with, every other byte is zero."""
    head = body[:128]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) < 0.15 * len(head) or min(even, odd) > 0.02 * len(head) or not head:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def in_one_document(html: str) -> str:
    """Return *html* without its XML declaration and the end tags of documents.

    The declaration tells of bytes, which are text now. What stands behind an end tag is part of the page in
    browsers, but not in what libxml2 parses.
    """
    return _END.sub("", _DECLARATION.sub("", html, count=1))


def parsed(html: str, *, huge_tree: bool = False) -> _Element | None:
    """Return the root of a page as `parsed_whole` does."""
    return parsed_whole(html, huge_tree=huge_tree)[0]


def parsed_whole(html: str, *, huge_tree: bool = False) -> tuple[_Element | None, bool]:
    """Return the root of a page, None if it has no element, and whether that is all of the page.

    *huge_tree* reads elements below 255 others and texts of more than 10 MB, too.
    """
    html = _MAYBE_LONG.sub(lambda tag: _LONG.sub(r"<\1>", tag[0]), html)
    # What libxml2 is told is the encoding counts more than what the page says. Of text, lxml refuses that of
    # a page that begins with an XML declaration, and takes quadratic time to look for one.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=huge_tree)
    root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    return root, not (len(parser.error_log) and _LIMIT in parser.error_log[-1].message)


def written(root: _Element) -> str:
    """Return the markup of a page."""
    return str(etree.tostring(root, encoding="unicode", method="html"))


def canonical_of(root: _Element) -> str:
    """Return what the head links as canonical, or "": in the body readers may have written a link."""
    links = islice(root.iterfind("head/link[@href]"), _MOST_LINKS)
    found = (link.get("href", "") for link in links if "canonical" in link.get("rel", "").lower().split())
    return next((each.strip() for each in found if len(each) <= _LONGEST), "")


def remove_no_text(root: _Element) -> None:
    """Take out what has letters and yet is no text."""
    etree.strip_elements(root, *_NO_TEXT, etree.Comment, etree.PI, with_tail=False)


def remove_hidden(root: _Element) -> bool:
    """Take out what readers do not see, as far as the markup tells; return whether there was any."""
    hidden = [element for element in _MAYBE_HIDDEN(root) if element.tag not in _WHOLE and _hides(element)]
    remove(root, hidden)
    named = next(root.iter(*_NOT_SHOWN), None) is not None
    if named:
        etree.strip_elements(root, *_NOT_SHOWN, with_tail=False)
    return named or bool(hidden)


def _hides(element: _Element) -> bool:
    attributes = element.attrib
    hidden = attributes.get("hidden")
    return (
        (
            hidden is not None
            and hidden.strip().lower() != "until-found"
            and not _AWAITED.match(attributes.get("id", ""))
        )
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _HIDING.search(attributes.get("style", "")) is not None
    )


def remove(root: _Element, elements: Iterable[_Element]) -> None:
    """Take *elements* out of *root*; the text behind each stays. Root and body stay, empty."""
    found = False
    for element in elements:
        if element is root or element.tag == "body":
            element[:] = []
            element.text = None
        else:
            element.tag = _REMOVED
            found = True
    # Text cannot be moved by hand: lxml refuses the control characters that its parser lets pass.
    if found:
        etree.strip_elements(root, _REMOVED, with_tail=False)


def titles(html: str) -> list[str]:
    """Return the title of a page, and the one under which it is shared; those that it has."""
    head = html[:_HEAD]
    found = []
    if (title := _TITLE.search(head)) is not None:
        found.append(title[1])
    for meta in _META.finditer(head):
        if _SHARED.search(meta[0]) is not None:
            found += ["".join(values) for values in _CONTENT.findall(meta[0])][:1]
            break
    shown = (" ".join(htmllib.unescape(title[:_LONGEST]).split()) for title in found)
    return [title for title in dict.fromkeys(shown) if title]


@dataclass(frozen=True)
class ContentArea:
    """The parts of pages that count, as CSS selectors; none at all stand for the whole page.

    Raises `ConfigurationError` for a selector that is none.
    """

    #: If there are any, nothing counts but the elements that one of them matches, with all that they hold.
    include: tuple[str, ...] = ()
    #: What never counts, inside of these elements, too.
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for selector in (*self.include, *self.exclude):
            _compiled(selector)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def cut(self, root: _Element) -> None:
        """Leave the area alone in the body of a page. The head, where titles stand, stays as it is."""
        remove(root, _matches(root, self.exclude))
        body = root.find("body")
        if self.include and body is not None:
            chosen = _matches(root, self.include)
            if not chosen or chosen[0] not in (root, body):
                body[:] = chosen
                body.text = None
                for element in chosen:
                    element.tail = "\n"

    def identity(self, extractor: str) -> str:
        """Return the identity of *extractor* (an identity, too) in this area."""
        return f"{extractor}; content area {json.dumps(asdict(self))}" if self else extractor


@lru_cache(maxsize=256)
def _compiled(selector: str) -> CSSSelector:
    try:
        compiled = CSSSelector(selector, translator="html")
        compiled(etree.Element("html"))  # which finds what the parser of selectors lets pass
        return compiled
    except (SelectorError, etree.XPathError, ValueError, RecursionError) as error:
        # The last two: a control character, and thousands of elements one within the other.
        raise ConfigurationError(
            f"{selector!r} is no CSS selector ({error}): name elements, classes or identifiers, such as"
            " 'article', '.post' or '#content'."
        ) from None


def _matches(root: _Element, selectors: Sequence[str]) -> list[_Element]:
    """Return the outermost elements in *root* that one of *selectors* matches, in the order of the page."""
    every = {element for selector in selectors for element in _compiled(selector)(root)}
    found, within = [], set[object]()
    for element in root.iter() if every else ():
        if element.getparent() in within:
            within.add(element)
        elif element in every:
            found.append(element)
            within.add(element)
    return found

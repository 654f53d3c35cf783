"""From the bytes of a page to its text, in whatever charset it is; and whether the bytes are text at all."""

from __future__ import annotations

import re
from collections.abc import Callable

import regex
from w3lib.encoding import html_body_declared_encoding, html_to_unicode, http_content_type_encoding, read_bom

#: Guessed as windows-1252 if nothing fits, as browsers do.
_LEGACY = [
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1250", "cp1251", "koi8_r", "cp1252", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "iso8859_2", "iso8859_5",
]  # fmt: skip
#: Atomic, and one that has no end goes to the end of the page: linear time.
_MARKUP = regex.compile(
    rb"<(script|style)\b(?:[^<]++|<(?!/\1))*+(?:</\1)?+|<[^<>]*+>|[\x00-\x40]++", regex.IGNORECASE | regex.V1
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
            declared, text = detected, other
    text = text.replace("\x00", "")
    # Some charsets that Python knows and no browser does, such as UTF-7, can spell half a character.
    return text if declared == "utf-8" else text.encode("utf-8", "replace").decode()


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
    from charset_normalizer import from_bytes  # which few pages need

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

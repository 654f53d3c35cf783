"""What a worker process does with one page."""

from __future__ import annotations

import traceback
from time import perf_counter
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.fingerprint.paragraphs import length

from .areas import WHOLE_PAGE, ContentArea
from .base import Extraction
from .decoding import decode, in_one_document
from .guards import is_binary, is_noise, is_too_deep
from .hidden import without_hidden
from .plain import Plain

if TYPE_CHECKING:
    from scrapy_neardup.fingerprint.signature import Signature

    from .base import Extractor, Page, Reason, Signer

#: With fewer letters nothing was hidden but the text itself, which scripts are to show.
_LITTLE = 200

_plain = Plain()


def extract(
    page: Page,
    extractor: Extractor,
    fingerprinter: Signer,
    keep_text: bool = False,
    area: ContentArea = WHOLE_PAGE,
) -> Extraction:
    """Return the signature of the page's main text, or the reason why there is none; raises nothing."""
    started = perf_counter()
    text: MainText | None = None
    signature: Signature | None = None
    reason: Reason | None = None
    detail: str | None = None
    fallback = False
    try:
        html = None if is_binary(page.body) else in_one_document(decode(page.body, page.content_type))
        if html is None or is_noise(html):
            reason = "not_text"
        else:
            fallback = is_too_deep(html)
            text = _text(_plain if fallback else extractor, html, page.url, area)
            if text.text and not text.text.isspace():
                signature = fingerprinter.signature(text)
            else:
                reason = "no_text"
    except MemoryError:
        reason = "memory"
    except Exception as error:  # noqa: BLE001 - whatever the extractor raises, the page goes on
        reason, detail = "failed", _one_line(error)
    kept = text if keep_text and signature is not None else None
    return Extraction(signature, reason, perf_counter() - started, fallback, detail, kept)


def _text(extractor: Extractor, html: str, url: str, area: ContentArea) -> MainText:
    """Extract the text of what *area* shows; of all that it holds, if next to nothing else is left."""
    visible = without_hidden(html)
    text = main_text(extractor(area.of(visible), url) or "")
    if visible is not html and length(text.text) < _LITTLE:
        text = main_text(extractor(area.of(html), url) or "")
    return text


def _one_line(error: Exception) -> str:
    """Name the error and where it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join("".join(traceback.format_exception_only(error)).split())
    return f"{message[:500]} ({frame.filename}:{frame.lineno})"

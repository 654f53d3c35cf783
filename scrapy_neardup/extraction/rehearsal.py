"""Does what a worker does with a page, once before the crawl begins, to see that the packages fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.dependencies import dependencies_in_use

from .loading import is_built_in

if TYPE_CHECKING:
    from .base import Extractor, Signer

_PARAGRAPH = (
    "<p>Der Stadtrat einigte sich am Dienstag über die Brücke: Sie bleibt für Fußgänger geöffnet.</p>"
)
#: A page with an article, and one without.
_PAGE = f"<html><body><article>{_PARAGRAPH * 5}</article></body></html>"
_NOTE = f"<html><body>{_PARAGRAPH}</body></html>"
#: One that the parser has to look at.
_DEEP = "<div>" * 300 + _PARAGRAPH


def rehearse(extractor: Extractor, fingerprinter: Signer) -> None:
    """Decode, extract and fingerprint a page in this process.

    An extractor of the user's is left out: what it loads or does is for the workers. Raises
    `DependencyUnavailable`.
    """
    with dependencies_in_use():
        from .decoding import decode
        from .guards import is_too_deep
        from .plain import Plain

        html = decode(_PAGE.encode("cp1252"), None)
        for page in (html, _DEEP):
            is_too_deep(page)
            fingerprinter.signature(Plain()(page, None))
        if is_built_in(extractor):
            for page in (html, _NOTE):
                fingerprinter.signature(extractor(page, None) or "")

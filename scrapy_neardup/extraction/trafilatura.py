"""Main text by Trafilatura, the default."""

from __future__ import annotations

import trafilatura


class Trafilatura:
    """Precise rather than complete: what boilerplate it leaves in separates two copies of a text.

    Never with ``deduplicate``: its answers would depend on the pages that went before.
    """

    identity = f"trafilatura {trafilatura.__version__} precision"

    def __call__(self, html: str, url: str | None) -> str | None:
        return trafilatura.extract(
            html, favor_precision=True, include_comments=False, deduplicate=False, with_metadata=False
        )

"""The audit of a finished crawl.

>>> from scrapy_neardup.audit import audit
>>> found = audit("crawl.jl.gz", "report")  # doctest: +SKIP
>>> found.pages["url"][found.pages["verdict"] == "near"]  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.dependencies import importing_late

if TYPE_CHECKING:
    from .model import Audit
    from .run import audit

__all__ = ["Audit", "audit"]

# Reports and sources are of use without the rest.
__getattr__ = importing_late(__name__, {"Audit": ".model", "audit": ".run"})

"""The audit of a finished crawl.

>>> from scrapy_neardup.audit import audit
>>> found = audit("crawl.jl.gz", "report")  # doctest: +SKIP
>>> found.pages["url"][found.pages["verdict"] == "near"]  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import Audit
    from .run import audit, rethreshold

__all__ = ["Audit", "audit", "rethreshold"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # reports and sources are of use without the rest
        from importlib import import_module

        return getattr(import_module(f"{__name__}.run"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

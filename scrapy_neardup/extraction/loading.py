"""Extractors by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_neardup.arguments import require_type, takes
from scrapy_neardup.errors import ExtractorUnavailable
from scrapy_neardup.fingerprint.main_text import MainText

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Extractor

#: Built-in extractors: module in this package, class, and what to install if it cannot be imported.
_BUILT_IN = {
    "segment": ("segment", "Segment", "trafilatura lxml_html_clean"),
    "trafilatura": ("libraries", "Trafilatura", "trafilatura lxml_html_clean"),
    "resiliparse": ("libraries", "Resiliparse", "'scrapy-neardup[resiliparse]'"),
    "plain": ("libraries", "Plain", "trafilatura lxml_html_clean"),
}
EXTRACTORS = tuple(_BUILT_IN)


@dataclass(frozen=True, slots=True)
class _Imported:
    """A callable of the user's as an extractor."""

    function: Callable[[str, str | None], str | MainText | None]
    identity: str

    def __call__(self, html: str, url: str | None) -> str | MainText | None:
        text = self.function(html, url)
        require_type(
            "What an extractor returns", text, (str, MainText, type(None)), "a str, a MainText or None"
        )
        return text


def load_extractor(name: str) -> Extractor:
    """Return the extractor *name*: one of ``EXTRACTORS``, ``package.module.name`` or ``package.module:name``.

    A class is called without arguments, for an extractor. What has no attribute ``identity`` has its import
    path for one. Raises `ExtractorUnavailable`.
    """
    require_type("An extractor", name, str, "a name or an import path, a str")
    if name in _BUILT_IN:
        module, attribute, requirement = _BUILT_IN[name]
        try:
            built_in: Extractor = getattr(importlib.import_module(f".{module}", __package__), attribute)()
        except (ImportError, AttributeError) as error:
            raise ExtractorUnavailable(
                f"The extractor {name!r} of NEARDUP_EXTRACTOR cannot be imported ({error}): "
                f"run `pip install --upgrade {requirement}`."
            ) from error
        return built_in
    module, _, attribute = name.rpartition(":" if ":" in name else ".")
    if not module or not attribute:
        raise ExtractorUnavailable(
            f"NEARDUP_EXTRACTOR is {name!r}, and there is no such extractor: set it to "
            f"{', '.join(map(repr, EXTRACTORS))} or the import path of a function (html, url) -> text."
        )
    if module == "__main__":
        raise ExtractorUnavailable(
            f"NEARDUP_EXTRACTOR is {name!r}, which worker processes cannot import: move the function to a "
            "module of its own."
        )
    try:
        function = getattr(importlib.import_module(module), attribute)
        if isinstance(function, type):
            function = function()
    except Exception as error:  # it is the user's code
        raise ExtractorUnavailable(
            f"The extractor {name!r} of NEARDUP_EXTRACTOR cannot be imported ({error!r}): check the path, "
            "and that its package is installed."
        ) from error
    if not callable(function) or not takes(function, "", None):
        fault = "takes other arguments" if callable(function) else "is not callable"
        raise ExtractorUnavailable(
            f"The extractor {name!r} of NEARDUP_EXTRACTOR {fault}: name a function (html, url) -> text."
        )
    return _Imported(function, str(getattr(function, "identity", f"{module}:{attribute}")))

"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "scrapy_neardup"
author = "the scrapy_neardup developers"
release = version_of("scrapy-neardup")
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxcontrib.mermaid"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
exclude_patterns = ["_build", "pictures"]
html_theme = "furo"
html_title = f"scrapy_neardup {release}"
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def _without_links_out(_app: object, _page: str, source: list[str]) -> None:
    """Turn links to files of the repository beside the documentation into their text."""
    source[0] = re.sub(r"\[([^]]+)\]\(\.\./[^)]*\)", r"\1", source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", _without_links_out)

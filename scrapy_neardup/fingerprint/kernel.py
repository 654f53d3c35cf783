"""The compiled kernel of signatures, where it was built: see docs/performance.md.

In one call it does what `Fingerprinter` does by NumPy between the paragraphs of a page and its signature, for
the default features and scheme alone. The signatures are the same.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from .features import VERSION, Features
from .schemes import Anchored

if TYPE_CHECKING:
    from .scheme import Scheme

__all__ = ["AVAILABLE", "is_made_for", "sign"]

_DEFAULT = Features()

try:
    from ._kernel import VERSION as _BUILT
    from ._kernel import sign
except ImportError:
    AVAILABLE = False
else:
    # One that was built of another release makes other signatures.
    AVAILABLE = os.environ.get("NEARDUP_KERNEL") != "0" and _BUILT == VERSION


def is_made_for(features: Features, scheme: Scheme) -> bool:
    """Tell whether the kernel is there, and makes signatures with *features* and *scheme*."""
    # Which paragraphs are kept is no matter of the kernel.
    same = replace(features, min_paragraph=_DEFAULT.min_paragraph) == _DEFAULT
    return AVAILABLE and same and type(scheme) is Anchored

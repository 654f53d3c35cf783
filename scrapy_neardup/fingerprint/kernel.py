"""The compiled kernel of signatures, if it was built: see docs/performance.md.

It does in one call what `Fingerprinter` does by NumPy between the paragraphs of a page and its signature, for
the default features and scheme alone. NumPy's way is what it is tested against.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from .features import VERSION, Features
from .schemes import Anchored

if TYPE_CHECKING:
    from .scheme import Scheme

try:
    from ._kernel import VERSION as _BUILT
    from ._kernel import sign as sign  # of UTF-8, class_table(), a seed and the hashes of the occasion
except ImportError:
    AVAILABLE = False
else:
    # One that was built of an older tree makes other signatures.
    AVAILABLE = os.environ.get("NEARDUP_KERNEL") != "0" and _BUILT == VERSION


def is_made_for(features: Features, scheme: Scheme) -> bool:
    """Whether the kernel is there, and makes signatures with *features* and *scheme*."""
    return AVAILABLE and replace(features, min_paragraph=0) == _FEATURES and type(scheme) is Anchored


# Which paragraphs are left out is no matter of the kernel.
_FEATURES = Features(min_paragraph=0)

"""What was read of the buckets in which a document is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from .buckets import Bucket


class Looked(NamedTuple):
    """What was read in one step, when the number *newest* was the last one that was given to a document."""

    newest: int
    #: The numbers of the documents under keys that have to be equal, int64[n] by name of bucket and tag;
    #: those that no document has are left out.
    numbers: Mapping[tuple[bytes, bytes], NDArray[np.int64]]
    #: The buckets of fingerprints, by name.
    buckets: Mapping[bytes, Bucket]


NOTHING_LOOKED = Looked(0, {}, {})

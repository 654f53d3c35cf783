"""Python's collections of garbage, which hold up the event loop the longer the more objects there are."""

from __future__ import annotations

import gc


class GarbageCollector:
    """Keeps the objects that a crawl begins with out of all full collections of garbage.

    Most of these objects are modules that Scrapy and this package have imported: as long as the crawl runs,
    none of them can become garbage. With the plugin they are twice as many as without it.
    """

    def __init__(self) -> None:
        self._frozen = False

    def spare(self) -> None:
        """Have later collections pass over the objects of now, unless other code has frozen some already."""
        if gc.get_freeze_count():
            return
        gc.collect()  # what is garbage already would stay
        gc.freeze()
        self._frozen = True

    def close(self) -> None:
        """Have collections look at all objects again: those of the crawl may be garbage soon."""
        if self._frozen:
            self._frozen = False
            gc.unfreeze()
